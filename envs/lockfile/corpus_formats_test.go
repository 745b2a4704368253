package lockfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// expectation is what a file of the corpus must come to: by its name, which the
// reader never sees.
type expectation struct {
	format string // what the table calls it
	is     lockfile.Format
	// refused: says are the parts that the message must have.
	refused bool
	says    []string
	class   func(error) bool
	// targets: Parse refuses it as a lock that lists files for many targets, and
	// target.Parse reads it.
	targets bool
}

var failing = map[string][]string{
	"duplicate_platform.yml":            {"line 14", "`DUPLICATE`", "line 12"},
	"duplicate_platform_definition.yml": {"line 7", `"DUPLICATE"`, "line 3"},
	"duplicate_platform_use.yml":        {"line 14", "`DUPLICATE`", "line 12"},
	"invalid_platform_name.yml":         {"line 3", `"linux 64 foobar"`},
	"invalid_platform_subdir.yml":       {"line 3", `"linux-XX"`, `"linux_64_foobar"`},
	"missing_platform.yml":              {"line 14", `"UNKNOWN"`, "environment `default`"},
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// expect goes by names; for a pixi.lock by the line that has its version.
func expect(name string, data []byte) expectation {
	base := filepath.Base(name)
	version := ""
	if m := versionLine.FindSubmatch(data); m != nil {
		version = string(m[1])
	}
	switch {
	case base == "pixi.toml":
		return expectation{format: "pixi.toml", refused: true, says: []string{"manifest", "next:"}, class: as[*lockfile.ForeignError]}
	case base == "uv.lock":
		return expectation{format: "uv.lock", is: lockfile.FormatUV, targets: true}
	case base == "pylock.invalid.toml":
		return expectation{format: "pylock.toml", is: lockfile.FormatPylock, targets: true, refused: true, says: []string{"line 1", "`lock-version`"}}
	case regexp.MustCompile(`^pylock\.([^.]+\.)?toml$`).MatchString(base):
		return expectation{format: "pylock.toml", is: lockfile.FormatPylock, targets: true}
	case strings.HasSuffix(base, ".txt"):
		return expectation{format: "@EXPLICIT", is: lockfile.FormatExplicit}
	case failing[base] != nil:
		return expectation{format: "pixi.lock " + version, is: lockfile.FormatPixi, refused: true, says: failing[base]}
	case version == "1":
		return expectation{format: "conda-lock.yml", is: lockfile.FormatCondaLock}
	case version == "2", version == "3", len(version) > 1:
		return expectation{format: "pixi.lock " + version, is: lockfile.FormatPixi, refused: true, says: []string{"version " + version, "next:", "pixi"}, class: as[*lockfile.VersionError]}
	}
	return expectation{format: "pixi.lock " + version, is: lockfile.FormatPixi}
}

// TestEveryLock: every file of the corpus is read or refused as its name says,
// and a file that is read has what its format always has.
func TestEveryLock(t *testing.T) {
	type count struct{ tried, accepted, refused int }
	counts := map[string]*count{}
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want := expect(path, data)
		c := counts[want.format]
		if c == nil {
			c = &count{}
			counts[want.format] = c
		}
		c.tried++
		is, detectErr := lockfile.Detect(data)
		if is != want.is || (detectErr == nil) != (want.is != 0) {
			t.Errorf("%s: detected as %v, %v", path, is, detectErr)
		}
		lock, err := lockfile.Parse(data)
		switch {
		case want.targets:
			if !as[*lockfile.NeedsTargetError](err) {
				t.Errorf("%s: %v", path, err)
			}
			switch _, err := target.Parse(data, nil); {
			case want.refused:
				c.refused++
				wantError(t, err, want.says...)
			case err != nil:
				t.Errorf("%s: %v", path, err)
			default:
				c.accepted++
			}
		case err == nil && want.refused:
			t.Errorf("%s: not refused", path)
		case err == nil:
			c.accepted++
			if lock.Format != want.is || len(lock.Digest) != 64 {
				t.Errorf("%s: %v, digest %q", path, lock.Format, lock.Digest)
			}
		case !want.refused:
			t.Errorf("%s: %v", path, err)
		default:
			c.refused++
			wantError(t, err, want.says...)
			if want.class != nil && !want.class(err) {
				t.Errorf("%s: another class: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for name, c := range counts {
		rows = append(rows, fmt.Sprintf("%-16s %5d %9d %20d", name, c.tried, c.accepted, c.refused))
	}
	slices.Sort(rows)
	t.Logf("format           tried  accepted  refused as expected\n%s", strings.Join(rows, "\n"))
	for _, name := range []string{"pixi.lock 4", "pixi.lock 5", "pixi.lock 6", "pixi.lock 7", "conda-lock.yml", "@EXPLICIT", "uv.lock", "pylock.toml"} {
		if counts[name] == nil || counts[name].accepted == 0 {
			t.Errorf("no %s was accepted", name)
		}
	}
}
