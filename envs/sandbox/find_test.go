package sandbox

import "testing"

// A job that exports nothing has no PATH; the tools are found all the same.
func TestFindWithoutPath(t *testing.T) {
	t.Setenv("PATH", "")
	path, err := find("sh")
	if err != nil || path[0] != '/' {
		t.Errorf("sh: %q, %v", path, err)
	}
	if path, err := find("no-such-program"); err == nil {
		t.Errorf("found %s", path)
	}
}
