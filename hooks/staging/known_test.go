package staging

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
)

// imageSource is a source that begins as an image does.
func imageSource(t *testing.T, seed byte) (*os.File, *image.Record) {
	t.Helper()
	f, rec := source(t, seed)
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	clear(b[:96])
	le.PutUint32(b[0:], 0x73717368)
	le.PutUint32(b[12:], 128<<10)
	le.PutUint16(b[20:], 6)
	le.PutUint16(b[22:], 17)
	le.PutUint16(b[28:], 4)
	le.PutUint64(b[40:], uint64(len(b)))
	for i, at := range []uint64{500, 600, 200, 300, 400, 450} { // tables of ids … exports
		le.PutUint64(b[48+8*i:], at)
	}
	sum := sha256.Sum256(b)
	rec.SHA256 = hex.EncodeToString(sum[:])
	if err := errors.Join(os.Chmod(f.Name(), 0o644), os.WriteFile(f.Name(), b, 0o644)); err != nil {
		t.Fatal(err)
	}
	if rec.Superblock, err = image.ReadSuperblock(f, rec.Size); err != nil {
		t.Fatal(err)
	}
	return f, rec
}

// known are the ids of a part's copies.
func known(t *testing.T, c *Config, p Part) map[string]bool {
	t.Helper()
	ks, err := c.Known(p)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for id := range ks {
		out[id] = true
	}
	if err := closeAll(ks); err != nil {
		t.Fatal(err)
	}
	return out
}

// What was noted of a copy is found by part and id, and by nothing else; it goes with the
// copy.
func TestKnown(t *testing.T) {
	c, command := config(t), self(t, "stage")
	c.Budget = testSize + 1
	f1, r1 := imageSource(t, 41)
	f2, r2 := imageSource(t, 42)
	p, other := Part{Root: "/store", Platform: "linux-64"}, Part{Root: "/store/private/7", Platform: "linux-64"}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(p, "1", "/store/1", r1, map[string][]byte{"a": []byte("A")}); err != nil {
		t.Fatal(err)
	}
	if got := known(t, c, p); len(got) != 0 {
		t.Errorf("without a copy: %v", got)
	}
	holds(t, c, f1, r1, command...)
	if got := known(t, c, p); !got["1"] || len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := known(t, c, other); len(got) != 0 {
		t.Errorf("of another part: %v", got)
	}
	ks, err := c.Known(p)
	if err != nil {
		t.Fatal(err)
	}
	if texts, err := c.Texts(ks["1"]); err != nil || string(texts["a"]) != "A" || ks["1"].Name != "/store/1" || ks["1"].Image.SHA256 != r1.SHA256 {
		t.Errorf("%v %v %+v", texts, err, ks["1"])
	}
	if err := closeAll(ks); err != nil {
		t.Fatal(err)
	}
	// In the place of the first.
	holds(t, c, f2, r2, command...)
	names, err := filepath.Glob(filepath.Join(c.Dir, "*-1.*"))
	if err != nil || len(names) != 0 {
		t.Errorf("left: %q, %v", names, err)
	}
	// A record that is too long to be one, and none at all.
	for _, text := range []string{strings.Repeat(" ", envLimit+1), "", "null", `{"image":{"sha256":"../../x"}}`} {
		if err := os.WriteFile(filepath.Join(c.Dir, p.key()+"-1"+envSuffix), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := known(t, c, p); len(got) != 0 {
			t.Errorf("%.20q: %v", text, got)
		}
	}
}

// An activation is what has its digest; the oldest of too many leave.
func TestActivations(t *testing.T) {
	c := config(t)
	p := Part{Root: "/store", Platform: "linux-64"}
	digest := func(b []byte) string { sum := sha256.Sum256(b); return hex.EncodeToString(sum[:]) }
	act := []byte("activation")
	if err := errors.Join(c.KeepActivation(p, digest(act), act), c.KeepActivation(p, strings.Repeat("0", 64), act)); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Activation(p, digest(act)); err != nil || string(b) != string(act) {
		t.Errorf("%q %v", b, err)
	}
	if b, err := c.Activation(p, strings.Repeat("0", 64)); b != nil || err != nil {
		t.Errorf("another's digest: %q %v", b, err)
	}
	path := filepath.Join(c.Dir, p.key()+"-"+digest(act)+activationSuffix)
	if err := os.WriteFile(path, []byte("forged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Activation(p, digest(act)); b != nil || err != nil {
		t.Errorf("forged: %q %v", b, err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	for i := range activations {
		b := fmt.Appendf(nil, "%d", i)
		if err := c.KeepActivation(p, digest(b), b); err != nil {
			t.Fatal(err)
		}
	}
	f, rec := source(t, 43)
	holds(t, c, f, rec, self(t, "stage")...)
	names, err := filepath.Glob(filepath.Join(c.Dir, "*"+activationSuffix))
	if err != nil || len(names) != activations {
		t.Errorf("%d, %v", len(names), err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the oldest: %v", err)
	}
}
