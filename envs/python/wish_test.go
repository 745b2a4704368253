package python_test

import (
	"errors"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python"
)

func TestWishes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "default",
		"default":                               "default",
		"python=3.12":                           "python=3.12",
		"extra=GPU,python=3.12,group=dev":       "python=3.12,extra=gpu,group=dev",
		"python=cpython@3.12.4":                 "python=3.12.4",
		"python=3.13t":                          "python=3.13t",
		"python=3.13+freethreaded,no-dev":       "python=3.13t,no-dev",
		"python=>=3.11,python=<3.13,member":     "python=>=3.11,python=<3.13,package=member",
		"python===3.12":                         "python===3.12",
		"python===3.12.*":                       "python=3.12",
		"python=3.14.0rc1":                      "python=3.14.0rc1",
		"package=a_b,no-default-groups,group=x": "package=a-b,no-default-groups,group=x",
	} {
		w, err := python.ParseWish(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := w.String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		again, err := python.ParseWish(w.String())
		if err != nil || again.String() != want || again.Python.Versions.String() != w.Python.Versions.String() || again.Python.FreeThreaded != w.Python.FreeThreaded {
			t.Errorf("%q: again it is %q, %v", text, again.String(), err)
		}
	}
	for text, class := range map[string]error{
		"python=":               python.ErrInterpreter,
		"python=pypy3.10":       python.ErrInterpreter,
		"python=3.12,nosuch=1":  python.ErrSelection,
		"extra=":                python.ErrSelection,
		"python=3.12,only-them": nil, // a member of that name
	} {
		if _, err := python.ParseWish(text); !errors.Is(err, class) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzWish: whatever is read has a text that is read as the same.
func FuzzWish(f *testing.F) {
	for _, s := range []string{"default", "python=3.12,extra=gpu", "python=>=3.11,python=!=3.12.1", "python=3.13t", "python=~=3.11", "python= 3.12 ", "a,python===3.12.*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := python.ParseWish(text)
		if err != nil {
			if !errors.Is(err, python.ErrSelection) && !errors.Is(err, python.ErrInterpreter) {
				t.Fatalf("%q: an error of no class: %v", text, err)
			}
			return
		}
		name := w.String()
		again, err := python.ParseWish(name)
		if err != nil || again.String() != name || again.Python.FreeThreaded != w.Python.FreeThreaded || len(again.Python.Versions) != len(w.Python.Versions) {
			t.Fatalf("%q is %q, which is read as %q, %v", text, name, again.String(), err)
		}
	})
}
