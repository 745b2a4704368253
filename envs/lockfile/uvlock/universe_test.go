package uvlock_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
)

// universe is a made-up index of packages with a project that uses it.
type universe struct {
	r       *rand.Rand
	project pypeer.Project
	// names of the packages, and their extras.
	names []string
	all   []python.Selection
}

func (u *universe) some(all ...string) string { return all[u.r.IntN(len(all))] }

// condition is a marker, or none.
func (u *universe) condition() string {
	return u.some("", "", "", " ; sys_platform == 'linux'", " ; sys_platform == 'win32'", " ; platform_machine == 'aarch64'", " ; python_version < '3.12'",
		" ; python_full_version >= '3.11' and platform_machine != 'aarch64'", " ; implementation_name == 'pypy'", " ; platform_system != 'Linux' or python_version >= '3.13'")
}

// need names a package below n, perhaps with an extra and a version.
func (u *universe) need(n int) string {
	name := u.names[u.r.IntN(n)]
	free := name == "forked" || name == "exclusive"
	extra := ""
	if u.r.IntN(3) == 0 {
		extra = u.some("[x]", "[y]", "[x,y]")
	}
	if free {
		return name + extra
	}
	return name + extra + u.some("", "", "", "", "", "", ">=1", "<3", ">=2")
}

// fork asks for two versions of one package, each under its condition.
func (u *universe) fork() []string {
	two := [][2]string{
		{"sys_platform == 'linux'", "sys_platform != 'linux'"}, {"python_version < '3.12'", "python_version >= '3.12'"},
		{"platform_machine == 'aarch64'", "platform_machine != 'aarch64'"},
	}[u.r.IntN(3)]
	return []string{"forked==1 ; " + two[0], "forked==2 ; " + two[1]}
}

// tags of the wheels of one version.
func (u *universe) tags() []string {
	switch u.r.IntN(4) {
	case 0:
		var all []string
		for _, python := range []string{"cp310", "cp311", "cp312", "cp313"} {
			for _, machine := range []string{"x86_64", "aarch64"} {
				if u.r.IntN(8) > 0 {
					all = append(all, fmt.Sprintf("%s-%s-%s_%s", python, python, u.some("manylinux_2_17", "manylinux_2_28", "manylinux2014", "manylinux_2_12_"+machine+".manylinux2010"), machine))
				}
			}
		}
		return append(all, "cp312-cp312-win_amd64", "cp313-cp313t-manylinux_2_28_x86_64")
	case 1:
		return []string{"cp311-abi3-manylinux_2_17_x86_64", "cp311-abi3-manylinux_2_28_aarch64", "cp310-cp310-manylinux_2_28_x86_64", "py3-none-any"}
	case 2:
		return []string{"py2.py3-none-any", "1-py3-none-any", "py3-none-manylinux_2_17_x86_64"}
	}
	return []string{"py3-none-any"}
}

func (u *universe) needs(n, most int) []string {
	var all []string
	for range u.r.IntN(most + 1) {
		all = append(all, u.need(n)+u.condition())
	}
	return all
}

// index makes the packages: each depends on those before it.
func (u *universe) index() {
	for i := range 9 {
		// Nothing but the project pins versions of two of them.
		name := fmt.Sprintf("pkg-%c", 'a'+i)
		if i == 3 {
			name = "forked"
		} else if i == 4 {
			name = "exclusive"
		}
		u.names = append(u.names, name)
		for version := 1; version <= 3; version++ {
			var requires []string
			if i > 0 {
				requires = u.needs(i, 2)
				for _, x := range []string{"x", "y"} {
					if u.r.IntN(2) == 0 {
						requires = append(requires, u.need(i)+" ; extra == '"+x+"'"+u.some("", " and python_version < '3.13'", " and sys_platform == 'linux'"))
					}
				}
			}
			file := strings.ReplaceAll(u.names[i], "-", "_")
			for _, tags := range u.tags() {
				u.project.Wheels = append(u.project.Wheels, pypeer.Wheel{
					File: fmt.Sprintf("%s-%d-%s.whl", file, version, tags), Name: u.names[i], Version: fmt.Sprint(version), Requires: requires, Extras: []string{"x", "y"},
				})
			}
		}
	}
}

func list(all []string) string {
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "%q, ", one)
	}
	return "[" + b.String() + "]"
}

// body is a project's table: dependencies, extras, groups.
func (u *universe) body(name string, extras, groups []string, exclusive bool) string {
	n := len(u.names)
	deps := u.needs(n, 3)
	if name == "root" && u.r.IntN(2) == 0 {
		deps = append(deps, u.fork()...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[project]\nname = %q\nversion = \"0.1\"\nrequires-python = \">=3.10\"\ndependencies = %s\n", name, list(deps))
	b.WriteString("[project.optional-dependencies]\n")
	const pinned = "exclusive"
	for i, x := range extras {
		needs := u.needs(n, 2)
		if exclusive {
			needs = append(needs, fmt.Sprintf("%s%s==%d", pinned, u.some("", "[x]"), i+1))
		}
		fmt.Fprintf(&b, "%s = %s\n", x, list(needs))
	}
	if name == "root" && u.r.IntN(2) == 0 { // an extra that asks for another
		fmt.Fprintf(&b, "more = %s\n", list([]string{"root[cpu]" + u.some("", " ; sys_platform == 'linux'"), u.need(n)}))
	}
	b.WriteString("[dependency-groups]\n")
	for i, g := range groups {
		needs := u.needs(n, 2)
		if exclusive && i == 0 {
			needs = append(needs, pinned+"==3")
		}
		text := list(needs)
		if i > 0 && u.r.IntN(3) == 0 { // a group that has another
			text = strings.Replace(text, "[", "[{include-group = \""+groups[0]+"\"}, ", 1)
		}
		fmt.Fprintf(&b, "%s = %s\n", g, text)
	}
	return b.String()
}

const index = "[[tool.uv.index]]\nurl = \"@INDEX@\"\ndefault = true\n"

// makeUniverse makes a project of one of several kinds.
func makeUniverse(seed uint64) *universe {
	u := &universe{r: rand.New(rand.NewPCG(seed, 1))}
	u.project = pypeer.Project{Files: map[string]string{}, Lock: true}
	u.index()
	extras, groups := []string{"cpu", "gpu"}, []string{"dev", "docs", "test"}
	conflicting := u.r.IntN(2) == 0
	text := u.body("root", extras, groups, conflicting) + index
	tool := ""
	if conflicting {
		tool += "conflicts = [[{extra = \"cpu\"}, {extra = \"gpu\"}, {group = \"dev\"}]]\ndefault-groups = []\n"
	}
	if u.r.IntN(4) == 0 {
		tool += "environments = [\"sys_platform == 'linux'\", \"sys_platform == 'darwin'\"]\n"
	}
	if u.r.IntN(6) == 0 {
		tool += "environments = [\"platform_machine == 'x86_64'\"]\n"
		tool = strings.Replace(tool, "environments = [\"sys_platform == 'linux'\", \"sys_platform == 'darwin'\"]\n", "", 1)
	}
	if strings.Contains(text, "more = ") {
		extras = append(extras, "more")
	}
	u.all = selections(extras, groups)
	if u.r.IntN(3) == 0 { // a workspace
		text += "[tool.uv.workspace]\nmembers = [\"libs/*\"]\n[tool.uv.sources]\nlib-one = {workspace = true}\nlib-two = {workspace = true}\n"
		one := u.body("lib-one", []string{"cpu"}, []string{"dev", "own"}, false)
		two := u.body("lib-two", nil, []string{"docs"}, false) + "[tool.uv]\npackage = false\n"
		if u.r.IntN(2) == 0 {
			text = strings.Replace(text, "dependencies = [", "dependencies = [\"lib-one"+u.some("", "[cpu]")+"\", \"lib-two\", ", 1)
		} else if !conflicting && u.r.IntN(2) == 0 { // members that exclude one another
			one = strings.Replace(one, "dependencies = [", "dependencies = [\"exclusive==1\", ", 1)
			two = strings.Replace(two, "dependencies = [", "dependencies = [\"exclusive==2\", ", 1)
			tool += "conflicts = [[{package = \"lib-one\"}, {package = \"lib-two\"}]]\n"
		}
		u.project.Files["libs/one/pyproject.toml"] = one
		u.project.Files["libs/two/pyproject.toml"] = two
		u.all = append(u.all, python.Selection{Package: "lib-one"}, python.Selection{Package: "lib-two", Groups: []string{"docs"}}, python.Selection{AllPackages: true},
			python.Selection{AllPackages: true, Groups: []string{"own"}}, python.Selection{Package: "lib-one", Extras: []string{"cpu"}, NoDev: true}, python.Selection{Package: "lib-two", Extras: []string{"cpu"}},
			python.Selection{AllPackages: true, AllExtras: true, AllGroups: true})
		if u.r.IntN(3) == 0 { // without a project at its root
			text = index + "[dependency-groups]\ndev = [\"pkg-a\"]\ndocs = [\"pkg-b[x] ; python_version < '3.12'\"]\n[tool.uv.workspace]\nmembers = [\"libs/*\"]\n"
			if !strings.Contains(tool, "package = ") {
				tool = ""
			}
		}
	}
	if tool != "" {
		text = strings.Replace(text, "[[tool.uv.index]]", "[tool.uv]\n"+tool+"[[tool.uv.index]]", 1)
	}
	u.project.Files["pyproject.toml"] = text
	for _, s := range u.all {
		u.project.Selections = append(u.project.Selections, pypeer.Selection{Flags: pypeer.Options(s)})
	}
	return u
}

// More universes than by default: go test -args -universes=20:60 (FROM:TO)
var seeds = flag.String("universes", "0:6", "seeds of the made-up projects, FROM:TO")

// Locks that uv writes for made-up projects, with forks, exclusive extras and
// groups, workspaces: the chosen files are those of uv and packaging, and for
// some those that uv and pip install.
func TestMadeLocksSameAsUv(t *testing.T) {
	var from, to uint64
	if _, err := fmt.Sscanf(*seeds, "%d:%d", &from, &to); err != nil {
		t.Fatalf("-universes=%s: %v", *seeds, err)
	}
	targets := pypeer.Targets()
	var total count
	locks := 0
	for ; from < to; from += 10 {
		var universes []*universe
		var projects []pypeer.Project
		for seed := from; seed < min(from+10, to); seed++ {
			u := makeUniverse(seed)
			universes, projects = append(universes, u), append(projects, u.project)
		}
		for i, a := range pypeer.Ask(t, projects, targets, 8, 60) {
			seed := from + uint64(i)
			if a.Refused != "" {
				t.Logf("seed %d: uv makes no lock: %.300s", seed, a.Refused)
				continue
			}
			locks++
			total.add(universes[i].compare(t, seed, a, targets))
		}
	}
	t.Logf("%d locks; lock × platform × Python × extras and groups: %d compared (%d packages), %d refused by both; by uv pip install: %d, by pip install: %d",
		locks, total.compared, total.packages, total.refused, total.uv, total.pip)
	if locks < 3 || total.compared < 300 {
		t.Error("too few were comparable for this test to say anything")
	}
}

func (u *universe) compare(t *testing.T, seed uint64, a pypeer.Answer, targets []pypeer.Target) (n count) {
	lock, err := uvlock.Parse([]byte(a.Lock))
	if err != nil {
		t.Errorf("seed %d: %v\n%s", seed, err, a.Lock)
		return n
	}
	for j, export := range a.Exports {
		file := map[string]string{"lib-one": "libs/one/pyproject.toml", "lib-two": "libs/two/pyproject.toml"}[u.all[j].Package]
		options, err := uvlock.Defaults([]byte(u.project.Files[cmp.Or(file, "pyproject.toml")]))
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		n.add(compare(t, fmt.Sprintf("seed %d, %v", seed, u.project.Selections[j].Flags), lock, options, u.all[j], export, targets))
	}
	return n
}
