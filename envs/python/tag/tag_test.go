package tag_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/internal/peer"
)

const askTags = `
import json, sys
from packaging import tags, _manylinux
out = []
for q in json.load(sys.stdin):
    _manylinux._get_glibc_version = lambda: _manylinux._GLibCVersion(*q["glibc"])
    _manylinux._is_compatible = lambda arch, version: _manylinux._get_glibc_version() >= version
    platforms = [*_manylinux.platform_tags([q["machine"]]), "linux_" + q["machine"]]
    version = (3, q["minor"])
    abi = "cp3%d%s" % (q["minor"], "t" if q["free"] else "")
    all = [*tags.cpython_tags(version, [abi], platforms), *tags.compatible_tags(version, "cp3%d" % q["minor"], platforms)]
    out.append([str(t) for t in all])
json.dump(out, sys.stdout)
`

// The tags of a target and their order are those of the library `packaging`.
func TestSupportedSameAsPackaging(t *testing.T) {
	type question struct {
		Machine string `json:"machine"`
		Glibc   [2]int `json:"glibc"`
		Minor   int    `json:"minor"`
		Free    bool   `json:"free"`
	}
	var all []question
	for _, machine := range []string{"x86_64", "aarch64", "ppc64le"} {
		for _, glibc := range []int{4, 5, 16, 17, 28, 34, 39} {
			for minor := 8; minor <= 15; minor++ {
				all = append(all, question{machine, [2]int{2, glibc}, minor, false})
				if minor >= 13 {
					all = append(all, question{machine, [2]int{2, glibc}, minor, true})
				}
			}
		}
	}
	var answers [][]string
	peer.Ask(t, askTags, all, &answers)
	for i, q := range all {
		set := tag.Supported(tag.CPython{Minor: q.Minor, FreeThreaded: q.Free}, tag.LinuxPlatforms(q.Machine, tag.Glibc{Major: 2, Minor: q.Glibc[1]}))
		var ours []string
		for _, one := range set.Tags() {
			ours = append(ours, one.String())
		}
		// What packaging lists twice counts at its first place.
		var theirs []string
		seen := map[string]bool{}
		for _, one := range answers[i] {
			if !seen[one] {
				theirs = append(theirs, one)
			}
			seen[one] = true
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Errorf("%+v (-packaging +ours):\n%.2000s", q, diff)
		}
	}
	t.Logf("%d targets compared", len(all))
}

const askNames = `
import json, sys
from packaging.utils import parse_wheel_filename, parse_sdist_filename, InvalidWheelFilename, InvalidSdistFilename
wheels, sdists = [], []
q = json.load(sys.stdin)
for f in q["wheels"]:
    try:
        name, version, build, tags = parse_wheel_filename(f)
        wheels.append([name, str(version), str(build[0]) if build else "", build[1] if build else "", sorted(map(str, tags))])
    except InvalidWheelFilename: wheels.append(None)
for f in q["sdists"]:
    try:
        name, version = parse_sdist_filename(f)
        sdists.append([name, str(version)])
    except InvalidSdistFilename: sdists.append(None)
json.dump({"wheels": wheels, "sdists": sdists}, sys.stdout)
`

func makeWheelName(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	parts := []string{
		some("foo", "Foo_bar", "foo.bar", "f", "foo_", "", "ruamel.yaml", "a1", "fo o", "1x"),
		some("1.0", "1.0.0rc1", "2024.1", "1.0+cu121", "1_0", "x", "1.0.post1", ""),
	}
	if r.IntN(3) == 0 {
		parts = append(parts, some("1", "0", "007", "1abc", "10_x", "a1", "2024010112345678901234"))
	}
	parts = append(parts, some("py3", "py2.py3", "cp312", "CP310", "cp39.cp310", "py3.", "3", "graalpy311", "pp310"),
		some("none", "abi3", "cp312", "cp313t", "cp310.abi3", ".none", ""),
		some("any", "linux_x86_64", "manylinux_2_17_x86_64.manylinux2014_x86_64", "win_amd64", "macosx_11_0_arm64", "musllinux_1_2_aarch64", ""))
	if r.IntN(12) == 0 {
		parts = append(parts, "more")
	}
	return strings.Join(parts, "-") + some(".whl", ".whl", ".whl", ".whl", ".WHL", ".zip", "")
}

// Names of archives are taken apart as the library `packaging` does.
func TestNamesSameAsPackaging(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var question struct {
		Wheels []string `json:"wheels"`
		Sdists []string `json:"sdists"`
	}
	for range 5000 {
		question.Wheels = append(question.Wheels, makeWheelName(r))
		question.Sdists = append(question.Sdists, strings.Join([]string{
			[]string{"foo", "foo-bar", "Foo_Bar", "foo.bar", "f"}[r.IntN(5)], []string{"1.0", "1.0rc1", "x", "2024.1.post1", "1.0+l"}[r.IntN(5)]}, []string{"-", "-", "-", "_"}[r.IntN(4)])+[]string{".tar.gz", ".zip", ".whl"}[r.IntN(3)])
	}
	var answer struct {
		Wheels [][]any `json:"wheels"`
		Sdists [][]any `json:"sdists"`
	}
	peer.Ask(t, askNames, question, &answer)
	valid := 0
	for i, file := range question.Wheels {
		w, err := tag.ParseWheelName(file)
		// packaging takes names that begin or end with '_', '.', which no project has.
		lenient := strings.Contains(file, "_-")
		if (err == nil) != (answer.Wheels[i] != nil) && !lenient {
			t.Errorf("%q: error %v; packaging: %v", file, err, answer.Wheels[i])
		}
		if err != nil {
			if !errors.Is(err, tag.ErrFileName) {
				t.Errorf("%q: the error has no class: %v", file, err)
			}
			continue
		}
		valid++
		var tags []string
		for one := range w.Tags() {
			tags = append(tags, one.String())
		}
		slices.Sort(tags)
		ours := fmt.Sprint([]any{w.NormalizedName(), w.Version.String(), w.Build.Number, w.Build.Rest, slices.Compact(tags)})
		if theirs := fmt.Sprint(answer.Wheels[i]); ours != theirs {
			t.Errorf("%q: %s; packaging: %s", file, ours, theirs)
		}
	}
	for i, file := range question.Sdists {
		project, v, err := tag.ParseSdistName(file)
		if (err == nil) != (answer.Sdists[i] != nil) {
			t.Errorf("%q: error %v; packaging: %v", file, err, answer.Sdists[i])
		} else if err == nil && (v.String() != answer.Sdists[i][1] || strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(project)) != answer.Sdists[i][0]) {
			t.Errorf("%q: %s %s; packaging: %v", file, project, v, answer.Sdists[i])
		}
	}
	if t.Logf("%d wheel names, %d of them valid", len(question.Wheels), valid); valid < 500 {
		t.Error("too few were comparable for this test to say anything")
	}
}

// The best wheel is the one with the best tag, then the highest build tag.
func TestBest(t *testing.T) {
	set := tag.Supported(tag.CPython{Minor: 12}, tag.LinuxPlatforms("x86_64", tag.Glibc{Major: 2, Minor: 28}))
	free := tag.Supported(tag.CPython{Minor: 13, FreeThreaded: true}, tag.LinuxPlatforms("x86_64", tag.Glibc{Major: 2, Minor: 28}))
	for _, c := range []struct {
		name  string
		set   *tag.Set
		files []string
		want  int
	}{
		{"exact before stable before pure", set, []string{"a-1-py3-none-any.whl", "a-1-cp38-abi3-linux_x86_64.whl", "a-1-cp312-cp312-manylinux_2_17_x86_64.whl"}, 2},
		{"newest glibc that fits", set, []string{"a-1-cp312-cp312-manylinux_2_17_x86_64.whl", "a-1-cp312-cp312-manylinux_2_28_x86_64.whl", "a-1-cp312-cp312-manylinux_2_34_x86_64.whl"}, 1},
		{"highest build tag", set, []string{"a-1-2-py3-none-any.whl", "a-1-10-py3-none-any.whl", "a-1-py3-none-any.whl"}, 1},
		{"the first of equals", set, []string{"a-1-py2.py3-none-any.whl", "a-1-py3-none-any.whl"}, 0},
		{"another machine", set, []string{"a-1-cp312-cp312-manylinux_2_17_aarch64.whl", "a-1-cp312-cp312-win_amd64.whl", "a-1-cp312-cp312-musllinux_1_2_x86_64.whl"}, -1},
		{"no stable ABI without the lock", free, []string{"a-1-cp38-abi3-linux_x86_64.whl", "a-1-cp313-cp313-linux_x86_64.whl"}, -1},
		{"free-threaded", free, []string{"a-1-py3-none-any.whl", "a-1-cp313-cp313t-linux_x86_64.whl"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var wheels []*tag.WheelName
			for _, f := range c.files {
				w, err := tag.ParseWheelName(f)
				if err != nil {
					t.Fatal(err)
				}
				wheels = append(wheels, w)
			}
			if got := c.set.Best(append(wheels, nil)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// A name that was taken apart is made of its parts.
func FuzzWheelName(f *testing.F) {
	f.Add("Foo_bar-1.0+cu121-1abc-py2.py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl")
	f.Add("a-1-cp313-cp313t-linux_x86_64.whl")
	set := tag.Supported(tag.CPython{Minor: 12}, tag.LinuxPlatforms("x86_64", tag.Glibc{Major: 2, Minor: 28}))
	f.Fuzz(func(t *testing.T, file string) {
		w, err := tag.ParseWheelName(file)
		if err != nil {
			if !errors.Is(err, tag.ErrFileName) {
				t.Fatalf("%q: the error has no class: %v", file, err)
			}
			return
		}
		tags := strings.Join(w.Pythons, ".") + "-" + strings.Join(w.ABIs, ".") + "-" + strings.Join(w.Platforms, ".")
		rest := strings.TrimPrefix(file, w.Project+"-"+w.RawVersion+"-")
		if !strings.HasSuffix(strings.ToLower(file), "-"+tags+".whl") || rest == file {
			t.Fatalf("%q: %+v", file, w)
		}
		if (w.Build.Number == "") != (strings.Count(rest, "-") == 2) {
			t.Fatalf("%q: build tag %+v", file, w.Build)
		}
		rank, fits := set.RankWheel(w)
		for one := range w.Tags() {
			if n, ok := set.Rank(one); ok && (!fits || n < rank) {
				t.Fatalf("%q: rank %d %v, but %s has %d", file, rank, fits, one, n)
			}
		}
	})
}
