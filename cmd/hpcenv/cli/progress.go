package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// progress shows a prepare that runs. Its report is called from one goroutine.
type progress interface {
	report(api.Event)
	// close leaves the terminal clean; nothing is reported after it.
	close()
}

// newProgress returns bars if w is a terminal, plain lines if not. With onlyNew
// nothing is shown if everything is ready.
func newProgress(w io.Writer, head string, onlyNew bool) progress {
	if f, ok := w.(*os.File); ok && drawable(f) {
		return &bars{lines: lines{w: w, head: head, onlyNew: onlyNew}, active: map[string]*bar{}}
	}
	return &lines{w: w, head: head, onlyNew: onlyNew, every: 5 * time.Second}
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
	// onlyNew: nothing is shown as long as everything is ready.
	onlyNew bool
	ready   []string
	every   time.Duration
	last    time.Time
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
		fmt.Fprintf(l.w, "fetched %d of %d packages  %s of %s\n", e.PackagesDone, e.PackagesTotal, bytesText(e.BytesDone), bytesText(e.BytesTotal))
	case api.EventNote, api.EventWait:
		fmt.Fprintln(l.w, e.Text)
	}
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
	if l.onlyNew && !l.headed && !e.New {
		if line != "" {
			l.ready = append(l.ready, line)
		}
		return
	}
	if !l.headed {
		fmt.Fprintln(l.w, l.head)
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
		fmt.Fprintf(l.w, "fetching %d of %d packages  %s\n", fetch, e.PackagesTotal, bytesText(e.BytesTotal-e.BytesDone))
	}
}

func (l *lines) close() {}

// bars shows one bar per active download and a total.
type bars struct {
	lines
	p      *mpb.Progress
	total  *mpb.Bar
	active map[string]*bar
}

type bar struct {
	*mpb.Bar
	done int64
	at   time.Time
}

func (b *bars) report(e api.Event) {
	switch e.Type {
	case api.EventPlan:
		b.plan(e)
		if e.Environment == "" && e.BytesTotal > e.BytesDone {
			b.start(e)
		}
	case api.EventFetch:
		b.fetch(e)
	case api.EventFetched:
		b.fetched(e)
	case api.EventNote, api.EventWait:
		b.print(e.Text)
	case api.EventLink:
		b.close() // downloads come before links
		b.print(fmt.Sprintf("linking %s for %s", e.Environment, e.Platform))
	}
}

// print writes a line above the bars.
func (b *bars) print(text string) {
	if b.p == nil {
		fmt.Fprintln(b.w, text)
		return
	}
	fmt.Fprintln(b.p, text)
}

func (b *bars) start(e api.Event) {
	b.p = mpb.New(mpb.WithOutput(b.w), mpb.WithWidth(64), mpb.WithRefreshRate(150*time.Millisecond))
	b.total = b.p.New(e.BytesTotal, mpb.BarStyle(),
		mpb.BarPriority(1<<30), // below the downloads
		mpb.PrependDecorators(decor.Name("total", decor.WC{W: 28, C: decor.DindentRight}), decor.Counters(decor.SizeB1000(0), "% .1f/% .1f", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.AverageSpeed(decor.SizeB1000(0), "% .0f", decor.WCSyncSpace), decor.Name(" "), decor.AverageETA(decor.ET_STYLE_MMSS), decor.Name(" left")))
	b.total.SetCurrent(e.BytesDone)
}

func (b *bars) fetch(e api.Event) {
	if b.p == nil {
		return
	}
	x := b.active[e.Package]
	if x == nil {
		name := e.Package
		if len(name) > 28 {
			name = name[:27] + "…"
		}
		x = &bar{Bar: b.p.New(e.Total, mpb.BarStyle(), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(name, decor.WC{W: 28, C: decor.DindentRight}), decor.Counters(decor.SizeB1000(0), "% .1f/% .1f", decor.WCSyncSpace)),
			mpb.AppendDecorators(decor.AverageSpeed(decor.SizeB1000(0), "% .0f", decor.WCSyncSpace)))}
		b.active[e.Package] = x
	}
	x.SetCurrent(e.Done)
	b.total.SetCurrent(e.BytesDone)
}

func (b *bars) fetched(e api.Event) {
	if b.p == nil {
		return
	}
	if x := b.active[e.Package]; x != nil {
		x.Abort(true)
		delete(b.active, e.Package)
	}
	b.total.SetCurrent(e.BytesDone)
}

func (b *bars) close() {
	if b.p == nil {
		return
	}
	for _, x := range b.active {
		x.Abort(true)
	}
	b.total.Abort(true)
	b.p.Wait()
	b.p = nil
}
