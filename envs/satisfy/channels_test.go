package satisfy

import "testing"

// A channel may be written in many ways; a lock has one, a URL as pixi writes it.
// To take the same channel for another would refuse a good lock.
func TestSameChannel(t *testing.T) {
	for _, c := range []struct {
		wanted, locked string
		same           bool
	}{
		{"conda-forge", "https://conda.example/conda-forge/", true},
		{"conda-forge", "https://conda.example/my-conda-forge/", false},
		{"conda-forge/label/dev", "https://conda.example/conda-forge/label/dev/", true},
		{"conda-forge/label/dev", "https://conda.example/conda-forge/", false},
		{"https://user:secret@conda.example/t/tk-1/lab", "https://conda.example/lab/", true},
		{"https://Conda.example:443/lab", "https://conda.example/lab/", true},
		{"http://conda.example:80/lab", "http://conda.example/lab", true},
		{"http://conda.example:443/lab", "http://conda.example/lab", false},
		{"https://conda.example:8443/lab", "https://conda.example/lab/", false},
		{"https://conda.example/my lab", "https://conda.example/my%20lab/", true},
		{"./my channel", "file:///home/me/project/my%20channel/", true},
		{"./kanäle/eins", "file:///home/me/kan%C3%A4le/eins/", true},
		{"./my channel", "file:///home/me/project/other%20channel/", false},
		{".hidden/channel", "file:///home/me/project/.hidden/channel/", true},
		{"../../.hidden/channel", "file:///home/.hidden/channel/", true},
		{"../..hidden", "file:///home/me/..hidden", true},
		{"channel/../other", "file:///home/me/project/other/", true},
		{"channel/../other", "file:///home/me/project/channel/", false},
		{"~/channel", "file:///home/me/channel/", true},
		{"/data/my channel", "file:///data/my%20channel/", true},
		{"file:///data/my channel", "file:///data/my%20channel/", true},
		{"file:///data/my%20channel/", "file:///data/my%20channel", true},
		{"file:///data/other", "file:///data/my%20channel", false},
		{"..", "file:///home/me/", true},
	} {
		if got := sameChannel(c.wanted, c.locked); got != c.same {
			t.Errorf("%s and %s: %v", c.wanted, c.locked, got)
		}
	}
}
