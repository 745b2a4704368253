package pylock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pylock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// question is a file with what is asked of it.
type question struct {
	name, text string
	selections []python.Selection
}

func (q question) project(defaults []string) pypeer.Project {
	p := pypeer.Project{Pylock: &q.text}
	for _, s := range q.selections {
		one := pypeer.Selection{Flags: []string{}, Extras: s.Extras}
		if len(s.Groups) > 0 || s.NoDefaultGroups {
			// For the library the groups asked for replace the default ones.
			one.Groups = append([]string{}, s.Groups...)
			if !s.NoDefaultGroups {
				one.Groups = append(one.Groups, defaults...)
			}
		}
		p.Selections = append(p.Selections, one)
	}
	return p
}

// compare asks the library `packaging` about every file, selection and target.
func compare(t *testing.T, questions []question) (compared, refused int) {
	t.Helper()
	targets := pypeer.Targets()
	targets = append(targets, pypeer.Target{Machine: "x86_64", Python: "3.13.1", Glibc: [2]int{2, 17}, Free: true})
	var projects []pypeer.Project
	for _, q := range questions {
		var defaults []string
		if l, err := pylock.Parse([]byte(q.text)); err == nil {
			defaults = l.DefaultGroups
		}
		projects = append(projects, q.project(defaults))
	}
	for i, a := range pypeer.Ask(t, projects, targets, 0, 0) {
		q := questions[i]
		lock, parseErr := pylock.Parse([]byte(q.text))
		for j, s := range q.selections {
			for k, target := range targets {
				theirs := a.Exports[j].Chosen[k]
				var ours []*lockfile.PyPIPackage
				err := parseErr
				if err == nil {
					ours, err = lock.Select(target.Ours(t), s)
				}
				if err != nil && !errors.Is(err, lockfile.ErrLock) && !errors.Is(err, python.ErrSelection) {
					t.Errorf("%s: the error has no class: %v", q.name, err)
				}
				switch {
				case err != nil && theirs.Refused != "":
					refused++
				case err != nil:
					t.Errorf("%s, %+v, %+v: refused: %v; packaging takes\n%s\n%s", q.name, s, target, err, theirs.Text(), q.text)
				case theirs.Refused != "":
					t.Errorf("%s, %+v, %+v: taken; packaging refuses: %s\n%s", q.name, s, target, theirs.Refused, q.text)
				default:
					compared++
					if diff := cmp.Diff(withoutSourceVersions(theirs), pypeer.Text(ours)); diff != "" {
						t.Errorf("%s, %+v, %+v (-packaging +ours):\n%s", q.name, s, target, diff)
					}
				}
			}
		}
	}
	return compared, refused
}

// withoutSourceVersions leaves out what pypeer.Text leaves out.
func withoutSourceVersions(c pypeer.Chosen) string {
	for i := range c.Chosen {
		if c.Chosen[i][2] == "directory" {
			c.Chosen[i][1] = ""
		}
	}
	return c.Text()
}

// Every pylock.toml of the shared data is read, and refused, as `packaging` does.
func TestRealFilesSameAsPackaging(t *testing.T) {
	dir := filepath.Join(testdata.Shared(t), "data", "locks")
	var questions []question
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasPrefix(d.Name(), "pylock") {
			return err
		}
		data, err := os.ReadFile(path)
		questions = append(questions, question{d.Name(), string(data), []python.Selection{{}, {NoDev: true}, {AllExtras: true, AllGroups: true}, {Extras: []string{"lost"}}}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	compared, refused := compare(t, questions)
	t.Logf("%d files; file × platform × Python × selection: %d compared, %d refused by both", len(questions), compared, refused)
	if len(questions) < 10 || compared < 100 {
		t.Error("too few were comparable for this test to say anything")
	}
}

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// rarely is the usual text, and now and then one of the others.
func rarely(r *rand.Rand, usual string, others ...string) string {
	if r.IntN(10) > 0 {
		return usual
	}
	return others[r.IntN(len(others))]
}

// make1 makes a file that uses all of the standard, now and then wrongly.
func make1(r *rand.Rand) string {
	some := func(all ...string) string { return all[r.IntN(len(all))] }
	rare := func(text string) string {
		if r.IntN(60) == 0 {
			return text
		}
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "lock-version = %s\n", some(`"1.0"`, `"1.0"`, `"1.0"`, rarely(r, `"1.0"`, `"1.1"`, `"1"`, `"2.0"`, `1`, `"x"`)))
	b.WriteString("created-by = \"test\"\n")
	b.WriteString(some("", "", "requires-python = \">=3.10\"\n", "requires-python = \">=3.11,<3.13\"\n", rare("requires-python = \"x\"\n")))
	b.WriteString(some("", "", "environments = [\"sys_platform == 'linux'\"]\n", "environments = [\"platform_machine == 'x86_64'\", \"python_version < '3.11'\"]\n", rare("environments = []\n"), rare("environments = [\"x\"]\n")))
	b.WriteString("extras = [\"gpu\", \"io-all\"]\ndependency-groups = [\"dev\", \"Docs\"]\n")
	b.WriteString(some("", "default-groups = [\"dev\"]\n", "default-groups = [\"main\"]\n"))
	if r.IntN(20) == 0 {
		return b.String() + some("", "packages = []\n", "packages = {}\n")
	}
	names := []string{"foo", "bar", "baz-x", "qux"}
	for range 1 + r.IntN(4) {
		name := names[0]
		if names = names[1:]; r.IntN(40) == 0 {
			name = some("Foo", "foo", "bar")
		}
		file := strings.ReplaceAll(name, "-", "_")
		fmt.Fprintf(&b, "\n[[packages]]\nname = %q\n", name)
		b.WriteString(some("version = \"1.0\"\n", "version = \"1.0\"\n", "version = \"1\"\n", "", rare("version = \"x\"\n")))
		b.WriteString(some("", "", "marker = \"'gpu' in extras\"\n", "marker = \"'docs' in dependency_groups\"\n", "marker = \"'main' in dependency_groups or 'IO_all' in extras\"\n",
			"marker = \"python_version >= '3.12'\"\n", "marker = \"platform_machine == 'aarch64' and 'dev' not in dependency_groups\"\n", rare("marker = \"x\"\n"), rare("marker = 1\n")))
		b.WriteString(some("", "", "requires-python = \">=3.9\"\n", rare("requires-python = \"<3.13\"\n")))
		b.WriteString(some("", "index = \"https://pypi.example/simple\"\n"))
		const sha = "hashes = {sha256 = \"" + digest + "\"}"
		hashes := some(sha, "hashes = {sha256 = \""+digest+"\", md5 = \"d41d8cd98f00b204e9800998ecf8427e\"}", rarely(r, sha, "hashes = {}", "x = 1"))
		place := func(file string) string {
			return some(fmt.Sprintf("url = \"https://files.pypi.example/a/%s\"", file), fmt.Sprintf("path = \"../w/%s\"", file), fmt.Sprintf("name = %q, url = \"https://files.pypi.example/x\"", file),
				fmt.Sprintf("path = \"w/%s\", url = \"https://files.pypi.example/other\"", file), rare("size = 1")+fmt.Sprintf(" url = \"file:///w/%s\"", file)) + some("", ", size = 12", ", upload-time = 2024-01-02T03:04:05Z", rare(", size = \"1\"")) + ", " + hashes
		}
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "vcs = {type = \"git\", url = \"https://git.example/r\", commit-id = \"%s\"%s}\n", strings.Repeat("a1", 20), some("", ", requested-revision = \"v1\"", ", subdirectory = \"s\""))
		case 1:
			fmt.Fprintf(&b, "directory = {path = \"%s\"%s}\n", some(".", "../x"), some("", ", editable = true", ", subdirectory = \"s\""))
		case 2:
			fmt.Fprintf(&b, "archive = {%s}\n", place(some(file+"-1.0.tar.gz", file+"-1.0-py3-none-any.whl")))
		case 3:
			fmt.Fprintf(&b, "sdist = {%s}\n", place(file+some("-1.0.tar.gz", "-1.0.zip", rare("-2.0.zip"), "-1.0.tar.gz")))
		default:
			b.WriteString("wheels = [\n")
			for range 1 + r.IntN(4) {
				tags := some("py3-none-any", "py2.py3-none-any", "cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64", "cp312-cp312-manylinux_2_28_x86_64", "cp310-abi3-manylinux_2_28_aarch64",
					"cp313-cp313t-manylinux_2_17_x86_64", "cp311-cp311-win_amd64", "py3-none-manylinux_2_34_x86_64", "cp313-cp313-manylinux_2_17_aarch64")
				fmt.Fprintf(&b, "  {%s},\n", place(file+"-1.0-"+tags+".whl"))
			}
			b.WriteString("]\n")
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "sdist = {%s}\n", place(file+"-1.0.tar.gz"))
			}
		}
		b.WriteString(rare("directory = {path = \".\"}\n") + rare("[packages.tool]\nx = 1\n"))
	}
	return b.String()
}

// Made-up files that use the whole standard: the chosen files are packaging's.
func TestMadeFilesSameAsPackaging(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var questions []question
	for i := range 100 {
		questions = append(questions, question{fmt.Sprintf("file %d", i), make1(r), []python.Selection{
			{}, {Extras: []string{"gpu"}}, {Extras: []string{"io-all"}, Groups: []string{"docs"}}, {NoDefaultGroups: true}, {Groups: []string{"lost"}}}})
	}
	compared, refused := compare(t, questions)
	t.Logf("%d files; file × platform × Python × selection: %d compared, %d refused by both", len(questions), compared, refused)
	if compared < 1000 || refused < 500 {
		t.Error("too few were comparable for this test to say anything")
	}
}
