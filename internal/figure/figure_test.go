package figure

import (
	"bytes"
	"math"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []time.Duration
		want time.Duration
	}{{[]time.Duration{5, 1, 3}, 3}, {[]time.Duration{4, 1, 3, 2}, 2}, {[]time.Duration{7}, 7}} {
		if got := Median(c.in); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestReport(t *testing.T) {
	var b bytes.Buffer
	r := NewReport(&b)
	r.AtMost("a.b", 0.43, "ratio", 0.5)
	if r.ExitCode() != 0 {
		t.Error("a met target counts as short")
	}
	r.AtMost("c", 31, "ms", 30)
	r.AtMost("d", math.NaN(), "ms", 30)
	want := "figure a.b 0.43 ratio target <= 0.5 ok\nfigure c 31.00 ms target <= 30 short\nfigure d NaN ms target <= 30 short\n"
	if b.String() != want || r.ExitCode() != 1 {
		t.Errorf("got %q, exit %d", b.String(), r.ExitCode())
	}
}
