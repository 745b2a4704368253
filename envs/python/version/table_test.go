package version_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/version"
)

func TestOrder(t *testing.T) {
	// PEP 440's own order, lowest first.
	ordered := []string{
		"0.9", "1.dev0", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456", "1.0a12", "1.0b1.dev456", "1.0b2", "1.0b2.post345.dev456", "1.0b2.post345",
		"1.0rc1.dev456", "1.0rc1", "1.0", "1.0+abc.5", "1.0+abc.7", "1.0+5", "1.0.post456.dev34", "1.0.post456", "1.0.15", "1.1.dev1", "20240131120000123456", "1!0.1",
	}
	for i, a := range ordered {
		for j, b := range ordered {
			v, err := version.Parse(a)
			if err != nil {
				t.Fatal(err)
			}
			w, err := version.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := sign(v.Compare(w)), sign(i-j); got != want {
				t.Errorf("%s against %s: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestContains(t *testing.T) {
	for set, versions := range map[string]map[string]bool{
		">=3.10,<4":   {"3.10": true, "3.9.18": false, "3.14.0rc1": true, "4.0a1": false, "4": false},
		"==1.2.*":     {"1.2": true, "1.2.5rc1": true, "1.20": false, "1": false},
		"~=1.4.2":     {"1.4.2": true, "1.4.10": true, "1.5": false, "1.4.1": false},
		"==1.0":       {"1.0.0": true, "1.0+cu121": true, "1.0.post1": false},
		"==1.0+cu121": {"1.0+cu121": true, "1.0": false},
		"!=1.0":       {"1.0.0": false, "1.1": true},
		">1.0":        {"1.0.post1": false, "1.0+a": false, "1.0.1": true},
		"<=1.0":       {"1.0+a": true, "1.0.post1": false},
		"===1.0":      {"1.0": true, "1.0.0": false},
		"":            {"0": true},
	} {
		s, err := version.ParseSet(set)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range versions {
			v, err := version.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Contains(v); got != want {
				t.Errorf("%q contains %s: %v", set, text, got)
			}
		}
	}
}
