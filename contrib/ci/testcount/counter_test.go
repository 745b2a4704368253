package main

import (
	"errors"
	"strings"
	"testing"
)

const passing = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestOne"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestOne","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestTwo","Output":"why it was left out\n"}
{"Action":"skip","Package":"m/a","Test":"TestTwo"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
`

const failing = `{"Action":"output","Package":"m/b","Test":"TestBad","Output":"b_test.go:7: wrong\n"}
{"Action":"fail","Package":"m/b","Test":"TestBad"}
{"Action":"fail","Package":"m/b"}
`

// A package that does not build has no test that could fail.
const broken = `{"ImportPath":"m/c","Action":"build-output","Output":"c.go:1: syntax error\n"}
{"ImportPath":"m/c","Action":"build-fail"}
{"Action":"start","Package":"m/c"}
{"Action":"output","Package":"m/c","Output":"FAIL\tm/c [build failed]\n"}
{"Action":"fail","Package":"m/c"}
`

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name, in, last string
		want           error
		shown, hidden  string
	}{
		{"all well", passing, "1 passed, 0 failed, 1 skipped", nil, "why it was left out", "noise"},
		{"a failure", passing + failing, "1 passed, 1 failed, 1 skipped", errFailed, "b_test.go:7: wrong", "noise"},
		{"no build", passing + broken, "1 passed, 1 failed, 1 skipped", errFailed, "syntax error", "noise"},
		{"nothing ran", "", "0 passed, 0 failed, 0 skipped", errNothing, "", "noise"},
		{"no events", "go: cannot find main module\n", "0 passed, 0 failed, 0 skipped", errNothing, "cannot find main module", "noise"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			err := run(false, "", nil, strings.NewReader(c.in), &out)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != c.last {
				t.Errorf("closing line %q, want %q", got, c.last)
			}
			if !strings.Contains(out.String(), c.shown) {
				t.Errorf("%q is not shown in:\n%s", c.shown, out.String())
			}
			if strings.Contains(out.String(), c.hidden) {
				t.Errorf("%q is shown in:\n%s", c.hidden, out.String())
			}
		})
	}
}

func TestLogs(t *testing.T) {
	var out strings.Builder
	if err := run(false, "TestOne", nil, strings.NewReader(passing), &out); err != nil || !strings.Contains(out.String(), "noise\n") {
		t.Errorf("%v, and the test's output is not shown in:\n%s", err, out.String())
	}
}

func TestTotalsNeedTheirFiles(t *testing.T) {
	var out strings.Builder
	if err := run(true, "", []string{t.TempDir() + "/absent.json"}, strings.NewReader(""), &out); err == nil {
		t.Fatalf("no error for results that are not there; printed %q", out.String())
	}
}
