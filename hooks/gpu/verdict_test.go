package gpu

import "testing"

func TestLevels(t *testing.T) {
	for i, a := range levels {
		for j, b := range levels {
			if want := levels[max(i, j)]; worse(a, b) != want {
				t.Errorf("worse(%s, %s) is not %s", a, b, want)
			}
		}
	}
}

// TestWorstFirst: what matters most is said first, whatever the order of GPUs.
func TestWorstFirst(t *testing.T) {
	off := false
	v := Judge(Evidence{Report: &Report{State: StateOK, GPUs: []GPU{
		{Index: 0, UUID: "a", Persistence: &off},
		{Index: 1, UUID: "b", Failures: []Failure{{Call: "x", Code: 999}}},
		{Index: 2, Lost: true},
	}}})
	if v.Level != Unhealthy || len(v.Findings) != 3 || v.Findings[0].Level != Unhealthy || v.Findings[1].Level != Unknown || v.Findings[2].Level != Warn {
		t.Errorf("%+v", v)
	}
	if v.GPUs[0].Level != Warn || v.GPUs[1].Level != Unknown || v.GPUs[1].State != Healthy || v.GPUs[2].State != Lost {
		t.Errorf("%+v", v.GPUs)
	}
}
