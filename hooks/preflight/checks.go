package preflight

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// check is one thing that is looked at.
type check struct {
	// id is what its findings are called, or most of them.
	id string
	// run returns findings; none = it does not concern this environment or node. An
	// error is that of a node that cannot be read, and becomes a finding of level
	// Unknown.
	run func(ctx context.Context, in *Input) ([]Finding, error)
}

// checks in the order in which they are reported.
var checks = []check{
	{"requirements", requirements},
	{"page-size", pageSize},
	{"gpu", gpus},
	{"cuda-driver", cudaRequirements},
	{"cuda-code", cudaCode},
	{"program", program},
	{"libraries", libraries},
	{"runtime", cxxRuntime},
	{"shadowed", shadowed},
	{"modules", modules},
	{"transports", transports},
	{"ucx-settings", ucxSettings},
	{"wheel-ucx", wheelUCX},
	{"copies", copies},
	{"gasnet", gasnet},
	{"mpi-wrapper", mpiWrapper},
	{"bootstrap", bootstrap},
	{"pmi", pmi},
	{"host-id", hostID},
}

// Run makes all checks. With brief, findings that fit are left out, and so is the work
// for them where it can be saved. It takes a few milliseconds. The context bounds it even
// where a directory that the user's variables name never answers: the checks that were
// not made by then are Unknown, and what hangs is left behind.
func Run(ctx context.Context, in *Input, brief bool) *Report {
	r := new(Report)
	own := *in // what is left behind must not meet the caller's, or that of another Run
	own.process = nil
	results := make(chan []Finding)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(results)
		for _, c := range checks {
			select {
			case results <- c.make(ctx, &own):
			case <-done:
				return
			}
		}
	}()
	for i := 0; ; i++ {
		select {
		case found, more := <-results:
			if !more {
				r.Elsewhere = own.elsewhere()
				return r
			}
			for _, f := range found {
				if f.Level != Fits || !brief {
					r.Findings = append(r.Findings, f.plain())
				}
			}
		case <-ctx.Done():
			var names []string
			for _, c := range checks[i:] {
				names = append(names, c.id)
			}
			r.Findings = append(r.Findings, Finding{ID: checks[i].id, Level: Unknown, Act: User,
				Evidence: fmt.Sprintf("could not be checked in the time that there is for it (%s)", strings.Join(names, ", ")),
				Next:     "look for directories in LD_LIBRARY_PATH, and in the variables that name libraries, that are many or do not answer"})
			return r
		}
	}
}

// elsewhere are the modules that are for hardware that this node does not have.
func (in *Input) elsewhere() (paths []string) {
	p := in.process
	if p == nil || p.err != nil {
		return nil
	}
	for i := range p.modules {
		if m := &p.modules[i]; m.expected(in) {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// make runs one check.
func (c *check) make(ctx context.Context, in *Input) []Finding {
	found, err := c.guarded(ctx, in)
	if err != nil {
		found = append(found, Finding{ID: c.id, Level: Unknown, Evidence: "could not be checked: " + err.Error(), Act: Administrator,
			Next: "look at the file or directory that the message names"})
	}
	return found
}

// guarded turns a panic over a file that nobody foresaw into the check's error: what
// could not be checked keeps nothing from running.
func (c *check) guarded(ctx context.Context, in *Input) (found []Finding, err error) {
	defer func() {
		if v := recover(); v != nil {
			found, err = nil, fmt.Errorf("a fault of hpcenv: %v", v)
		}
	}()
	return c.run(ctx, in)
}

// maxText bounds each text of a finding in bytes: a search path can have a hundred
// thousand.
const maxText = 2000

// plain is a finding that a terminal can be given: names in it are what packages and
// users have called their files.
func (f Finding) plain() Finding {
	f.Evidence, f.Next, f.File = plain(f.Evidence), plain(f.Next), plain(f.File)
	packages := make([]string, len(f.Packages))
	for i, p := range f.Packages {
		packages[i] = plain(p)
	}
	if f.Packages != nil {
		f.Packages = packages
	}
	return f
}

func plain(text string) string {
	if len(text) > maxText {
		const half = maxText / 2
		text = strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, text)
}
