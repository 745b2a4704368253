package lockfile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// platformOf makes a platform of entries "name-version-build.conda depends…".
func platformOf(t *testing.T, entries ...string) *lockfile.Platform {
	t.Helper()
	refs, packages := "", ""
	for _, entry := range entries {
		location, keys, _ := strings.Cut(entry, " ")
		refs += "      - conda: https://conda.example/m/" + location + "\n"
		packages += "- conda: https://conda.example/m/" + location + "\n"
		for _, key := range strings.Split(keys, "|") {
			if key != "" {
				packages += "  " + key + "\n"
			}
		}
	}
	lock, err := lockfile.Parse([]byte("version: 6\nenvironments:\n  default:\n    channels: []\n    packages:\n      linux-64:\n" + refs + "packages:\n" + packages))
	if err != nil {
		t.Fatal(err)
	}
	return lock.Environments[0].Platforms[0]
}

func TestCheck(t *testing.T) {
	sha, md5 := strings.Repeat("0a", 32), strings.Repeat("0a", 16)
	for name, c := range map[string]struct {
		entries []string
		says    []string
	}{
		"consistent": {[]string{
			"linux-64/a-1-0.conda depends: ['B >=1', 'conda.example/m::c', 'c[version=\">=1\"]', '__glibc >=2.17', 'zz *[when=\"python>=3\"]', 'c=1', 'c>1,<2']|sha256: " + strings.ToUpper(sha) + "|md5: " + md5,
			"noarch/b-1-0.conda", "linux-64/c-1-0.tar.bz2"}, nil},
		"python there": {[]string{"noarch/p-1-py_0.conda", "linux-64/python-3.12.0-0.conda"}, nil},
		"no python":    {[]string{"noarch/p-1-py_0.conda", "noarch/q-1-py_0.conda"}, []string{"python is not there", "p-1-py_0, q-1-py_0"}},
		"twice":        {[]string{"linux-64/a-1-0.conda", "linux-64/a-2-0.conda"}, []string{"a-1-0 and a-2-0", "one package twice"}},
		"other arch":   {[]string{"linux-aarch64/a-1-0.conda"}, []string{"a-1-0", "linux-aarch64"}},
		"all at once": {[]string{"linux-64/a-1-0.conda depends: [x, 'y >1']|sha256: zz", "linux-64/b-1-0.conda md5: '00'|sha256: " + sha + "00"},
			[]string{"a-1-0 (line 10) needs x", "needs y", "sha256 of a-1-0", "md5 of b-1-0", "sha256 of b-1-0", "platform linux-64"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := platformOf(t, c.entries...).Check()
			if c.says == nil {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			wantError(t, err, c.says...)
			var problems *lockfile.ProblemsError
			if !errors.As(err, &problems) {
				t.Errorf("%T", err)
			}
		})
	}
}

func TestValidateAsksForHashes(t *testing.T) {
	p := platformOf(t, "linux-64/a-1-0.conda md5: "+strings.Repeat("0", 32))
	if err := p.Check(); err != nil {
		t.Errorf("a missing hash is no inconsistency: %v", err)
	}
	wantError(t, p.Validate(), "a-1-0 (line", "no sha256")
	if err := platformOf(t, "linux-64/a-1-0.conda sha256: "+strings.Repeat("0", 64)).Validate(); err != nil {
		t.Error(err)
	}
}
