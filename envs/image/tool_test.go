package image

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script makes an executable shell script.
func script(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// smallTree is a tree with one file.
func smallTree(t *testing.T) string {
	t.Helper()
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "file"), []byte("content"), 0o444); err != nil {
		t.Fatal(err)
	}
	return tree
}

// On Lustre a file's layout is chosen before anything is written to it; nowhere else
// lfs is run, and where it fails the file is made nevertheless.
func TestLustreLayout(t *testing.T) {
	host := tool(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	good := script(t, filepath.Join(dir, "lfs"), `echo "$@" >> `+log+`; shift 5; [ -e "$1" ] && exit 17; : > "$1"`)
	bad := script(t, filepath.Join(dir, "lfs-fails"), `echo "$@" >> `+log+`; shift 5; : > "$1"; exit 1`)
	for _, c := range []struct {
		name, lfs string
		lustre    bool
		bytes     int64
		stripes   int
		args      string
	}{
		{"small", good, true, 1 << 20, 1, "setstripe -c 1 -S 4M OUT\n"},
		{"large", good, true, 1 << 30, 16, "setstripe -c 16 -S 4M OUT\n"},
		{"huge", good, true, 1 << 40, 32, "setstripe -c 32 -S 4M OUT\n"},
		{"fails", bad, true, 1 << 30, 0, "setstripe -c 16 -S 4M OUT\n"},
		{"without lfs", "/nonexistent/lfs", true, 1 << 30, 0, ""},
		{"elsewhere", good, false, 1 << 30, 0, ""},
	} {
		for _, work := range []string{"", t.TempDir()} {
			tl := NewTool("")
			tl.lfs, tl.onLustre = c.lfs, func(string) (bool, error) { return c.lustre, nil }
			tl.free = func(string) (int64, error) { return 1 << 50, nil }
			out := filepath.Join(t.TempDir(), "i.sqfs")
			rec, err := tl.Build(context.Background(), Job{Tree: smallTree(t), Digest: "d", Bytes: c.bytes, Work: work, Out: out})
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			said, err := os.ReadFile(log)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err == nil {
				if err := os.Remove(log); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.ReplaceAll(string(said), out, "OUT"); got != c.args || rec.Stripes != c.stripes {
				t.Errorf("%s: lfs was called with %q, want %q; %d stripes, want %d", c.name, got, c.args, rec.Stripes, c.stripes)
			}
		}
	}
	// The real file systems of this machine are told apart from it.
	if is, err := onLustre(dir); is || err != nil {
		t.Errorf("%s on Lustre: %v, %v", dir, is, err)
	}
	if is, err := host.onLustre(filepath.Join(dir, "none")); is || err == nil {
		t.Errorf("a directory that is not there: %v, %v", is, err)
	}
}

// A host that cannot make images says so before anything is made, and what to do.
func TestNoTool(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ path, says string }{
		"missing":    {filepath.Join(dir, "none"), "none"},
		"other":      {script(t, filepath.Join(dir, "other"), "echo hello"), "does not tell its version"},
		"too old":    {script(t, filepath.Join(dir, "old"), `[ "$1" = -version ] && { echo "mksquashfs version 4.3 (2014/05/12)"; exit; }; echo "mksquashfs: invalid option" >&2; exit 1`), "version 4.3): exit status 1: mksquashfs: invalid option"},
		"makes none": {script(t, filepath.Join(dir, "lies"), `echo "mksquashfs version 4.9"`), ""},
	} {
		tl := NewTool(c.path)
		_, err := tl.Build(context.Background(), Job{Tree: smallTree(t), Out: filepath.Join(dir, "out")})
		if name == "makes none" {
			// It ended well; what it should have made is looked at.
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "squashfs-tools") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What mksquashfs made is looked at: it may have been told by a configuration or a
// wrapper to do something else.
func TestOtherImagesAreRefused(t *testing.T) {
	real := tool(t)
	dir := t.TempDir()
	for name, edit := range map[string]string{
		"times":       `s/-mkfs-time 315619200/-mkfs-time 1/`,
		"blocks":      `s/-b 131072/-b 262144/`,
		"compression": `s/-comp zstd -Xcompression-level 3/-comp gzip/`,
		"owners":      `s/-all-root/-force-uid 7/`,
		"attributes":  `s/-no-xattrs/-xattrs/`,
	} {
		wrapper := script(t, filepath.Join(dir, name), `[ "$1" = -version ] && exec `+real.path+` -version
t=$1 o=$2; shift 2
# The words of the options themselves hold blanks and signs of the shell.
for a; do shift; set -- "$@" "$(echo "$a" | tr ' ' '\001')"; done
IFS=$(printf ' '); l=$(echo "$*" | sed '`+edit+`'); set -f; set -- $l
for a; do shift; set -- "$@" "$(echo "$a" | tr '\001' ' ')"; done
exec `+real.path+` "$t" "$o" "$@"`)
		_, err := NewTool(wrapper).Build(context.Background(), Job{Tree: smallTree(t), Out: filepath.Join(dir, name+".sqfs")})
		if !errors.Is(err, ErrTool) || !strings.Contains(err.Error(), "not as it was asked for") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run ends when nobody wants it any more.
func TestBuildIsCancelled(t *testing.T) {
	real := tool(t)
	dir := t.TempDir()
	slow := NewTool(script(t, filepath.Join(dir, "slow"), `[ "$1" = -version ] && exec `+real.path+` -version
case $2 in */hpcenv-image-*) exec `+real.path+` "$@";; esac
exec sleep 60`))
	if err := slow.Available(context.Background()); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, boom)
	defer cancel()
	if _, err := slow.Build(ctx, Job{Tree: smallTree(t), Out: filepath.Join(dir, "out")}); !errors.Is(err, boom) {
		t.Errorf("%v", err)
	}
}

// A run that the kernel killed (it does where memory is out) is told so, as is one whose
// disk became full; nothing of either is published.
func TestRunFails(t *testing.T) {
	real := tool(t)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		does, says string
		class      error
	}{
		"killed":    {`kill -9 $$`, "too little memory for it?", ErrTool},
		"disk full": {`echo "Write failed because No space left on device" >&2; exit 1`, "is full; the image takes about", ErrRoom},
		"quota":     {`echo "Write failed because Disk quota exceeded" >&2; exit 1`, "is full; the image takes about", ErrRoom},
	} {
		for _, work := range []string{"", t.TempDir()} {
			tl := NewTool(script(t, filepath.Join(dir, name), `[ "$1" = -version ] && exec `+real.path+` -version
case $2 in */hpcenv-image-*) exec `+real.path+` "$@";; esac
`+c.does))
			_, err := tl.Build(context.Background(), Job{Tree: smallTree(t), Work: work, Out: filepath.Join(t.TempDir(), "out")})
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) || name == "killed" && !strings.Contains(err.Error(), "killed") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Too little room is said beforehand, with the directory and what it takes.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	tl := tool(t)
	tl.free = func(string) (int64, error) { return 100 << 20, nil }
	out := filepath.Join(dir, "out")
	_, err := tl.Build(context.Background(), Job{Tree: smallTree(t), Bytes: 1 << 30, Out: out})
	if !errors.Is(err, ErrRoom) || !strings.Contains(err.Error(), "takes about 538 MB in "+dir+", which has 105 MB left") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

func TestParseDelivery(t *testing.T) {
	for text, want := range map[string]struct{ tree, image, ok bool }{
		"tree": {true, false, true}, "image": {false, true, true}, "both": {true, true, true}, "": {}, "Tree": {}, "tree,image": {},
	} {
		d, err := Parse(text)
		if (err == nil) != want.ok || err == nil && (d.WantsTree() != want.tree || d.WantsImage() != want.image) {
			t.Errorf("%q: %q, %v", text, d, err)
		}
	}
}
