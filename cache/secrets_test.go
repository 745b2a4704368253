package cache

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache/remote"
)

// user is somebody with a home of files and an environment.
type user struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newUser(t *testing.T) *user {
	u := &user{t: t, home: t.TempDir(), env: map[string]string{}}
	u.env["HOME"] = u.home
	return u
}

func (u *user) write(name, text string) string {
	u.t.Helper()
	path := filepath.Join(u.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		u.t.Fatal(err)
	}
	return path
}

func (u *user) access() (*remote.Access, error) {
	return remote.User(remote.Places{Env: func(k string) string { return u.env[k] }, System: filepath.Join(u.home, "none"), Project: filepath.Join(u.home, "project")})
}

// secretWord is part of every secret that a test plants.
const secretWord = "Zq7+secret/w0rd"

// sources are all places that credentials come from. Each plants a secret for the
// host of url and returns the URL to fetch.
var sources = map[string]func(u *user, raw string) string{
	"netrc": func(u *user, raw string) string {
		u.write(".netrc", "machine "+hostOf(raw)+" login me password \""+secretWord+"\"\n")
		return raw
	},
	"NETRC": func(u *user, raw string) string {
		u.env["NETRC"] = u.write("other", "machine "+hostOf(raw)+"\nlogin me\npassword "+secretWord+"\n")
		return raw
	},
	"pixi bearer": func(u *user, raw string) string {
		return pixiEntryFor(u, raw, map[string]any{"BearerToken": secretWord})
	},
	"pixi basic": func(u *user, raw string) string {
		return pixiEntryFor(u, raw, map[string]any{"BasicHTTP": map[string]string{"username": "me", "password": secretWord}})
	},
	"pixi conda token": func(u *user, raw string) string {
		return pixiEntryFor(u, raw, map[string]any{"CondaToken": secretWord})
	},
	"pixi's override": func(u *user, raw string) string {
		path := u.write("auth.json", `{"`+hostOf(raw)+`": {"BearerToken": "`+secretWord+`"}}`)
		u.write(".pixi/config.toml", "authentication-override-file = '"+path+"'\n")
		return raw
	},
	"uv's variables": func(u *user, raw string) string {
		u.write("project/pyproject.toml", "[[tool.uv.index]]\nname = \"in-house\"\nurl = \""+raw+"/simple\"\n")
		u.env["UV_INDEX_IN_HOUSE_USERNAME"], u.env["UV_INDEX_IN_HOUSE_PASSWORD"] = "me", secretWord
		return raw
	},
	"uv's index URL": func(u *user, raw string) string {
		u.env["UV_INDEX"] = "in-house=" + withUser(raw) + "/simple"
		return raw
	},
	"the URL's user": func(_ *user, raw string) string { return withUser(raw) },
	"the URL's token": func(_ *user, raw string) string {
		p, err := url.Parse(raw)
		if err != nil {
			panic(err)
		}
		return p.Scheme + "://" + p.Host + "/t/" + url.PathEscape(secretWord) + p.Path
	},
	"a mirror's URL": func(u *user, raw string) string {
		u.write(".pixi/config.toml", "[mirrors]\n\"https://conda.example\" = [\""+withUser(raw)+"\"]\n")
		return "https://conda.example"
	},
	"s3 keys of pixi": func(u *user, raw string) string {
		u.write(".rattler/credentials.json", `{"s3://bucket": {"S3Credentials": {"access_key_id": "id", "secret_access_key": "`+secretWord+`", "session_token": "session`+secretWord+`"}}}`)
		u.write(".pixi/config.toml", "[s3-options.bucket]\nendpoint-url = '"+raw+"'\nregion = 'here'\nforce-path-style = true\n")
		return "s3://bucket"
	},
	"AWS's variables": func(u *user, raw string) string {
		u.env["AWS_ACCESS_KEY_ID"], u.env["AWS_SECRET_ACCESS_KEY"], u.env["AWS_ENDPOINT_URL"] = "id", secretWord, raw
		return "s3://bucket"
	},
	"AWS's file": func(u *user, raw string) string {
		u.write(".aws/credentials", "[default]\naws_access_key_id = id\naws_secret_access_key = "+secretWord+"\n")
		u.write(".aws/config", "[default]\nregion = here\nendpoint_url = "+raw+"\n")
		return "s3://bucket"
	},
}

func pixiEntryFor(u *user, raw string, entry map[string]any) string {
	data, err := json.Marshal(map[string]any{hostOf(raw): entry})
	if err != nil {
		u.t.Fatal(err)
	}
	u.write(".rattler/credentials.json", string(data))
	return raw
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u.Hostname()
}

func withUser(raw string) string {
	return strings.Replace(raw, "://", "://"+url.UserPassword("me", secretWord).String()+"@", 1)
}

// leaks returns how a text gives the secret away.
func leaks(text string) string {
	for _, s := range []string{
		secretWord, url.PathEscape(secretWord), url.QueryEscape(secretWord), url.UserPassword("me", secretWord).String(),
		base64.StdEncoding.EncodeToString([]byte("me:" + secretWord)),
	} {
		if strings.Contains(text, s) {
			return s
		}
	}
	return ""
}

// shows says how a request shows the secret: "" = it does not.
func shows(r *http.Request) string {
	for k, v := range r.Header {
		if leaks(strings.Join(v, " ")) != "" || k == "Authorization" || k == "X-Amz-Security-Token" {
			return k
		}
	}
	if leaks(r.URL.String()+" "+r.URL.Path) != "" {
		return "URL"
	}
	return ""
}

// echo answers with all that it was sent, wherever a client may look.
func echo(w http.ResponseWriter, r *http.Request) {
	said := r.Header.Get("Authorization") + " " + r.URL.Path + " " + secretWord
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	code := map[bool]string{true: "HTTP/1.1 403 ", false: "HTTP/1.1 206 "}[strings.Contains(r.URL.Path, "403")]
	if strings.Contains(r.URL.Path, "garbage") {
		code = "HTTP/1.1 "
	}
	text := code + said + "\r\nContent-Range: bytes " + said + "\r\nWWW-Authenticate: Basic realm=\"" + said +
		"\"\r\nContent-Encoding: " + said + "\r\nConnection: close\r\nContent-Length: " + fmt.Sprint(len(said)) + "\r\n\r\n" + said
	if _, err := c.Write([]byte(text)); err == nil {
		c.Close() // all was said
	}
}

// TestSecretsStaySecret plants a secret in every place that credentials come from
// and looks for it in all that is printed and written: errors, whatever formats the
// access and its parts, logs, and every file of the store; with servers that
// deliver, refuse, and say back what they were sent.
func TestSecretsStaySecret(t *testing.T) {
	data := noise(3000)
	for name, plant := range sources {
		for _, kind := range []string{"ok", "403", "404", "garbage", "echo", "wrong", "redirect", "no-url", "cut"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				u := newUser(t)
				var mu sync.Mutex
				shown := ""
				srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					if s := shows(r); s != "" {
						shown = s
					}
					mu.Unlock()
					switch kind {
					case "ok":
						w.Header().Set("ETag", `"x"`)
						http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
					case "404":
						http.Error(w, secretWord, 404)
					case "403", "garbage", "echo":
						echo(w, r)
					case "wrong":
						w.Write(bytes.Repeat([]byte("w"), len(data))) // a client that left
					case "redirect":
						http.Redirect(w, r, "http://conda.invalid/"+r.URL.Path+"?token="+r.Header.Get("Authorization"), http.StatusFound)
					case "no-url":
						w.Header().Set("Location", "http://[::"+r.Header.Get("Authorization")+secretWord)
						w.WriteHeader(302)
					case "cut":
						drop(&adversary{data: data}, w, r)
					}
				}))
				base := plant(u, srv.URL)
				src := sourceOf(data, FormatConda, base+"/"+kind+"/linux-64/demo-1-0.conda")
				s := newStore(t)
				var log bytes.Buffer
				slog.New(slog.NewJSONHandler(&log, nil)).Info("log", "source", RedactURL(src.URL))
				f := quick(FetchOptions{Retries: 1, Access: u.access})
				_, _, err := s.Fetch(context.Background(), f, src, nil)
				if (err == nil) != (kind == "ok") {
					t.Fatalf("got %v", err)
				}
				mu.Lock()
				if shown == "" {
					t.Error("the host was shown nothing: the source was not found")
				}
				mu.Unlock()
				a, aerr := u.access()
				if aerr != nil {
					t.Fatal(aerr)
				}
				targets, terr := a.Targets(src.URL, src.SHA256)
				if terr != nil {
					t.Fatal(terr)
				}
				printed := fmt.Sprintf("%v\n%+v\n%#v\n%s\n", err, err, a.Credentials, log.String())
				for _, target := range targets {
					c := target.Credential()
					js, jerr := json.Marshal(c)
					printed += fmt.Sprintf("%s %v %+v %#v %q %x %s %v\n", target.Shown, c, c, c, c, c, js, jerr)
					slog.New(slog.NewTextHandler(&log, nil)).Info("target", "credential", c, "set", a.Credentials)
				}
				for e := err; e != nil; e = errors.Unwrap(e) {
					printed += e.Error() + "\n"
				}
				if l := leaks(printed + log.String()); l != "" {
					t.Errorf("printed: %q in\n%s", l, printed)
				}
				noLeakInFiles(t, s.Root())
			})
		}
	}
}

func noLeakInFiles(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if l := leaks(path + "\n" + string(data)); l != "" {
			t.Errorf("%s holds %q", path, l)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRedirectsLeaveCredentialsBehind: another host never sees a credential, nor
// does the first one again once another had its say.
func TestRedirectsLeaveCredentialsBehind(t *testing.T) {
	data := noise(3000)
	for name, plant := range sources {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			var mu sync.Mutex
			var hops []string
			note := func(r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Header.Get("Referer") != "" {
					t.Errorf("a referer was sent: %s", r.Header.Get("Referer"))
				}
				hops = append(hops, shows(r))
			}
			var front, other string
			back := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note(r)
				http.Redirect(w, r, front+"/again", http.StatusFound)
			}))
			other = strings.Replace(back.URL, "127.0.0.1", "localhost", 1)
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note(r)
				switch {
				case strings.HasSuffix(r.URL.Path, "/again"):
					http.ServeContent(w, r, "x", time.Time{}, bytes.NewReader(data))
				case strings.HasSuffix(r.URL.Path, "/same"):
					http.Redirect(w, r, other+"/x", http.StatusTemporaryRedirect)
				default:
					http.Redirect(w, r, r.URL.Path+"/same", http.StatusMovedPermanently)
				}
			}))
			front = srv.URL
			base := plant(u, front)
			s := newStore(t)
			src := sourceOf(data, FormatConda, base+"/ch/linux-64/demo-1-0.conda")
			path, _, err := s.Fetch(context.Background(), quick(FetchOptions{Access: u.access}), src, nil)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, path, data)
			if len(hops) != 4 || hops[0] == "" || hops[1] == "" || hops[2] != "" || hops[3] != "" {
				t.Errorf("what showed the secret, hop by hop: %q; want it on the first two of four only", hops)
			}
		})
	}
}

// TestProxyPasswordsStaySecret: neither a proxy that is no URL nor one that refuses
// is quoted with its password.
func TestProxyPasswordsStaySecret(t *testing.T) {
	refusing := serve(t, status407)
	for name, proxy := range map[string]string{
		"no URL":   "http://me:" + secretWord + "@[::1",
		"refuses":  withUser(refusing.URL),
		"no proxy": "http://me:" + url.QueryEscape(secretWord) + "@127.0.0.1:1",
	} {
		t.Run(name, func(t *testing.T) {
			choose := func(*http.Request) (*url.URL, error) {
				p, err := url.Parse(proxy)
				if err != nil {
					return nil, fmt.Errorf("invalid proxy address %q: %w", proxy, err)
				}
				return p, nil
			}
			for _, target := range []string{"http://conda.example/a", "https://conda.example/a"} {
				f := quick(FetchOptions{Retries: -1, Transport: &http.Transport{Proxy: choose}})
				_, _, err := newStore(t).Fetch(context.Background(), f, sourceOf(noise(10), FormatConda, target), nil)
				if !errors.Is(err, ErrFetch) {
					t.Errorf("got %v", err)
				}
				if l := leaks(fmt.Sprintf("%v %+v", err, err)); l != "" {
					t.Errorf("%q in %v", l, err)
				}
			}
		})
	}
}

var status407 = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Proxy-Authenticate", "Basic realm="+r.Header.Get("Proxy-Authorization"))
	http.Error(w, r.Header.Get("Proxy-Authorization"), http.StatusProxyAuthRequired)
})
