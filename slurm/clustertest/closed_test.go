//go:build cluster

package clustertest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// cmdClosedProject: closed-project DIR: a project in DIR with one package of a channel
// that delivers to who shows its token, which the first user's home has, until the
// story ends. Its command is "member".
func (c *cluster) cmdClosedProject(t testing.TB) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: closed-project DIR")
		}
		var nonce [8]byte
		_, err := rand.Read(nonce[:])
		ts.Check(err)
		token := "token-" + hex.EncodeToString(nonce[:])
		p := condatest.Package{Name: "closed", Version: "1.0", Build: "0", Noarch: "generic", Files: []condatest.File{
			{Path: "bin/member", Content: "#!/bin/sh\necho $1 $SLURMD_NODENAME $0\n", Exec: true},
			{Path: "share/closed", Content: "for members only, " + hex.EncodeToString(nonce[:4])},
		}}
		data := p.Conda(t)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+token {
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			if _, err := w.Write(data); err != nil {
				t.Log(err) // a client that left
			}
		}))
		ts.Defer(srv.Close)
		dir, home := ts.MkAbs(args[0]), filepath.Join(ts.Getenv("HOME"), ".rattler")
		for _, d := range []string{dir, home} {
			ts.Check(os.MkdirAll(d, 0o755))
		}
		sum := sha256.Sum256(data)
		ts.Check(os.WriteFile(filepath.Join(dir, "pixi.lock"), []byte(lockOf(srv.URL+"/noarch/"+p.Dist()+".conda", hex.EncodeToString(sum[:]))), 0o644))
		ts.Check(os.WriteFile(filepath.Join(home, "credentials.json"), fmt.Appendf(nil, `{%q: {"BearerToken": %q}}`, srv.Listener.Addr(), token), 0o600))
		ts.Check(chownTree(dir, user1))
		ts.Check(chownTree(home, user1))
	}
}
