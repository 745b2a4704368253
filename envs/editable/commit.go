package editable

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitTime bounds what git is given: a tree on slow storage is not worth waiting
// for.
const gitTime = 2 * time.Second

// Source says of which state of its repository a source tree was.
type Source struct {
	// Name of the project, Dir its directory.
	Name string `json:"name"`
	Dir  string `json:"dir"`
	// Commit is the full hash; "" = not known.
	Commit string `json:"commit,omitempty"`
	// Dirty: files differ from the commit, or are in none.
	Dirty bool `json:"dirty,omitempty"`
	// Unknown says why Commit or Dirty are not known; "" = they are.
	Unknown string `json:"unknown,omitempty"`
}

// Describe asks git for the state of a source tree. That it is not known is no
// error: Unknown says why.
func Describe(ctx context.Context, name, dir string) Source {
	s := Source{Name: name, Dir: dir}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if !inRepository(dir) {
		s.Unknown = "not in a git repository"
		return s
	}
	g := &git{dir: dir}
	if s.Unknown = g.harmless(ctx); s.Unknown != "" {
		return s
	}
	commit, why := g.run(ctx, "rev-parse", "--verify", "-q", "HEAD")
	if s.Unknown = why; why != "" {
		return s
	}
	s.Commit = strings.TrimSpace(commit)
	changed, why := g.changed(ctx, "normal", ".")
	s.Dirty, s.Unknown = changed != "", why
	return s
}

// changed is what differs from the commit in a path, "" = nothing. Submodules count by
// their commits alone: to compare their files git would run what they name.
func (g *git) changed(ctx context.Context, untracked, path string) (out, why string) {
	return g.run(ctx, "status", "--porcelain", "--untracked-files="+untracked, "--ignore-submodules=dirty", "--", path)
}

// inRepository looks for .git, so that git is not started for nothing.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
}

// git asks questions about a repository that need not be the user's own. Nothing
// that the repository itself names is run: no hooks, no file system monitor, no
// filters, nothing in submodules. So it does not matter to whom it belongs.
type git struct {
	dir string
	// options that switch off what the repository's own configuration names.
	options []string
}

// harmless finds the filters that the repository's configuration has, which git
// would run to compare files, and switches them off. It says why it cannot.
func (g *git) harmless(ctx context.Context) string {
	g.options = []string{"-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false"}
	for _, scope := range []string{"--local", "--worktree"} {
		out, why := g.run(ctx, "config", scope, "--includes", "--null", "--name-only", "--get-regexp", `^filter\.`)
		if why != "" && why != notFound {
			return why
		}
		for key := range strings.SplitSeq(out, "\x00") {
			if i := strings.LastIndexByte(key, '.'); i > 0 {
				g.options = append(g.options, "-c", key[:i]+".clean=", "-c", key[:i]+".process=", "-c", key[:i]+".required=false")
			}
		}
	}
	return ""
}

// notFound is what run says where git has no answer (exit code 1).
const notFound = "git has no answer"

// run runs git; why says what went wrong, "" = nothing.
func (g *git) run(ctx context.Context, args ...string) (out, why string) {
	cmd := exec.CommandContext(ctx, "git", append(append([]string{"-C", g.dir}, g.options...), args...)...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	for _, kv := range os.Environ() {
		// GIT_DIR and the like would name another repository.
		if !strings.HasPrefix(kv, "GIT_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	// Of a partial clone git would fetch what is missing, with programs that the
	// repository names: no protocol is allowed.
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return stdout.String(), ""
	case ctx.Err() != nil:
		return "", "git did not answer in time"
	case errors.Is(err, exec.ErrNotFound):
		return "", "there is no git on this host"
	case errors.As(err, &exit) && exit.ExitCode() == 1 && stderr.Len() == 0:
		return "", notFound
	}
	line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	if len(line) > 200 {
		line = line[:200]
	}
	return "", "git: " + line
}
