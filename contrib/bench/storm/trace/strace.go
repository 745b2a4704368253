package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// Strace are the arguments of strace that FromStrace reads the output of, with
// -o FILE added: all threads and children, descriptors with their paths, file
// contents left out.
func Strace() []string {
	return []string{"-f", "-y", "-s", "0", "-e", "signal=none", "-e", "trace=%file,%desc"}
}

// FromStrace reads what strace wrote of processes that ran from prefix, which is
// an absolute path without links. What is about other files is left out. All
// processes and threads become one sequence, in the order in which calls returned.
func FromStrace(r io.Reader, prefix string) (*Trace, error) {
	s := reader{prefix: prefix, files: map[string]int{}, begun: map[string]string{}, touched: map[int]bool{}, used: map[int]bool{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if err := s.line(lines.Text()); err != nil {
			return nil, fmt.Errorf("strace, line %d: %w", n, err)
		}
	}
	return &s.trace, lines.Err()
}

// reader makes a trace of lines.
type reader struct {
	prefix  string
	trace   Trace
	files   map[string]int    // process and descriptor → number
	begun   map[string]string // process → a call that is not over
	free    []int
	next    int
	touched map[int]bool
	used    map[int]bool // as check has it
}

// add holds every operation to what Parse holds it to.
func (s *reader) add(op Op) error {
	if err := check(op, s.used); err != nil {
		return err
	}
	s.trace.Ops = append(s.trace.Ops, op)
	return nil
}

// line takes `PID call`, and puts together calls that strace shows in two parts.
func (s *reader) line(line string) error {
	pid, rest, ok := strings.Cut(line, " ")
	if !ok {
		return errors.New("no process number")
	}
	rest = strings.TrimLeft(rest, " ")
	if head, ok := strings.CutSuffix(rest, " <unfinished ...>"); ok {
		s.begun[pid] = head
		return nil
	}
	if tail, ok := strings.CutPrefix(rest, "<... "); ok {
		_, tail, _ = strings.Cut(tail, " resumed>")
		rest = s.begun[pid] + tail
		delete(s.begun, pid)
	}
	c, err := parseCall(rest)
	if errors.Is(err, errNoCall) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.call(pid, c)
}

// ignored errors: nothing reached a file.
func ignored(err syscall.Errno) bool { return err == syscall.EBADF || err == syscall.EINTR }

func (s *reader) call(pid string, c call) error {
	if ignored(c.err) {
		return nil
	}
	arg := func(i int) string {
		if i < len(c.args) {
			return c.args[i]
		}
		return ""
	}
	switch c.name {
	case "execve":
		return s.exec(pid, c)
	case "open":
		return s.open(pid, c, "", arg(0), arg(1))
	case "openat":
		return s.open(pid, c, arg(0), arg(1), arg(2))
	case "stat", "lstat", "access", "readlink":
		return s.named(c, Kind(c.name), "", arg(0), arg(1))
	case "newfstatat", "statx":
		flags := arg(3)
		if c.name == "statx" {
			flags = arg(2)
		}
		switch {
		case strings.Contains(flags, "AT_EMPTY_PATH") && arg(1) == `""`:
			return s.opened(pid, c, Fstat, arg(0), 0, 0)
		case strings.Contains(flags, "AT_SYMLINK_NOFOLLOW"):
			return s.named(c, Lstat, arg(0), arg(1), "")
		}
		return s.named(c, Stat, arg(0), arg(1), "")
	case "faccessat", "faccessat2":
		return s.named(c, Access, arg(0), arg(1), arg(2))
	case "readlinkat":
		return s.named(c, Readlink, arg(0), arg(1), "")
	case "fstat":
		return s.opened(pid, c, Fstat, arg(0), 0, 0)
	case "getdents64":
		return s.sized(pid, c, List, arg(0), arg(2), "0")
	case "read":
		return s.sized(pid, c, ReadFile, arg(0), arg(2), "0")
	case "pread64":
		return s.sized(pid, c, ReadAt, arg(0), arg(2), arg(3))
	case "lseek":
		if c.err != 0 {
			return nil
		}
		return s.sized(pid, c, Seek, arg(0), arg(1), whence[arg(2)])
	case "mmap":
		if fd, p := descriptor(arg(4)); c.err == 0 && p != "" {
			return s.touch(pid, fd)
		}
	case "close":
		return s.close(pid, arg(0))
	}
	return nil
}

var whence = map[string]string{"SEEK_SET": "0", "SEEK_CUR": "1", "SEEK_END": "2", "SEEK_DATA": "3", "SEEK_HOLE": "4"}

// relative is a path below the prefix; ok is false if it is elsewhere. The path's
// own .. and links stay as they are, since they cost what they cost.
func (s *reader) relative(dir, arg string) (string, bool) {
	p, ok := text(arg)
	if !ok || p == "" {
		return "", false
	}
	if !path.IsAbs(p) {
		_, at := descriptor(dir)
		if at == "" {
			return "", false
		}
		p = at + "/" + p
	}
	rel, ok := strings.CutPrefix(p, s.prefix)
	if !ok || rel != "" && rel[0] != '/' {
		return "", false
	}
	if rel = strings.Trim(rel, "/"); rel == "" {
		return ".", true
	}
	return rel, below(rel)
}

func (s *reader) named(c call, k Kind, dir, arg, mode string) error {
	p, ok := s.relative(dir, arg)
	if !ok {
		return nil
	}
	op := Op{Kind: k, Path: p, Err: c.err}
	if k == Access {
		for word := range strings.SplitSeq(mode, "|") {
			op.Flags |= map[string]int{"R_OK": 4, "W_OK": 2, "X_OK": 1}[word]
		}
	}
	return s.add(op)
}

// openFlags that matter to a read-only copy.
var openFlags = map[string]int{"O_DIRECTORY": syscall.O_DIRECTORY, "O_NOFOLLOW": syscall.O_NOFOLLOW, "O_CLOEXEC": syscall.O_CLOEXEC, "O_NONBLOCK": syscall.O_NONBLOCK}

func (s *reader) open(pid string, c call, dir, arg, flags string) error {
	p, ok := s.relative(dir, arg)
	if !ok {
		return nil
	}
	op := Op{Kind: Open, Path: p, Err: c.err}
	for word := range strings.SplitSeq(flags, "|") {
		switch word {
		case "O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC":
			return fmt.Errorf("%s was opened to be written: only reading is replayed", p)
		}
		op.Flags |= openFlags[word]
	}
	if c.err == 0 {
		fd, _ := descriptor(c.ret)
		op.File = s.number()
		if old, ok := s.files[pid+" "+fd]; ok { // closed without our seeing it
			if err := s.end(pid+" "+fd, old); err != nil {
				return err
			}
		}
		s.files[pid+" "+fd] = op.File
	}
	return s.add(op)
}

// exec is what the kernel does to a program of the prefix: it opens and maps it.
func (s *reader) exec(pid string, c call) error {
	if c.err != 0 || len(c.args) == 0 {
		return nil // a look along PATH is followed by the one that succeeds
	}
	p, ok := s.relative("", c.args[0])
	if !ok {
		return nil
	}
	n := s.number()
	return errors.Join(s.add(Op{Kind: Open, Path: p, File: n}), s.add(Op{Kind: Touch, File: n}), s.end(pid+" exec", n))
}

// number is the lowest that is free.
func (s *reader) number() int {
	if n := len(s.free); n > 0 {
		f := s.free[n-1]
		s.free = s.free[:n-1]
		return f
	}
	s.next++
	return s.next - 1
}

func (s *reader) end(key string, n int) error {
	delete(s.files, key)
	delete(s.touched, n)
	s.free = append(s.free, n)
	return s.add(Op{Kind: Close, File: n})
}

func (s *reader) close(pid, arg string) error {
	fd, _ := descriptor(arg)
	if n, ok := s.files[pid+" "+fd]; ok {
		return s.end(pid+" "+fd, n)
	}
	return nil
}

// touch is said once for each time that a file is opened.
func (s *reader) touch(pid, fd string) error {
	n, ok := s.files[pid+" "+fd]
	if ok && !s.touched[n] {
		s.touched[n] = true
		return s.add(Op{Kind: Touch, File: n})
	}
	return nil
}

func (s *reader) opened(pid string, c call, k Kind, arg string, size, offset int64) error {
	fd, _ := descriptor(arg)
	if n, ok := s.files[pid+" "+fd]; ok && c.err == 0 {
		return s.add(Op{Kind: k, File: n, Size: size, Offset: offset})
	}
	return nil
}

func (s *reader) sized(pid string, c call, k Kind, arg, size, offset string) error {
	fd, _ := descriptor(arg)
	if _, ok := s.files[pid+" "+fd]; !ok {
		return nil
	}
	a, err1 := strconv.ParseInt(size, 10, 64)
	b, err2 := strconv.ParseInt(offset, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return s.opened(pid, c, k, arg, a, b)
}
