package helper

import (
	"fmt"
	"io"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// progress shows a running preparation on the submitting terminal: one line
// that is rewritten. Elsewhere only what a log should keep is printed.
type progress struct {
	w     io.Writer
	label string
	tty   bool
	last  time.Time
	drawn bool
}

func newProgress(w io.Writer, label string, tty bool) *progress {
	return &progress{w: w, label: label, tty: tty}
}

const redrawEvery = 200 * time.Millisecond

func (p *progress) event(e api.Event) {
	switch e.Type {
	case "note", "wait":
		p.clear()
		fmt.Fprintf(p.w, "%s: hpcenv: %s\n", p.label, e.Text)
	case "published":
		p.clear()
		fmt.Fprintf(p.w, "%s: hpcenv: made %s for %s\n", p.label, e.Environment, e.Platform)
	default:
		if !p.tty || time.Since(p.last) < redrawEvery {
			return
		}
		p.last, p.drawn = time.Now(), true
		switch {
		case e.Type == "link":
			fmt.Fprintf(p.w, "\r\x1b[K%s: hpcenv: making %s for %s", p.label, e.Environment, e.Platform)
		case e.BytesTotal > 0:
			fmt.Fprintf(p.w, "\r\x1b[K%s: hpcenv: fetching %d of %d packages  %.1f/%.1f MB", p.label,
				e.PackagesDone, e.PackagesTotal, float64(e.BytesDone)/1e6, float64(e.BytesTotal)/1e6)
		}
	}
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *progress) done() { p.clear() }
