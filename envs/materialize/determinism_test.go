//go:build linux

package materialize_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// circumstance is what must not show in a prefix.
type circumstance struct {
	// Archives in Dir are taken in, in an order drawn from Seed, into a store
	// made in Dir.
	Dir      string
	Archives []string
	Seed     uint64
	Workers  int
	Umask    int
}

const circumstanceVariable = "HPCENV_TEST_CIRCUMSTANCE"

// TestSameTreeWhoeverMakesIt: the same packages make the same tree, and an image with
// the same bytes, whoever makes it, where, when and how fast.
func TestSameTreeWhoeverMakesIt(t *testing.T) {
	if text := os.Getenv(circumstanceVariable); text != "" {
		actUnder(t, text)
		return
	}
	// Other accounts must get at the program and the archives.
	dir, err := os.MkdirTemp("/tmp", "deterministic")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := copyProgram(t, dir)
	var archives []string
	for i, p := range many() {
		archive, _ := p.Write(t, dir, i%2 == 1)
		archives = append(archives, archive)
	}
	want := ""
	for i, c := range []struct {
		name    string
		workers int
		umask   int
		uid     uint32
		env     []string
	}{
		{"one worker", 1, 0o022, 0, []string{"TZ=UTC"}},
		{"32 workers", 32, 0o022, 0, []string{"TZ=UTC"}},
		{"closed umask", 4, 0o077, 0, nil},
		{"open umask", 4, 0, 0, nil},
		{"time zone", 4, 0o022, 0, []string{"TZ=Asia/Kathmandu", "LC_ALL=tr_TR.UTF-8"}},
		{"account", 8, 0o022, 65534, []string{"HOME=/nonexistent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Geteuid() != 0 && c.uid != 0 {
				t.Skip("NOT ROOT: run as root to test with another account")
			}
			own := filepath.Join(dir, fmt.Sprint(i))
			if err := os.Mkdir(own, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(own, int(c.uid), -1); c.uid != 0 && err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(circumstance{Dir: own, Archives: archives, Seed: uint64(i), Workers: c.workers, Umask: c.umask})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "-test.run=^TestSameTreeWhoeverMakesIt$", "-test.count=1")
			cmd.Dir = own
			cmd.Env = append(append(os.Environ(), "TMPDIR="+own), append(c.env, circumstanceVariable+"="+string(text))...)
			if c.uid != 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
			}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got := ""
			for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
				if d, ok := strings.CutPrefix(s.Text(), "digest "); ok {
					got = d
				}
			}
			if want == "" {
				want = got
			}
			if got == "" || got != want {
				t.Errorf("digests of tree and image %q, want %q", got, want)
			}
		})
	}
}

// many is the sample and enough files that workers get in each other's way.
func many() []condatest.Package {
	big := condatest.Package{Name: "big", Version: "1", Build: "0", Depends: []string{"python"}}
	for i := range 600 {
		f := condatest.File{Path: fmt.Sprintf("share/big/%02d/f%03d", i%17, i), Content: fmt.Sprint("file ", i%450)}
		switch i % 10 {
		case 3:
			f.Content, f.Placeholder = placeholder+"/x\n", placeholder
		case 5:
			f.Exec = true
		case 7:
			f = condatest.File{Path: f.Path, Link: "f000"}
		}
		big.Files = append(big.Files, f)
	}
	clash := condatest.Package{Name: "clash", Version: "2", Build: "0", Files: []condatest.File{
		{Path: "share/big/00/f000", Content: "clash"}, {Path: "lib/text1", Content: "clash"},
	}}
	return append(sample(), big, clash)
}

// actUnder makes the environment and prints its digest.
func actUnder(t *testing.T, text string) {
	var c circumstance
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	syscall.Umask(c.Umask)
	s := storeAt(t, c.Dir)
	random := rand.New(rand.NewPCG(c.Seed, 0))
	random.Shuffle(len(c.Archives), func(i, j int) { c.Archives[i], c.Archives[j] = c.Archives[j], c.Archives[i] })
	var pkgs []materialize.Package
	for _, a := range c.Archives {
		p, err := ingest(t, s, a)
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	req := request(pkgs)
	req.Workers = c.Workers
	if req.Images = image.NewTool(""); req.Images.Available(t.Context()) == nil {
		req.Images.UseProcessors(c.Workers)
		req.Delivery = image.Both
	}
	meta, _, err := materialize.Materialize(t.Context(), s, req)
	if err != nil {
		t.Fatal(err)
	}
	bytes := "no mksquashfs on this host"
	if meta.Image != nil {
		bytes = meta.Image.SHA256
	}
	got, err := materialize.TreeDigest(s.TreePath(testPlatform, testID))
	if err != nil || got != meta.TreeDigest {
		t.Fatalf("the tree has digest %s, %v; meta has %s", got, err, meta.TreeDigest)
	}
	fmt.Printf("zone %s uid %d\ndigest %s image %s\n", time.Local, os.Getuid(), got, bytes)
}

// copyProgram puts this program where every account can run it.
func copyProgram(t *testing.T, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() // only read
	path := filepath.Join(dir, "program")
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
