package marker_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/internal/peer"
)

// here is an environment as packaging takes it.
func here(r *rand.Rand) (*marker.Environment, map[string]any) {
	version := []string{"3.10.4", "3.12.0rc1", "3.13.1", "3.9.18", "3.12.4"}[r.IntN(5)]
	parts := strings.SplitN(version, ".", 3)
	e := &marker.Environment{
		ImplementationName: "cpython", ImplementationVersion: version, OSName: "posix",
		PlatformMachine: []string{"x86_64", "aarch64"}[r.IntN(2)], PlatformPythonImplementation: "CPython",
		PlatformRelease: []string{"5.14.0-427.el9.x86_64", "6.1", "4.18.0"}[r.IntN(3)], PlatformSystem: "Linux", PlatformVersion: "#1 SMP",
		PythonFullVersion: version, PythonVersion: parts[0] + "." + parts[1], SysPlatform: "linux",
		Extras: [][]string{nil, {"gpu"}, {"gpu", "io-all"}}[r.IntN(3)], DependencyGroups: [][]string{nil, {"dev"}, {"dev", "docs"}}[r.IntN(3)],
	}
	list := func(s []string) []string { return append([]string{}, s...) }
	return e, map[string]any{
		"implementation_name": e.ImplementationName, "implementation_version": e.ImplementationVersion, "os_name": e.OSName,
		"platform_machine": e.PlatformMachine, "platform_python_implementation": e.PlatformPythonImplementation,
		"platform_release": e.PlatformRelease, "platform_system": e.PlatformSystem, "platform_version": e.PlatformVersion,
		"python_full_version": e.PythonFullVersion, "python_version": e.PythonVersion, "sys_platform": e.SysPlatform,
		"extras": list(e.Extras), "dependency_groups": list(e.DependencyGroups), "extra": list(e.Extras),
	}
}

func makeComparison(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	quote := func(s string) string { q := some("'", `"`); return q + s + q }
	op := some("==", "!=", "<=", ">=", "<", ">", "~=", "===", "in", "not in", "not  in", "==", "==", ">=", "<")
	blank := some("", " ", "  ", "\t")
	if strings.Contains(op, "in") {
		blank = " "
	}
	join := func(a, b string) string {
		if r.IntN(5) == 0 {
			a, b = b, a
		}
		return a + blank + op + blank + b
	}
	kind := r.IntN(6)
	// Comparisons without meaning come, but not in most markers.
	if rare := r.IntN(10) == 0; !rare && kind == 4 && op != "!=" {
		op = "=="
	} else if !rare && kind > 1 && (op == "~=" || op == "===") {
		op = "<="
	}
	switch kind {
	case 0, 1:
		return join(some("python_version", "python_full_version", "implementation_version", "platform_release"),
			quote(some("3.9", "3.10", "3.12", "3.13", "3.*", "3.12.*", "3.10.4", "3.12.0rc1", "3.12.0", "3.12.4", "3", "x", "", "3.9 3.10", "5.14", "6.1")))
	case 2, 3:
		return join(some("sys_platform", "os_name", "platform_machine", "platform_system", "platform_python_implementation", "implementation_name",
			"os.name", "sys.platform", "platform.machine", "python_implementation", "platform_version", "platform.python_implementation", "platform.version"),
			quote(some("linux", "win32", "darwin", "posix", "nt", "x86_64", "aarch64", "arm64", "Linux", "CPython", "cpython", "pypy", "lin", "linux win32", "", "#1 SMP")))
	case 4:
		return join("extra", quote(some("gpu", "GPU", "io_all", "io.all", "none", "")))
	default:
		if r.IntN(20) == 0 {
			return join(some("extras", "dependency_groups"), quote("dev"))
		}
		return quote(some("gpu", "Io_All", "dev", "docs", "x")) + some(" in ", " not in ") + some("extras", "dependency_groups")
	}
}

func makeMarker(r *rand.Rand, depth int) string {
	n := 1 + r.IntN(3)
	parts := make([]string, n)
	for i := range parts {
		if depth > 0 && r.IntN(3) == 0 {
			parts[i] = "(" + makeMarker(r, depth-1) + ")"
		} else {
			parts[i] = makeComparison(r)
		}
	}
	text := parts[0]
	for _, p := range parts[1:] {
		text += []string{" and ", " or "}[r.IntN(2)] + p
	}
	if r.IntN(20) == 0 {
		junk := []string{"and", ")", "(", "'", "foo", "==", "or", ";", "python_versions"}
		text += " " + junk[r.IntN(len(junk))]
	}
	return text
}

const askPackaging = `
import json, sys
from packaging.markers import Marker, InvalidMarker, UndefinedComparison, UndefinedEnvironmentName
out = []
for q in json.load(sys.stdin):
    try: m = Marker(q["text"])
    except InvalidMarker: out.append(["invalid"]); continue
    e = q["env"]
    for k in ("extras", "dependency_groups", "extra"): e[k] = frozenset(e[k])
    try: out.append(["value", m.evaluate_prepared(e)])
    except (UndefinedComparison, UndefinedEnvironmentName): out.append(["undefined"])
json.dump(out, sys.stdout)
`

// Markers hold where the library `packaging` says so.
func TestSameAsPackaging(t *testing.T) {
	type question struct {
		Text string         `json:"text"`
		Env  map[string]any `json:"env"`
	}
	r := rand.New(rand.NewPCG(5, 6))
	var questions []question
	var envs []*marker.Environment
	for range 20000 {
		e, theirs := here(r)
		envs = append(envs, e)
		questions = append(questions, question{makeMarker(r, 2), theirs})
	}
	var answers [][]any
	peer.Ask(t, askPackaging, questions, &answers)
	count := map[string]int{}
	for i, q := range questions {
		m, err := marker.Parse(q.Text)
		held := false
		if err == nil {
			held, err = m.Evaluate(envs[i])
		}
		if err != nil && !errors.Is(err, marker.ErrMarker) {
			t.Errorf("%q: the error has no class: %v", q.Text, err)
		}
		theirs := answers[i][0].(string)
		count[theirs]++
		switch {
		case err != nil && theirs == "value":
			// packaging stops at what decides the result and so misses comparisons
			// without meaning behind it: those are refused here.
			count["refused here only"]++
			if !strings.ContainsAny(q.Text, "~=") && !strings.Contains(q.Text, "extra") && !strings.Contains(q.Text, "groups") {
				t.Errorf("%q is refused: %v", q.Text, err)
			}
		case err == nil && theirs != "value":
			t.Errorf("%q: %v; packaging: %s", q.Text, held, theirs)
		case err == nil && held != answers[i][1].(bool):
			t.Errorf("%q: %v; packaging: %v; %v", q.Text, held, answers[i][1], q.Env)
		}
	}
	if t.Logf("%v", count); count["value"] < 5000 || count["invalid"] < 500 {
		t.Error("too few were comparable for this test to say anything")
	}
}

// What the node's kernel says is not known: a marker that does not need it is
// decided, any other is refused.
func TestUnknown(t *testing.T) {
	env := &marker.Environment{SysPlatform: "linux", PythonVersion: "3.12"}
	for text, want := range map[string]error{
		`platform_release >= "20" and sys_platform == "darwin"`: nil,
		`sys_platform == "linux" or platform_version == "x"`:    nil,
		`platform_release >= "5"`:                               marker.ErrUnknown,
		`sys_platform == "linux" and "el9" in platform_release`: marker.ErrUnknown,
	} {
		m, err := marker.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Evaluate(env); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

// The canonical text is the same marker, and its own canonical text.
func FuzzMarker(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 40 {
		f.Add(makeMarker(r, 2))
	}
	envs := []*marker.Environment{}
	for range 6 {
		e, _ := here(r)
		envs = append(envs, e)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := marker.Parse(text)
		if err != nil {
			if !errors.Is(err, marker.ErrMarker) {
				t.Fatalf("%q: the error has no class: %v", text, err)
			}
			return
		}
		again, err := marker.Parse(m.String())
		if err != nil || again.String() != m.String() {
			t.Fatalf("%q prints as %q, which reads as %q (%v)", text, m, again, err)
		}
		for _, e := range envs {
			a, errA := m.Evaluate(e)
			b, errB := again.Evaluate(e)
			if a != b || (errA == nil) != (errB == nil) {
				t.Fatalf("%q and %q: %v %v, %v %v", text, m, a, errA, b, errB)
			}
		}
	})
}
