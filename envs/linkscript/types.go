package linkscript

import (
	"context"
	"errors"
	"time"
)

// Error classes. That a script fails is no error, but an Outcome.
var (
	// ErrCannotRun: a link script was allowed, or a site build declared, but there is nothing to run it with (no
	// sandbox, no node of its architecture, a build job that did not come to run).
	ErrCannotRun = errors.New("script cannot be run")
	// errFailed marks what is the script's own fault.
	errFailed = errors.New("failed")
)

// Kinds of scripts that are run.
const (
	PreLink  = "pre-link"
	PostLink = "post-link"
)

// Script is one link script.
type Script struct {
	// Package, Version and BuildNumber become PKG_NAME, PKG_VERSION and
	// PKG_BUILDNUM.
	Package     string `json:"package"`
	Version     string `json:"version"`
	BuildNumber int64  `json:"build_number"`
	// Kind is PreLink or PostLink, or one of a site's (SiteProbe, SiteBuild).
	Kind string `json:"kind"`
	// Path of the script below the prefix.
	Path string `json:"path"`
}

// Limits bound one script.
type Limits struct {
	// Time from start to end.
	Time time.Duration `json:"time"`
	// Memory of all its processes together, in bytes.
	Memory int64 `json:"memory"`
	// Processes and threads at one time.
	Processes int `json:"processes"`
	// Bytes and Inodes that it may add to the prefix and /tmp together.
	Bytes  int64 `json:"bytes"`
	Inodes int64 `json:"inodes"`
}

// DefaultLimits are far above what known scripts need (caches of fonts, icons and
// input methods; some data packages unpack gigabytes).
var DefaultLimits = Limits{Time: 10 * time.Minute, Memory: 4 << 30, Processes: 128, Bytes: 4 << 30, Inodes: 200_000}

// Task asks for one script.
type Task struct {
	Script Script `json:"script"`
	// Prefix is where the environment will be; Platform its conda subdir.
	Prefix   string `json:"prefix"`
	Platform string `json:"platform"`
	// Tree is the environment as it is now: a directory that is only read.
	Tree string `json:"-"`
	// Source is, for PreLink, a directory with the package's own files, or ""; for a
	// site's tasks one with its script and sources.
	Source string `json:"-"`
	// Scratch is an empty directory for the private copy. The caller removes it
	// when it needs the Changes no more.
	Scratch string `json:"-"`
	Limits  Limits `json:"limits"`
	// Site, for a site's tasks; Store is the cluster's store on the host that runs it.
	Site  *Site  `json:"site,omitempty"`
	Store string `json:"-"`
	// environment is where a site's task finds its environment on this host.
	environment string
}

// Change is one path that a script added, changed or removed.
type Change struct {
	// Path is relative to the prefix, clean, and never escapes.
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	Exec bool   `json:"exec,omitempty"`
	// Target is a link's text.
	Target string `json:"target,omitempty"`
	// SHA256 and Size of a file's content, which lies in the file Content of this
	// host until the Task's Scratch is removed.
	SHA256  string `json:"sha256,omitempty"`
	Size    int64  `json:"size,omitempty"`
	Content string `json:"-"`
}

// Kind of what is at a path now.
type Kind string

const (
	// File is a regular file.
	File Kind = "file"
	// Link is a symbolic link.
	Link Kind = "link"
	// Dir is a directory.
	Dir Kind = "dir"
	// Gone: there is nothing any more.
	Gone Kind = "gone"
)

// Outcome is what became of a script.
type Outcome struct {
	Script Script `json:"script"`
	// Failed says why it failed; "" = it did not. A failed script changes nothing.
	Failed string `json:"failed,omitempty"`
	// Messages are what it wrote to $PREFIX/.messages.txt for the user, Output the
	// end of what it printed; both cut.
	Messages string `json:"messages,omitempty"`
	Output   string `json:"output,omitempty"`
	// Ignored are paths that it changed and that are not its to change.
	Ignored []string `json:"ignored,omitempty"`
	// Changes, sorted by path.
	Changes []Change `json:"changes,omitempty"`
}

// Runner runs scripts.
type Runner interface {
	// CanRun tells whether scripts of this platform can be run; the error is of
	// class ErrCannotRun and says what is missing.
	CanRun(platform string) error
	// Run runs one script. Errors are of class ErrCannotRun, or the context's; a
	// script that fails is an Outcome.
	Run(ctx context.Context, t *Task) (*Outcome, error)
}
