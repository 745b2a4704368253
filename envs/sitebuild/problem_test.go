package sitebuild

import (
	"strings"
	"testing"
)

// What every launch tells is one line, whatever the job printed: the log has it all.
func TestProblemInOneLine(t *testing.T) {
	e := Entry{Name: "mpi", State: NotRun, Problem: "script cannot be run: the job said\nfirst\nsecond " + strings.Repeat("x", 2000) + "\nnext: much", Log: "logs/site-builds/a.log"}
	text := Problem(e, "/store", "linux-64")
	if strings.ContainsAny(text, "\n\r") || len(text) > maxShort+200 {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	for _, want := range []string{"site build mpi for linux-64 was not run: ", "the job said; first; second xxx", " …; log: /store/logs/site-builds/a.log; "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	// Without a log it is all there is.
	e.Log = ""
	if text := Problem(e, "/store", "linux-64"); !strings.HasSuffix(text, "next: much; the environment can be used without it") {
		t.Errorf("%q", text)
	}
	// One that never came to run is tried again by itself; one that failed is not.
	if got := Next(e, "0123456789"); strings.Contains(got, "--retry") || !strings.Contains(got, "hpcenv prepare") {
		t.Errorf("not run: %q", got)
	}
	e.State = Failed
	if got := Next(e, "0123456789"); !strings.Contains(got, "--retry 01234567 mpi") {
		t.Errorf("failed: %q", got)
	}
}
