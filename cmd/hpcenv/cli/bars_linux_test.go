package cli

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// terminal is a pseudo-terminal whose screen a test can look at.
type terminal struct {
	master, slave *os.File
	done          chan struct{}
	out           bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NO PSEUDO-TERMINALS HERE: %v", err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("NO PSEUDO-TERMINALS HERE: %v", err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	tm := &terminal{master: master, slave: slave, done: make(chan struct{})}
	go func() {
		defer close(tm.done)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			tm.out.Write(buf[:n])
			if err != nil { // EIO: the other side is closed
				return
			}
		}
	}()
	t.Cleanup(func() { _ = master.Close() })
	return tm
}

// end closes the program's side and returns all that was written, and the lines
// that stand on the screen then.
func (tm *terminal) end(t *testing.T) (all string, screen []string) {
	t.Helper()
	if err := tm.slave.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-tm.done:
	case <-time.After(10 * time.Second):
		t.Fatal("the terminal never ended")
	}
	all = tm.out.String()
	return all, strings.Split(strings.TrimRight(show(t, all), "\n"), "\n")
}

var control = regexp.MustCompile(`^\x1b\[(\d*)([A-Za-z])`)

// show plays what was written on a screen that knows what bars need: line ends,
// cursor up, erase in line and below.
func show(t *testing.T, out string) string {
	lines, row, col := [][]rune{nil}, 0, 0
	for len(out) > 0 {
		if m := control.FindStringSubmatch(out); m != nil {
			n := 1
			if m[1] != "" {
				n, _ = strconv.Atoi(m[1])
			}
			switch m[2] {
			case "A":
				row = max(row-n, 0)
			case "J":
				lines[row] = lines[row][:min(col, len(lines[row]))]
				lines = lines[:row+1]
			case "K":
				lines[row] = lines[row][:0]
			case "m":
			default:
				t.Fatalf("control sequence %q is not known to this test", m[0])
			}
			out = out[len(m[0]):]
			continue
		}
		r := []rune(out)[0]
		switch r {
		case '\n':
			if row++; row == len(lines) {
				lines = append(lines, nil)
			}
		case '\r':
			col = 0
		default:
			for len(lines[row]) <= col {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][col] = r
			col++
		}
		out = out[len(string(r)):]
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

// TestBarsLeaveNothing: whatever happens, only lines of text remain, and all
// figures are written in one style.
func TestBarsLeaveNothing(t *testing.T) {
	plan := func(p progress) {
		p.report(api.Event{Type: api.EventPlan, Environment: "default", Platform: "linux-64", New: true})
		p.report(api.Event{Type: api.EventPlan, PackagesTotal: 2, BytesTotal: 1_200_000})
	}
	half := func(p progress) {
		for i := range 10 {
			p.report(api.Event{Type: api.EventFetch, Package: "tool-1.0-0", Done: int64(i) * 60_000, Total: 1_000_000, BytesDone: int64(i) * 60_000, BytesTotal: 1_200_000, PackagesTotal: 2})
			time.Sleep(70 * time.Millisecond)
		}
	}
	head := []string{"pixi.lock a41c9e02", "  default       linux-64       new", "fetching 2 of 2 packages  1.2 MB"}
	for _, c := range []struct {
		name  string
		do    func(*terminal, progress)
		after []string
	}{
		{"interrupted", func(tm *terminal, p progress) {
			plan(p)
			half(p)
			fmt.Fprint(tm.slave, "^C") // what the terminal echoes
		}, nil},
		{"failed before the first byte", func(_ *terminal, p progress) { plan(p) }, nil},
		{"a plan told twice", func(_ *terminal, p progress) {
			plan(p)
			time.Sleep(200 * time.Millisecond)
			p.report(api.Event{Type: api.EventPlan, PackagesTotal: 2, BytesTotal: 1_200_000})
			half(p)
		}, []string{"fetching 2 of 2 packages  1.2 MB"}},
		{"done", func(_ *terminal, p progress) {
			plan(p)
			half(p)
			p.report(api.Event{Type: api.EventFetched, Package: "tool-1.0-0", BytesDone: 1_200_000, BytesTotal: 1_200_000, PackagesDone: 2, PackagesTotal: 2})
			p.report(api.Event{Type: api.EventNote, Text: "a note"})
			p.report(api.Event{Type: api.EventLink, Environment: "default", Platform: "linux-64"})
		}, []string{"a note", "linking default for linux-64"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tm := newTerminal(t)
			t.Setenv("TERM", "xterm")
			p := newProgress(tm.slave, head[0], showAll)
			if _, ok := p.(*bars); !ok {
				t.Fatal("no bars on a terminal")
			}
			c.do(tm, p)
			p.close()
			fmt.Fprintln(tm.slave, "the end")
			all, screen := tm.end(t)
			want := append(append(append([]string{}, head...), c.after...), "the end")
			if got := strings.Join(screen, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("on the screen:\n%s\nwant:\n%s\nwritten: %q", got, strings.Join(want, "\n"), all)
			}
			if m := regexp.MustCompile(`\d (KB|b|B/s|KB/s|MiB|KiB)\b`).FindString(all); m != "" && !strings.HasSuffix(m, " B/s") {
				t.Errorf("another style: %q in %q", m, all)
			}
			if c.name != "failed before the first byte" && !regexp.MustCompile(`[0-9]0 kB of 1\.0 MB`).MatchString(all) {
				t.Errorf("no bar in %q", all)
			}
		})
	}
}
