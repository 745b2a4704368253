//go:build linux

package materialize_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/faultfs"
)

// storeAt makes a cluster's store below dir.
func storeAt(t *testing.T, dir string) *cache.Store {
	t.Helper()
	s, err := cache.Create(filepath.Join(dir, "store"), cache.Format{
		PrefixRoot: "/opt/hpcenv/e", Platforms: []string{testPlatform}, OwnerUID: os.Geteuid(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mountXFS mounts a fresh XFS with reflinks for the time of the test.
func mountXFS(t *testing.T) string {
	t.Helper()
	mkfs, err := exec.LookPath("mkfs.xfs")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("XFS IMPOSSIBLE: root and mkfs.xfs (package xfsprogs) are needed to test reflinks: %v", err)
	}
	image, dir := filepath.Join(t.TempDir(), "xfs"), t.TempDir()
	f, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(320<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, "-q", "-m", "reflink=1", image).CombinedOutput(); err != nil {
		t.Fatalf("mkfs.xfs: %v: %s", err, out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, dir).CombinedOutput(); err != nil {
		t.Skipf("XFS IMPOSSIBLE: a loop device and a kernel with XFS are needed to test reflinks: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// plainDigest is the sample's tree digest where nothing is wrong.
func plainDigest(t *testing.T) *materialize.Meta {
	t.Helper()
	s := newStore(t)
	meta, _, err := materialize.Materialize(t.Context(), s, request(build(t, s, sample()...)))
	if err != nil {
		t.Fatal(err)
	}
	return meta
}

// TestFileSystems: on whatever the store lies, the tree is the same; the method
// and what it cost are told.
func TestFileSystems(t *testing.T) {
	plain := plainDigest(t)
	if c := plain.Cost; c.Method != "hardlink" || c.Hardlinks == 0 || c.Siblings != 0 || c.Bytes != plain.BytesNew ||
		c.Hardlinks+c.Copies+c.Reflinks+c.Written != plain.Files || c.Inodes != 1+plain.Dirs+plain.Links+plain.Files-c.Hardlinks {
		t.Errorf("on a plain file system: %+v", c)
	}
	fuse := func(rules ...faultfs.Rule) func(*testing.T) string {
		return func(t *testing.T) string {
			return faultfs.Mount(t, faultfs.Options{Delay: time.Millisecond, Rules: rules}).Dir
		}
	}
	for name, c := range map[string]struct {
		dir    func(*testing.T) string
		method string
		check  func(*materialize.Cost) bool
	}{
		"slow":             {fuse(), "hardlink", func(c *materialize.Cost) bool { return c.Hardlinks == plain.Cost.Hardlinks && c.Siblings == 0 }},
		"no links (EPERM)": {fuse(faultfs.NoLinks(unix.EPERM)), "copy", allCopied},
		"another device":   {fuse(faultfs.NoLinks(unix.EXDEV)), "copy", allCopied},
		"by directory":     {fuse(faultfs.NoLinksBelow("store/tmp", unix.EXDEV)), "copy", allCopied},
		// The probe cannot know: its two names are the pool's and the place's.
		"few links (EMLINK at 2)": {fuse(faultfs.MaxLinks(2)), "hardlink", func(c *materialize.Cost) bool {
			return c.Hardlinks == plain.Cost.Hardlinks && c.Siblings == 1 && c.Bytes > plain.Cost.Bytes
		}},
		"no second link (EMLINK at 1)": {fuse(faultfs.MaxLinks(1)), "copy", allCopied},
		"some links fail": {fuse(func(op faultfs.Op) syscall.Errno {
			if op.Name == "link" && strings.HasPrefix(filepath.Base(op.Path), "text") {
				return unix.EXDEV
			}
			return 0
		}), "hardlink", func(c *materialize.Cost) bool {
			return c.Hardlinks == plain.Cost.Hardlinks-2 && c.Copies == plain.Cost.Copies+2
		}},
		"xfs": {mountXFS, "hardlink", func(c *materialize.Cost) bool {
			return c.Hardlinks == plain.Cost.Hardlinks && c.Reflinks == plain.Cost.Copies+plain.Cost.Reflinks && c.Copies == 0
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeAt(t, c.dir(t))
			req := request(build(t, s, sample()...))
			req.Workers = 32
			meta, made, err := materialize.Materialize(t.Context(), s, req)
			if err != nil || !made {
				t.Fatalf("made %v, %v", made, err)
			}
			t.Logf("cost %+v", *meta.Cost)
			if meta.TreeDigest != plain.TreeDigest {
				t.Errorf("tree digest %s, on a plain file system %s", meta.TreeDigest, plain.TreeDigest)
			}
			if got, err := materialize.TreeDigest(s.TreePath(testPlatform, testID)); err != nil || got != plain.TreeDigest {
				t.Errorf("the tree has digest %s, %v", got, err)
			}
			if meta.Cost.Method != c.method || !c.check(meta.Cost) {
				t.Errorf("method %s, want %s; cost %+v; plain %+v", meta.Cost.Method, c.method, *meta.Cost, *plain.Cost)
			}
			checkClean(t, s)
		})
	}
}

func allCopied(c *materialize.Cost) bool { return c.Hardlinks == 0 && c.Reflinks == 0 && c.Copies > 0 }

// TestNamesThatServersRefuse: the error names file, package and what to do;
// nothing is published, nothing is left, and other environments can be made.
func TestNamesThatServersRefuse(t *testing.T) {
	odd := func(paths ...string) condatest.Package {
		p := condatest.Package{Name: "odd", Version: "1", Build: "0", Files: []condatest.File{{Path: "share/plain", Content: "x"}}}
		for _, f := range paths {
			p.Files = append(p.Files, condatest.File{Path: f, Content: "content of " + f})
		}
		return p
	}
	notASCII := func(name string) bool { return strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }) }
	for name, c := range map[string]struct {
		opt   faultfs.Options
		pkg   condatest.Package
		errno error
		words []string
	}{
		"not in its character set": {faultfs.Options{Rules: []faultfs.Rule{faultfs.RefuseNames(notASCII, unix.EILSEQ)}},
			odd("share/naïve"), unix.EILSEQ, []string{"share/naïve", "odd-1-0"}},
		"a directory": {faultfs.Options{Rules: []faultfs.Rule{faultfs.RefuseNames(notASCII, unix.EILSEQ)}},
			odd("naïve/x"), unix.EILSEQ, []string{`"naïve"`}},
		"a colon": {faultfs.Options{Rules: []faultfs.Rule{faultfs.RefuseNames(func(n string) bool { return strings.Contains(n, ":") }, unix.EINVAL)}},
			odd("share/a:b"), unix.EINVAL, []string{"share/a:b", "odd-1-0"}},
		"two files in case": {faultfs.Options{FoldCase: true}, odd("share/Readme", "share/README"), unix.EEXIST,
			[]string{"share/Readme", "share/README", "odd-1-0", "case"}},
		"two directories in case": {faultfs.Options{FoldCase: true}, odd("share/X/a", "share/x/b"), unix.EEXIST,
			[]string{`"share/X"`, `"share/x"`, "case"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeAt(t, faultfs.Mount(t, c.opt).Dir)
			pkgs := build(t, s, c.pkg, odd())
			_, made, err := materialize.Materialize(t.Context(), s, request(pkgs[:1]))
			if made || !errors.Is(err, cache.ErrStore) || !errors.Is(err, c.errno) {
				t.Fatalf("made %v, %v", made, err)
			}
			for _, w := range append(c.words, "keep the store on a file system that") {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing in: %v", w, err)
				}
			}
			checkClean(t, s)
			if left, err := os.ReadDir(filepath.Join(s.Root(), "trees", testPlatform)); err != nil || len(left) > 0 {
				t.Errorf("published: %v, %v", left, err)
			}
			if _, made, err := materialize.Materialize(t.Context(), s, request(pkgs[1:])); err != nil || !made {
				t.Errorf("another environment: %v, %v", made, err)
			}
		})
	}
}

// filled counts the files of the pool that are not empty.
func filled(p *materialize.Plan) (n int) {
	for _, op := range p.Ops {
		if op.Kind == materialize.KindFile && op.Size > 0 {
			n++
		}
	}
	return n
}

// TestReflink: where hard links do not work but blocks can be shared, files are
// own inodes and cost no bytes. Two XFS trees of one device refuse hard links
// between two bind mounts, not reflinks.
func TestReflink(t *testing.T) {
	plain := plainDigest(t)
	s := storeAt(t, mountXFS(t))
	pkgs := build(t, s, sample()...)
	tmp := filepath.Join(s.Root(), "tmp")
	if err := unix.Mount(tmp, tmp, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("BIND MOUNT IMPOSSIBLE: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(tmp, 0); err != nil {
			t.Error(err)
		}
	})
	plan, err := materialize.NewPlan("/opt/hpcenv/e/"+testID, testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := s.TempDir("test")
	if err != nil {
		t.Fatal(err)
	}
	res, err := plan.Execute(t.Context(), s, staging, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := res.Cost
	if res.TreeDigest != plain.TreeDigest || c.Method != "reflink" || c.Hardlinks != 0 || c.Copies != 0 ||
		c.Reflinks+c.Written != res.Files || c.Reflinks != filled(plan) || c.Inodes != 1+res.Dirs+res.Links+res.Files {
		t.Errorf("digest %s, want %s; cost %+v", res.TreeDigest, plain.TreeDigest, c)
	}
	if got, err := materialize.TreeDigest(staging); err != nil || got != plain.TreeDigest {
		t.Errorf("the tree has digest %s, %v", got, err)
	}
}
