package loader_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

// recorded is what is known of the directory at in a root. Files that are links of
// one inode are left to be read, as Recorded has it.
func recorded(t *testing.T, root, at string) *loader.Recorded {
	t.Helper()
	r := &loader.Recorded{At: at, Dirs: map[string][]string{}, Links: map[string]string{}, Objects: map[string]*elf.Facts{}}
	top := filepath.Join(root, at)
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, file)
		if err != nil {
			return err
		}
		if rel != "." {
			r.Dirs[path.Dir(rel)] = append(r.Dirs[path.Dir(rel)], path.Base(rel)) // in the order of names
		}
		switch {
		case d.IsDir():
			if r.Dirs[rel] == nil {
				r.Dirs[rel] = []string{}
			}
		case d.Type()&fs.ModeSymlink != 0:
			r.Links[rel], err = os.Readlink(file)
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			if info.Sys().(*syscall.Stat_t).Nlink > 1 {
				return nil
			}
			f, err := elf.ReadFile(file)
			if errors.Is(err, elf.ErrNotELF) || errors.Is(err, elf.ErrBroken) {
				return nil
			}
			if err != nil {
				return err
			}
			r.Objects[rel] = f
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWhatIsNotRecordedIsRead: a file of which only the name is known, one in a
// directory of which nothing is known, and one behind a link that leads out.
func TestWhatIsNotRecordedIsRead(t *testing.T) {
	needed(t)
	w := &world{t: t, r: rand.New(rand.NewPCG(3, 9)), root: t.TempDir(), stage: t.TempDir()}
	at := "/real/" + word(w.r)
	for _, f := range []string{interpreter, libc} {
		b, err := os.ReadFile(f)
		w.check(err)
		w.put(f, b)
	}
	gone := "lib" + word(w.r) + ".so.9"
	w.link(gone)
	named, elsewhere, out := "lib"+word(w.r)+".so.1", "lib"+word(w.r)+".so.2", "lib"+word(w.r)+".so.3"
	w.put(at+"/lib/"+named, w.link(named, "-l:"+gone))
	w.put(at+"/far/"+elsewhere, w.link(elsewhere, "-l:"+gone))
	w.put("/site/"+out, w.link(out, "-l:"+gone))
	w.check(os.Symlink("/site/"+out, filepath.Join(w.root, at, "lib", out)))
	src := filepath.Join(w.stage, "probe.c")
	w.check(os.WriteFile(src, []byte(probeSource), 0o644))
	w.run(w.stage, "gcc", "-o", "probe", src)
	b, err := os.ReadFile(filepath.Join(w.stage, "probe"))
	w.check(err)
	w.put(at+"/bin/probe", b)
	// The prefix is known by a path that has a link in it.
	w.check(os.Symlink("real", filepath.Join(w.root, "opt")))
	r := recorded(t, w.root, at)
	r.At = "/opt/" + path.Base(at)
	delete(r.Objects, "lib/"+named)
	delete(r.Dirs, "far")
	delete(r.Objects, "far/"+elsewhere)
	s, err := loader.Open(loader.Root{Dir: w.root, Recorded: r}, loader.Options{Machine: "x86_64", PageSize: 4096})
	w.check(err)
	space, v, err := s.Start(loader.Process{Program: r.At + "/bin/probe"})
	if err != nil || space == nil {
		t.Fatalf("%v, %v", v, err)
	}
	for _, file := range []string{"lib/" + named, "far/" + elsewhere, "lib/" + out} {
		v, err := space.Judge(r.At + "/" + file)
		w.check(err)
		if v.Missing != gone {
			t.Errorf("%s: %v", file, v)
		}
	}
	if v, err := space.Judge(r.At + "/lib/" + gone); err != nil || v.Missing != r.At+"/lib/"+gone || len(v.Chain) > 0 {
		t.Errorf("what is not there: %v, %v", v, err)
	}
}

// BenchmarkPrefix: a node is opened, the program started and 20 modules of a recorded
// prefix judged, each with a closure of five libraries.
func BenchmarkPrefix(b *testing.B) {
	if _, err := os.Stat(interpreter); err != nil {
		b.Skip(err)
	}
	const at, modules = "/opt/hpcenv/e/0123456789abcdef0123456789abcdef", 20
	r := &loader.Recorded{At: at, Dirs: map[string][]string{}, Links: map[string]string{}, Objects: map[string]*elf.Facts{}}
	lib := func(dir, name string, needed ...string) {
		r.Dirs[dir] = append(r.Dirs[dir], name)
		r.Objects[dir+"/"+name] = &elf.Facts{Machine: "x86_64", Class: 64, Kind: elf.Library, Dynamic: true, MaxPage: 4096, SOName: name, Needed: needed, RunPath: "$ORIGIN/..:$ORIGIN", HasRunPath: true}
	}
	for i := range 5 {
		needed := []string{"libc.so.6", "libm.so.6"}
		if i > 0 {
			needed = append(needed, fmt.Sprintf("libbase%d.so.1", i-1))
		}
		lib("lib", fmt.Sprintf("libbase%d.so.1", i), needed...)
	}
	for i := range 1500 {
		r.Dirs["lib"] = append(r.Dirs["lib"], fmt.Sprintf("libother%04d.so", i))
	}
	for i := range modules {
		needed := []string{"libbase4.so.1", "libpthread.so.0"}
		if i%2 == 0 {
			needed = append(needed, fmt.Sprintf("libgone%d.so.1", i))
		}
		lib("lib/ucx", fmt.Sprintf("libuct_%02d.so", i), needed...)
	}
	r.Objects["bin/python3"] = &elf.Facts{Machine: "x86_64", Class: 64, Kind: elf.Executable, PIE: true, Dynamic: true, MaxPage: 4096,
		Interpreter: interpreter, Needed: []string{"libc.so.6", "libm.so.6", "libdl.so.2"}, RPath: "$ORIGIN/../lib"}
	for b.Loop() {
		s, err := loader.Open(loader.Root{Recorded: r}, loader.Options{Machine: "x86_64", PageSize: 4096, HWCaps: loader.X86Levels(3)})
		if err != nil {
			b.Fatal(err)
		}
		space, v, err := s.Start(loader.Process{Program: at + "/bin/python3"})
		if err != nil || space == nil {
			b.Fatal(v, err)
		}
		for i := range modules {
			v, err := space.Judge(fmt.Sprintf("%s/lib/ucx/libuct_%02d.so", at, i))
			if err != nil || v.Loads != (i%2 == 1) {
				b.Fatal(v, err)
			}
		}
	}
}
