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

// header is the first line of the written form.
const header = "storm trace 1"

// maxFiles bounds the numbers of opened files, maxSize what one operation reads
// or touches, in bytes, and maxLine a line of the written form.
const (
	maxFiles = 1 << 16
	maxSize  = 1 << 40
	maxLine  = 1 << 22
)

// shape is which fields a kind has, in the written order.
type shape struct{ file, flags, size, offset, path, pages bool }

var shapes = map[Kind]shape{
	Open: {file: true, flags: true, path: true}, Stat: {path: true}, Lstat: {path: true}, Readlink: {path: true},
	Access: {flags: true, path: true}, Fstat: {file: true}, List: {file: true, size: true}, ReadFile: {file: true, size: true},
	ReadAt: {file: true, size: true, offset: true}, Seek: {file: true, size: true, offset: true}, Touch: {file: true, pages: true}, Close: {file: true},
}

// Write writes t: a header, and a line for each operation with its kind, its
// numbers, its error (of those with a path), and its quoted path or its pages.
func (t *Trace) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, header) // errors of b stay, and Flush has them
	for _, op := range t.Ops {
		s := shapes[op.Kind]
		fmt.Fprint(b, string(op.Kind))
		for _, f := range []struct {
			has   bool
			value int64
		}{{s.file, int64(op.File)}, {s.flags, int64(op.Flags)}, {s.size, op.Size}, {s.offset, op.Offset}, {s.path, int64(op.Err)}} {
			if f.has {
				fmt.Fprint(b, " ", f.value)
			}
		}
		if s.path {
			fmt.Fprint(b, " ", strconv.Quote(op.Path))
		}
		for _, p := range op.Pages {
			fmt.Fprintf(b, " %d+%d", p.First, p.Count)
		}
		fmt.Fprintln(b)
	}
	return b.Flush()
}

// Parse reads the written form. What it accepts, a replay can carry out without
// looking again: paths stay below the prefix, and files are open when they are used.
func Parse(r io.Reader) (*Trace, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() || lines.Text() != header {
		return nil, errors.Join(fmt.Errorf("this is no trace: its first line is not %q", header), lines.Err())
	}
	t, open := new(Trace), map[int]bool{}
	for n := 2; lines.Scan(); n++ {
		op, err := parseOp(lines.Text())
		if err == nil {
			err = check(op, open)
		}
		if err != nil {
			return nil, fmt.Errorf("trace, line %d: %w", n, err)
		}
		t.Ops = append(t.Ops, op)
	}
	return t, lines.Err()
}

func parseOp(line string) (Op, error) {
	word, rest, _ := strings.Cut(line, " ")
	op := Op{Kind: Kind(word)}
	s, ok := shapes[op.Kind]
	if !ok {
		return op, fmt.Errorf("%q is no operation", word)
	}
	var file, flags, errno int64
	for _, f := range []struct {
		has  bool
		into *int64
		name string
	}{{s.file, &file, "file"}, {s.flags, &flags, "flags"}, {s.size, &op.Size, "size"}, {s.offset, &op.Offset, "offset"}, {s.path, &errno, "error"}} {
		if !f.has {
			continue
		}
		word, rest, _ = strings.Cut(rest, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return op, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.into = v
	}
	if file < 0 || file >= maxFiles || flags != int64(int32(flags)) || errno < 0 || errno > 4095 {
		return op, errors.New("a number is out of its range")
	}
	op.File, op.Flags, op.Err = int(file), int(flags), syscall.Errno(errno)
	switch {
	case s.path:
		var err error
		if op.Path, err = strconv.Unquote(rest); err != nil {
			return op, fmt.Errorf("path %s: %w", rest, err)
		}
	case s.pages:
		for run := range strings.FieldsSeq(rest) {
			p, err := parseRun(run)
			if err != nil {
				return op, err
			}
			op.Pages = append(op.Pages, p)
		}
	case rest != "":
		return op, fmt.Errorf("%q at the end", rest)
	}
	return op, nil
}

func parseRun(word string) (Run, error) {
	first, count, ok := strings.Cut(word, "+")
	a, err1 := strconv.ParseInt(first, 10, 64)
	b, err2 := strconv.ParseInt(count, 10, 64)
	if !ok || err1 != nil || err2 != nil || a < 0 || b < 1 || a > maxSize/PageSize || b > maxSize/PageSize {
		return Run{}, fmt.Errorf("%q is no run of pages", word)
	}
	return Run{a, b}, nil
}

// check holds what a replay relies on, and keeps account of open files.
func check(op Op, open map[int]bool) error {
	if shapes[op.Kind].path {
		if !below(op.Path) {
			return fmt.Errorf("%q leaves the prefix", op.Path)
		}
		if op.Kind == Open && op.Err == 0 {
			if open[op.File] {
				return fmt.Errorf("file %d is open already", op.File)
			}
			open[op.File] = true
		}
		return nil
	}
	if !open[op.File] {
		return fmt.Errorf("file %d is not open", op.File)
	}
	switch op.Kind {
	case Close:
		delete(open, op.File)
	case Seek:
		if op.Offset < 0 || op.Offset > 4 {
			return fmt.Errorf("whence %d", op.Offset)
		}
	default:
		if op.Size < 0 || op.Size > maxSize || op.Offset < 0 || op.Offset > maxSize {
			return errors.New("a size or offset is out of its range")
		}
	}
	return nil
}

// below tells whether a path stays below the prefix.
func below(p string) bool {
	clean := path.Clean(p)
	return p != "" && !path.IsAbs(p) && clean != ".." && !strings.HasPrefix(clean, "../") && !strings.ContainsRune(p, 0)
}
