package cli

import (
	"fmt"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// bars shows one bar per active download and a total.
type bars struct {
	lines
	p      *mpb.Progress
	total  *mpb.Bar
	active map[string]*bar
}

type bar struct{ *mpb.Bar }

func (b *bars) report(e api.Event) {
	switch e.Type {
	case api.EventPlan:
		b.close() // what a plan says stands above all bars
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
		mpb.BarPriority(1<<30),    // below the downloads
		mpb.BarRemoveOnComplete(), // a full bar, too, is gone at the end
		mpb.PrependDecorators(label("total"), counters()),
		mpb.AppendDecorators(speed(time.Now(), e.BytesDone), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_MMSS), decor.Name(" left")))
	b.total.SetCurrent(e.BytesDone)
}

// label of a bar, in columns of its own.
func label(name string) decor.Decorator {
	return decor.Name(name, decor.WC{W: 28, C: decor.DindentRight})
}

// counters and speed say bytes as all other lines do.
func counters() decor.Decorator {
	return decor.Any(func(s decor.Statistics) string {
		return doneText(s.Current, s.Total)
	}, decor.WCSyncSpace)
}

func speed(start time.Time, from int64) decor.Decorator {
	return decor.Any(func(s decor.Statistics) string {
		seconds := time.Since(start).Seconds()
		if seconds < 0.5 {
			return "" // too early to tell
		}
		return bytesText(int64(float64(s.Current-from)/seconds)) + "/s"
	}, decor.WCSyncSpace)
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
			mpb.PrependDecorators(label(name), counters()),
			mpb.AppendDecorators(speed(time.Now(), e.Done)))}
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
