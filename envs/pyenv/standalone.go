package pyenv

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
)

// standalonePython is a Python that comes as an archive of its own.
func standalonePython(i *python.Interpreter) (*lockfile.StandalonePython, error) {
	fail := func(why string) error {
		return fmt.Errorf("%w: entry %s: %s", python.ErrInterpreter, i.String(), why)
	}
	if lockfile.RedactURL(i.URL) != i.URL {
		return nil, fail("the URL " + lockfile.RedactURL(i.URL) + " holds a credential; keep that where hpcenv looks for credentials")
	}
	u, err := url.Parse(i.URL)
	if err != nil {
		return nil, fail("url: expected an https, http or file URL")
	}
	s := &lockfile.StandalonePython{
		Version: i.Version, Subdir: i.Platform, FreeThreaded: i.FreeThreaded,
		URL: i.URL, Local: u.Scheme == "file", FileName: path.Base(u.Path), SHA256: strings.ToLower(i.SHA256),
	}
	if !strings.HasSuffix(s.FileName, ".tar.gz") && !strings.HasSuffix(s.FileName, ".tar.zst") {
		return nil, fail(fmt.Sprintf("url: %q is no install_only archive of python-build-standalone, which is a .tar.gz or .tar.zst", s.FileName))
	}
	if strings.ContainsFunc(s.FileName, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return nil, fail(fmt.Sprintf("url: an archive cannot be called %q", s.FileName))
	}
	return s, nil
}

// install puts an interpreter into a platform of an environment.
func install(i *python.Interpreter, p *lockfile.Platform) (err error) {
	if i.Kind == python.Standalone {
		p.Python, err = standalonePython(i)
	} else {
		p.Conda, err = condaPackages(i)
	}
	return err
}
