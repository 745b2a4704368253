package nearest

import "testing"

func TestOf(t *testing.T) {
	for name, want := range map[string]string{"sokcet": "socket", "stor": "store", "": "b", "socket": "socket", "zz": "b"} {
		if got := Of(name, []string{"store", "socket", "b"}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Of("x", nil); got != "" {
		t.Errorf("of none: %q", got)
	}
	if a, b := Of("ab", []string{"ac", "aa"}), Of("ab", []string{"aa", "ac"}); a != "aa" || b != "aa" {
		t.Errorf("of equals: %q, %q", a, b)
	}
}
