package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// progress shows a prepare that runs. Its report is called from one goroutine.
type progress interface {
	report(api.Event)
	// close leaves the terminal clean; nothing is reported after it.
	close()
}

// showing is how much a progress shows, and in which words.
type showing int

const (
	showAll showing = iota
	// showNew: nothing as long as everything is ready.
	showNew
	// showDry: what would be done, for a run that does nothing.
	showDry
)

// newProgress returns bars if w is a terminal, plain lines if not.
func newProgress(w io.Writer, head string, show showing) progress {
	if f, ok := w.(*os.File); ok && drawable(f) {
		return &bars{lines: lines{w: w, head: head, show: show}, active: map[string]*bar{}}
	}
	return &lines{w: w, head: head, show: show, every: 5 * time.Second}
}

// drawable: f is a terminal on which bars can be drawn; one of unknown size is
// not.
func drawable(f *os.File) bool {
	if !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	return err == nil && width > 0 && height > 0
}

// lines prints milestones, and how far it is every few seconds.
type lines struct {
	w      io.Writer
	head   string
	headed bool
	show   showing
	ready  []string
	every  time.Duration
	last   time.Time
}

func (l *lines) report(e api.Event) {
	switch e.Type {
	case api.EventPlan:
		l.plan(e)
		l.last = time.Now()
	case api.EventFetch, api.EventFetched:
		if time.Since(l.last) < l.every {
			return
		}
		l.last = time.Now()
		fmt.Fprintf(l.w, "fetched %d of %d packages  %s\n", e.PackagesDone, e.PackagesTotal, doneText(e.BytesDone, e.BytesTotal))
	case api.EventNote, api.EventWait:
		fmt.Fprintln(l.w, e.Text)
	}
}

// doneText tells how much of how much is done; a lock that does not tell all sizes
// gives a total that is too small, or none.
func doneText(done, total int64) string {
	if total < done || total == 0 {
		return bytesText(done)
	}
	return bytesText(done) + " of " + bytesText(total)
}

// plan prints the header once, one line per environment and platform, and the
// line that tells what will be fetched.
func (l *lines) plan(e api.Event) {
	line := ""
	if e.Environment != "" {
		state := "ready"
		if e.New {
			state = "new"
		}
		line = fmt.Sprintf("  %-12s  %-14s %s", e.Environment, e.Platform, state)
	}
	if l.show == showNew && !l.headed && !e.New {
		if line != "" {
			l.ready = append(l.ready, line)
		}
		return
	}
	if !l.headed {
		if l.head != "" { // "": it was printed before
			fmt.Fprintln(l.w, l.head)
		}
		for _, before := range l.ready {
			fmt.Fprintln(l.w, before)
		}
		l.headed = true
	}
	if line != "" {
		fmt.Fprintln(l.w, line)
		return
	}
	if fetch := e.PackagesTotal - e.PackagesDone; fetch > 0 {
		doing, size := "fetching", ""
		if l.show == showDry {
			doing = "to fetch:"
		}
		if n := e.BytesTotal - e.BytesDone; n > 0 { // a lock need not tell sizes
			size = "  " + bytesText(n)
		}
		fmt.Fprintf(l.w, "%s %d of %d packages%s\n", doing, fetch, e.PackagesTotal, size)
	}
}

func (l *lines) close() {}
