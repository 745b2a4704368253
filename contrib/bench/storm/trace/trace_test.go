package trace

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is what strace 6.1 says, with each form that matters.
const said = `7 execve("/e/bin/python3", ["/e/bin/python3", "s.py"], 0x7ffc /* 5 vars */) = 0
7 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f8f
7 readlink("/proc/self/exe", "/e/bin/python3.11", 4096) = 17
7 access("/e/bin", R_OK|X_OK)     = 0
7 openat(AT_FDCWD</home>, "/e/bin/../lib/tls/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
7 openat(AT_FDCWD</home>, "/e/bin/../lib/libz.so.1", O_RDONLY|O_CLOEXEC) = 3</e/lib/libz.so.1.2>
7 read(3</e/lib/libz.so.1.2>, ""..., 832) = 832
7 newfstatat(3</e/lib/libz.so.1.2>, "", {st_mode=S_IFREG|0444, st_size=125888, ...}, AT_EMPTY_PATH) = 0
7 mmap(NULL, 129984, PROT_READ, MAP_PRIVATE|MAP_DENYWRITE, 3</e/lib/libz.so.1.2>, 0) = 0x7f8f
7 mmap(0x7f8f, 77824, PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_FIXED, 3</e/lib/libz.so.1.2>, 0x3000) = 0x7f8f
7 close(3</e/lib/libz.so.1.2>) = 0
7 openat(AT_FDCWD</home>, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3</etc/passwd>
7 read(3</etc/passwd>, ""..., 4096) = 100
7 close(3</etc/passwd>)             = 0
7 openat(AT_FDCWD</e/lib>, "a, b \"(\303\251)\"", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY <unfinished ...>
8 lstat("/e/lib", {st_mode=S_IFDIR|0755, st_size=4096, ...}) = 0
7 <... openat resumed>) = 4</e/lib/a, b "(\303\251)">
7 getdents64(4</e/lib/a, b "(\303\251)">, 0x40 /* 205 entries */, 32768) = 6816
7 lseek(4</e/lib/a, b "(\303\251)">, 0, SEEK_CUR) = 0
7 pread64(4</e/lib/a, b "(\303\251)">, ""..., 32, 64) = 32
7 newfstatat(AT_FDCWD</home>, "/e", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0
7 newfstatat(AT_FDCWD</e>, "lib64", 0x7ffd, 0) = -1 ENOENT (No such file or directory)
7 readlink("/e/bin/python3.11", 0x7ffd, 4096) = -1 EINVAL (Invalid argument)
7 ioctl(4</e/x>, TCGETS, 0x7ffd) = -1 ENOTTY (Inappropriate ioctl for device)
7 openat(AT_FDCWD</home>, "/ee/other", O_RDONLY) = 5</ee/other>
7 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---
7 +++ exited with 0 +++
`

func expected() []Op {
	const cloexec = syscall.O_CLOEXEC
	return []Op{
		{Kind: Open, Path: "bin/python3"}, {Kind: Touch}, {Kind: Close},
		{Kind: Access, Path: "bin", Flags: 5},
		{Kind: Open, Path: "bin/../lib/tls/libm.so.6", Flags: cloexec, Err: syscall.ENOENT},
		{Kind: Open, Path: "bin/../lib/libz.so.1", Flags: cloexec},
		{Kind: ReadFile, Size: 832}, {Kind: Fstat}, {Kind: Touch}, {Kind: Close},
		{Kind: Lstat, Path: "lib"},
		{Kind: Open, Path: `lib/a, b "(é)"`, Flags: cloexec | syscall.O_NONBLOCK | syscall.O_DIRECTORY},
		{Kind: List, Size: 32768}, {Kind: Seek, Offset: 1}, {Kind: ReadAt, Size: 32, Offset: 64},
		{Kind: Lstat, Path: "."}, {Kind: Stat, Path: "lib64", Err: syscall.ENOENT},
		{Kind: Readlink, Path: "bin/python3.11", Err: syscall.EINVAL},
	}
}

func TestFromStrace(t *testing.T) {
	got, err := FromStrace(strings.NewReader(said), "/e")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(expected(), got.Ops); diff != "" {
		t.Errorf("other operations (-want +got):\n%s", diff)
	}
	files := got.Files()
	if files[1] != "bin/python3" || files[8] != "bin/../lib/libz.so.1" || files[10] != "" || files[12] != `lib/a, b "(é)"` {
		t.Errorf("files: %q", files)
	}
}

func TestWritingIsRefused(t *testing.T) {
	_, err := FromStrace(strings.NewReader(`7 openat(AT_FDCWD</e>, "x", O_WRONLY|O_CREAT, 0666) = 3</e/x>`+"\n"), "/e")
	if err == nil || !strings.Contains(err.Error(), "line 1") || !strings.Contains(err.Error(), "x was opened to be written") {
		t.Errorf("%v", err)
	}
}

func TestWrittenFormIsReadBack(t *testing.T) {
	want := &Trace{Ops: expected()}
	want.Ops[1].Pages = []Run{{0, 3}, {7, 1}}
	var b bytes.Buffer
	if err := want.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back otherwise (-want +got):\n%s", diff)
	}
}

func TestWhatNoReplayCouldDoIsRefused(t *testing.T) {
	for _, c := range []struct{ lines, want string }{
		{"stat 0 \"../x\"\n", "leaves the prefix"}, {"stat 0 \"/x\"\n", "leaves the prefix"}, {"stat 0 \"a/../../x\"\n", "leaves the prefix"},
		{"read 0 5\n", "not open"}, {"open 0 0 0 \"a\"\nopen 0 0 0 \"b\"\n", "open already"}, {"open 0 0 0 \"a\"\nread 0 -1\n", "range"},
		{"open 0 0 0 \"a\"\nseek 0 1 9\n", "whence"}, {"open 0 0 0 \"a\"\ntouch 0 3\n", "run of pages"}, {"open 0 0 0 \"a\"\nclose 0\nclose 0\n", "not open"},
		{"fly 1\n", "no operation"}, {"close x\n", "file"}, {"open 0 0 0 \"a\"\nclose 0 1\n", "at the end"},
	} {
		_, err := Parse(strings.NewReader(header + "\n" + c.lines))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v, want %q", c.lines, err, c.want)
		}
	}
	if _, err := Parse(strings.NewReader("close 0\n")); err == nil {
		t.Error("a file without a header is a trace")
	}
}

// FuzzParse: what is accepted is written and read back the same.
func FuzzParse(f *testing.F) {
	f.Add("open 0 0 0 \"a\"\nread 0 5\ntouch 0 0+3 9+1\nclose 0\n")
	f.Add("access 4 2 \"lib/x y\"\nseek 0 1 2\n")
	f.Fuzz(func(t *testing.T, lines string) {
		first, err := Parse(strings.NewReader(header + "\n" + lines))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := first.Write(&b); err != nil {
			t.Fatal(err)
		}
		second, err := Parse(&b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzFromStrace: whatever strace says, what becomes of it is a trace that is
// accepted again.
func FuzzFromStrace(f *testing.F) {
	f.Add(said)
	f.Fuzz(func(t *testing.T, text string) {
		first, err := FromStrace(strings.NewReader(text), "/e")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := first.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(&b); err != nil {
			t.Errorf("%v in:\n%s", err, b.String())
		}
	})
}
