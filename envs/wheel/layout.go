package wheel

import "path"

// Layout is where a Python has what. All paths but Prefix are relative to it.
type Layout struct {
	// Prefix is the environment's absolute path.
	Prefix string
	// Python is major.minor, e.g. "3.12".
	Python string
	// Site is site-packages; in conda environments both purelib and platlib.
	Site string
	// Include is the directory of Python's headers.
	Include string
	// Interpreter is the program that scripts run.
	Interpreter string
}

// NewLayout is the layout of a conda environment. site is site-packages relative to
// the prefix, which differs from lib/pythonX.Y/site-packages in free-threaded
// builds.
func NewLayout(prefix, python, site string) Layout {
	l := Layout{Prefix: prefix, Python: python, Site: site, Include: "include/python" + python, Interpreter: "bin/python" + python}
	if path.Base(site) == "site-packages" {
		l.Include = "include/" + path.Base(path.Dir(site))
	}
	return l
}

// interpreter is the absolute path of the program that scripts run.
func (l Layout) interpreter() string { return l.Prefix + "/" + l.Interpreter }
