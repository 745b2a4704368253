package channelservers

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/testdata"
)

// OCI is a running registry that wants a token, and who gives those out.
type OCI struct {
	// Host is host:port of the registry; it speaks TLS with the certificate in the
	// file Certificate, as does who gives out tokens.
	Host, Certificate string
	// User and Password open it.
	User, Password string

	mu     sync.Mutex
	issued int
	key    *rsa.PrivateKey
	cert   []byte
	pool   *x509.CertPool
}

const (
	issuer  = "test-issuer"
	service = "test-registry"
)

// StartOCI serves the channel's files (by path, subdir/name-version-build.ext) from
// repositories ch/<subdir>/<name> until the test ends.
func StartOCI(t testing.TB, files map[string][]byte) *OCI {
	t.Helper()
	dir, home, address := testdata.Servers(t), t.TempDir(), testdata.FreeAddress(t)
	o := &OCI{Host: address, User: "robot", Password: "robot+pass/word"}
	o.makeCertificate(t, home)
	tokens := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		if !ok || user != o.User || password != o.Password {
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`, http.StatusUnauthorized)
			return
		}
		o.mu.Lock()
		o.issued++
		o.mu.Unlock()
		token, err := o.token(r.URL.Query()["scope"])
		if err == nil {
			err = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": 300})
		}
		if err != nil {
			t.Error(err)
		}
	}))
	pair, err := tls.LoadX509KeyPair(o.Certificate, filepath.Join(home, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	tokens.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	tokens.StartTLS()
	t.Cleanup(tokens.Close)
	conf := fmt.Sprintf(`version: 0.1
log: {level: error, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %q}}
http:
  addr: %s
  tls: {certificate: %q, key: %q}
auth:
  token: {realm: %q, service: %s, issuer: %s, rootcertbundle: %q, signingalgorithms: [RS256]}
`, filepath.Join(home, "data"), address, o.Certificate, filepath.Join(home, "key.pem"), tokens.URL+"/token", service, issuer, o.Certificate)
	path := filepath.Join(home, "registry.yml")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "registry"), "serve", path)
	cmd.Env = []string{"HOME=" + home, "OTEL_TRACES_EXPORTER=none"}
	start(t, cmd, address)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: o.pool}}}
	for name, data := range files {
		o.push(t, client, repository(name), data)
	}
	return o
}

// Issued is how many tokens were given out.
func (o *OCI) Issued() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.issued
}

func repository(file string) string {
	words := strings.Split(filepath.Base(file), "-")
	name := strings.Join(words[:len(words)-2], "-")
	if name[0] == '_' {
		name = "zzz" + name
	}
	return "ch/" + filepath.Dir(file) + "/" + name
}

func (o *OCI) makeCertificate(t testing.TB, dir string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "channelservers"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	if o.cert, err = x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key); err != nil {
		t.Fatal(err)
	}
	o.key, o.Certificate = key, filepath.Join(dir, "cert.pem")
	o.pool = x509.NewCertPool()
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.cert})
	o.pool.AppendCertsFromPEM(certPEM)
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for path, data := range map[string][]byte{o.Certificate: certPEM, filepath.Join(dir, "key.pem"): keyPEM} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// token is a signed token for scopes like "repository:ch/linux-64/a:pull".
func (o *OCI) token(scopes []string) (string, error) {
	type access struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Actions []string `json:"actions"`
	}
	allowed := []access{}
	for _, s := range scopes {
		if w := strings.Split(s, ":"); len(w) == 3 {
			allowed = append(allowed, access{w[0], w[1], strings.Split(w[2], ",")})
		}
	}
	now := time.Now().Unix()
	part := func(v any) (string, error) {
		data, err := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(data), err
	}
	head, err := part(map[string]any{"alg": "RS256", "typ": "JWT", "x5c": []string{base64.StdEncoding.EncodeToString(o.cert)}})
	if err != nil {
		return "", err
	}
	body, err := part(map[string]any{"iss": issuer, "aud": service, "sub": o.User, "exp": now + 300, "nbf": now - 60, "iat": now, "jti": fmt.Sprint(now), "access": allowed})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(head + "." + body))
	signature, err := rsa.SignPKCS1v15(rand.Reader, o.key, crypto.SHA256, sum[:])
	return head + "." + body + "." + base64.RawURLEncoding.EncodeToString(signature), err
}

// push uploads one blob.
func (o *OCI) push(t testing.TB, client *http.Client, repository string, data []byte) {
	t.Helper()
	token, err := o.token([]string{"repository:" + repository + ":pull,push"})
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, url string, body []byte, want int) *http.Response {
		req, err := http.NewRequest(method, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/octet-stream")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != want {
			t.Fatalf("%s %s: %s", method, url, resp.Status)
		}
		return resp
	}
	begun := do(http.MethodPost, "https://"+o.Host+"/v2/"+repository+"/blobs/uploads/", nil, http.StatusAccepted)
	at, err := begun.Location()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	q := at.Query()
	q.Set("digest", "sha256:"+hex.EncodeToString(sum[:]))
	at.RawQuery = q.Encode()
	do(http.MethodPut, at.String(), data, http.StatusCreated)
}
