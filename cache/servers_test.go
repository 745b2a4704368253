package cache

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/channelservers"
)

// TestRealS3 fetches from a server that checks signatures: whole, resumed, names
// with what must be escaped, and with a wrong key.
func TestRealS3(t *testing.T) {
	data := noise(300_000)
	names := []string{"linux-64/a-1.0-0.conda", "label/dev test/linux-64/lib+x-1!2.0+3-h_1.tar.bz2"}
	files := map[string][]byte{}
	for _, n := range names {
		files[n] = data
	}
	srv := channelservers.StartS3(t, files)
	u := newUser(t)
	conf := func(key string) {
		u.write(".rattler/credentials.json", fmt.Sprintf(`{"s3://%s": {"S3Credentials": {"access_key_id": %q, "secret_access_key": %q}}}`, srv.Bucket, srv.ID, key))
	}
	conf(srv.Key)
	u.write(".pixi/config.toml", fmt.Sprintf("[s3-options.%s]\nendpoint-url=%q\nregion=%q\nforce-path-style=true\n", srv.Bucket, srv.Endpoint, srv.Region))
	for _, n := range names {
		for _, have := range []int{0, 100_000} {
			s := newStore(t)
			src := sourceOf(data, FormatConda, "s3://"+srv.Bucket+"/"+n)
			putPart(t, s, src, data[:have])
			f := quick(FetchOptions{Access: u.access})
			path, fetched, err := s.Fetch(context.Background(), f, src, nil)
			if err != nil || !fetched {
				t.Fatalf("%s from %d: %v, %v", n, have, fetched, err)
			}
			mustHold(t, path, data)
		}
	}
	conf("wrong-" + secretWord)
	_, _, err := newStore(t).Fetch(context.Background(), quick(FetchOptions{Access: u.access}), sourceOf(data, FormatConda, "s3://"+srv.Bucket+"/"+names[0]), nil)
	if !errors.Is(err, ErrFetch) || !WantsCredential(err) || leaks(err.Error()) != "" {
		t.Errorf("a wrong key: %v", err)
	}
}

// putPart leaves the beginning of an archive, as a broken download does.
func putPart(t *testing.T, s *Store, src Source, data []byte) {
	t.Helper()
	if len(data) == 0 {
		return
	}
	if err := os.WriteFile(strings.TrimSuffix(s.ArchivePath(src), string(src.Format))+"part", data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRealOCI fetches from a registry that wants tokens: whole, resumed, one token
// for one repository, and with a wrong password.
func TestRealOCI(t *testing.T) {
	data := noise(300_000)
	srv := channelservers.StartOCI(t, map[string][]byte{"linux-64/a-tool-1.0-0.conda": data, "linux-64/_libgcc_mutex-0.1-main.tar.bz2": data})
	pem, err := os.ReadFile(srv.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	u := newUser(t)
	u.write(".netrc", "machine 127.0.0.1 login "+srv.User+" password "+srv.Password+"\n")
	opt := FetchOptions{Access: u.access, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	f := quick(opt)
	for i, c := range []struct {
		name string
		have int
	}{{"a-tool-1.0-0.conda", 0}, {"a-tool-1.0-0.conda", 200_000}, {"_libgcc_mutex-0.1-main.tar.bz2", 0}} {
		s := newStore(t)
		src := sourceOf(data, FormatConda, "oci://"+srv.Host+"/ch/linux-64/"+c.name)
		putPart(t, s, src, data[:c.have])
		path, _, err := s.Fetch(context.Background(), f, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, path, data)
		if want := []int{1, 1, 2}[i]; srv.Issued() != want {
			t.Errorf("%s: %d tokens were given out, want %d", c.name, srv.Issued(), want)
		}
	}
	u.write(".netrc", "machine 127.0.0.1 login "+srv.User+" password "+secretWord+"\n")
	src := sourceOf(data, FormatConda, "oci://"+srv.Host+"/ch/linux-64/a-tool-1.0-0.conda")
	if _, _, err := newStore(t).Fetch(context.Background(), quick(opt), src, nil); !errors.Is(err, ErrFetch) || !WantsCredential(err) || leaks(err.Error()) != "" {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestRegistrysPasswordStaysThere: a registry whose tokens are given out by another
// host does not have the user's password sent there, unless it is that host's too;
// and what a challenge says back is not printed.
func TestRegistrysPasswordStaysThere(t *testing.T) {
	data := noise(1000)
	var password string
	realm := httpsServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, password, _ = r.BasicAuth()
		if password == "" {
			http.Error(w, `{"errors":[{"code":"DENIED","message":"`+secretWord+`"}]}`, http.StatusUnauthorized)
			return
		}
		if _, err := w.Write([]byte(`{"token":"T"}`)); err != nil {
			return
		}
	})
	other := strings.Replace(realm.url, "127.0.0.1", "localhost", 1)
	registry := httpsServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer T" {
			if _, err := w.Write(data); err != nil {
				return
			}
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+other+`/token",service="s",scope="repository:ch/linux-64/a:pull"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	u := newUser(t)
	fetch := func() error {
		src := sourceOf(data, FormatConda, "oci://"+strings.TrimPrefix(registry.url, "https://")+"/ch/linux-64/a-1-0.conda")
		_, _, err := newStore(t).Fetch(context.Background(), quick(FetchOptions{Access: u.access, Retries: -1, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}), src, nil)
		return err
	}
	u.write(".netrc", "machine 127.0.0.1 login me password "+secretWord+"\n")
	if err := fetch(); !WantsCredential(err) || leaks(err.Error()) != "" {
		t.Errorf("got %v", err)
	}
	if password != "" {
		t.Error("the password was sent to the other host")
	}
	u.write(".netrc", "machine 127.0.0.1 login me password "+secretWord+"\nmachine localhost login me password "+secretWord+"\n")
	if err := fetch(); err != nil || password != secretWord {
		t.Errorf("with a credential for both: %v", err)
	}
}

type tlsServer struct{ url string }

func httpsServer(t *testing.T, h http.HandlerFunc) *tlsServer {
	t.Helper()
	srv := httptest.NewTLSServer(h)
	t.Cleanup(srv.Close)
	return &tlsServer{url: srv.URL}
}
