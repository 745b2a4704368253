package pyenv

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
)

// condaPackages are the packages of a conda interpreter, `python` first. They are
// what an @EXPLICIT list of them would be: dependencies are not known, the list has
// all.
func condaPackages(i *python.Interpreter) ([]*lockfile.CondaPackage, error) {
	fail := func(why string) error {
		return fmt.Errorf("%w: entry %s: %s", python.ErrInterpreter, i.String(), why)
	}
	var list strings.Builder
	fmt.Fprintf(&list, "# platform: %s\n@EXPLICIT\n", i.Platform)
	for _, a := range append([]python.Archive{{URL: i.URL, SHA256: i.SHA256}}, i.With...) {
		if plain, _, _ := strings.Cut(a.URL, "?"); lockfile.RedactURL(plain) != plain {
			return nil, fail("the URL " + lockfile.RedactURL(a.URL) + " holds a credential; keep that where hpcenv looks for credentials")
		}
		fmt.Fprintf(&list, "%s#%s\n", a.URL, strings.ToLower(a.SHA256))
	}
	lock, err := lockfile.Parse([]byte(list.String()))
	if err != nil {
		return nil, fmt.Errorf("%w: entry %s: %w", python.ErrInterpreter, i.String(), err)
	}
	platform := lock.Environments[0].Platforms[0]
	if err := platform.Validate(); err != nil {
		return nil, fmt.Errorf("%w: entry %s: %w", python.ErrInterpreter, i.String(), err)
	}
	first := platform.Conda[0]
	if first.Name != "python" || first.Version != i.Version || first.Subdir != i.Platform {
		return nil, fail(fmt.Sprintf("url: expected the conda package python of version %s for %s, it is %s/%s", i.Version, i.Platform, first.Subdir, first.Dist()))
	}
	for _, p := range platform.Conda {
		p.Line = 0 // a line of the list that was made here says nothing to anybody
	}
	if i.FreeThreaded {
		minor := strings.Join(strings.SplitN(i.Version, ".", 3)[:2], ".")
		first.PythonSitePackagesPath = "lib/python" + minor + "t/site-packages"
	}
	return platform.Conda, nil
}
