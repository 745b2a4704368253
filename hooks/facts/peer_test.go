package facts_test

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/internal/peer"
)

// detect answers, for each environment, with the virtual packages that rattler
// finds on this host.
const detect = `
import json, os, sys
from rattler import VirtualPackage, VirtualPackageOverrides
answers = []
for env in json.load(sys.stdin):
    for name in [n for n in os.environ if n.startswith("CONDA_OVERRIDE_")]:
        del os.environ[name]
    os.environ.update(env)
    found = [v.into_generic() for v in VirtualPackage.detect(VirtualPackageOverrides.from_env())]
    answers.append(" ".join(sorted(f"{v.name.normalized}={v.version}={v.build_string}" for v in found)))
json.dump(answers, sys.stdout)
`

// TestVirtualsAsRattler compares this host's virtual packages with those that
// rattler finds, as they are and with every way of overriding them.
func TestVirtualsAsRattler(t *testing.T) {
	cases := []map[string]string{
		{},
		{"CUDA": "12.2"},
		{"CUDA": ""},
		{"CUDA": "12.2", "CUDA_ARCH": "9.0"},
		{"CUDA": "12.2", "CUDA_ARCH": ""},
		{"CUDA": "", "CUDA_ARCH": "9.0"},
		{"CUDA_ARCH": "9.0"},
		{"GLIBC": "2.17"},
		{"GLIBC": ""},
		{"LINUX": "4.18"},
		{"LINUX": "4.18.0-1"},
		{"LINUX": ""},
		{"ARCHSPEC": "zen2"},
		{"ARCHSPEC": "neoverse_v2"},
		{"ARCHSPEC": ""},
		{"GLIBC": "", "LINUX": "", "ARCHSPEC": "", "CUDA": ""},
	}
	var question []map[string]string
	for _, c := range cases {
		env := map[string]string{}
		for name, value := range c {
			env["CONDA_OVERRIDE_"+name] = value
		}
		question = append(question, env)
	}
	var theirs []string
	peer.Ask(t, detect, question, &theirs)
	if len(theirs) != len(cases) {
		t.Fatalf("%d answers to %d questions", len(theirs), len(cases))
	}
	f := facts.Read(t.Context(), "/")
	for i, env := range question {
		ours := virtuals(f, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		if ours != theirs[i] {
			t.Errorf("%v: %s, rattler has %s", cases[i], ours, theirs[i])
		}
	}
	if !strings.Contains(theirs[0], "__unix") {
		t.Errorf("rattler finds %q here", theirs[0])
	}
}
