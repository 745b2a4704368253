package preflight

import (
	"path"
	"slices"
)

// shells are programs that people give commands to, which may set variables as a job's
// script may.
var shells = []string{"ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh"}

// settable makes a finding that hangs on the variables of the process a warning where
// the process may set them before it starts a program of the environment.
func (in *Input) settable(f Finding) Finding {
	if f.Level != Unfit || !in.Script && !slices.Contains(shells, path.Base(in.Command)) {
		return f
	}
	f.Level = Warn
	f.Evidence += "; unless variables are set otherwise before its programs start, they will not run"
	return f
}

// preloaded: LD_PRELOAD may bring a library that is nowhere on the search paths.
func (in *Input) preloaded() bool {
	list, _ := in.lookup("LD_PRELOAD")
	return list != ""
}

// alone makes a finding about communication a warning to a step on one node, whose
// program may well not communicate.
func (in *Input) alone(f Finding) Finding {
	if f.Level == Unfit && in.single() {
		f.Level = Warn
		f.Evidence += "; that matters on one node only to programs that use it"
	}
	return f
}
