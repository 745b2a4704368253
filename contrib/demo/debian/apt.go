package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrApt is the class of failures of apt and dpkg: not installed, no network, a
// package that this system's sources do not have.
var ErrApt = errors.New("Debian packages cannot be had")

// Apt is a private apt state.
type Apt struct {
	dir   string
	archs []string
	opts  []string
}

// Open makes (or reuses) a private apt state below dir, for these Debian
// architectures ("amd64", "arm64"). The sources are those of this machine that
// Debian publishes, for every architecture.
func Open(ctx context.Context, dir string, archs []string) (*Apt, error) {
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("private apt state: %w", err)
		}
	}
	// An empty dpkg status: nothing counts as installed, no system package is held.
	if err := os.WriteFile(filepath.Join(dir, "status"), nil, 0o644); err != nil {
		return nil, fmt.Errorf("private apt state: %w", err)
	}
	a := &Apt{dir: dir, archs: archs, opts: []string{
		"-q",
		"-o", "Dir::State=" + filepath.Join(dir, "state"),
		"-o", "Dir::State::status=" + filepath.Join(dir, "status"),
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		// Images for containers switch this cache off, and each call would build it anew.
		"-o", "Dir::Cache::pkgcache=pkgcache.bin", "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin",
		"-o", "Dir::Etc::SourceList=" + filepath.Join(dir, "sources.list"),
		"-o", "Dir::Etc::SourceParts=-",
		"-o", "APT::Architecture=" + archs[0],
		"-o", "APT::Sandbox::User=root",
		"-o", "Acquire::Languages=none",
		"-o", "Acquire::Retries=3",
	}}
	for _, arch := range archs {
		a.opts = append(a.opts, "-o", "APT::Architectures::="+arch)
	}
	return a, a.writeSources(ctx)
}

// keyrings are where Debian keeps the keys of its archive, newest place first.
var keyrings = []string{"/usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share/keyrings/debian-archive-keyring.gpg"}

// writeSources copies the machine's Debian sources, one line for each suite and
// component, for all of a's architectures. Sources of other publishers need not
// have both architectures and are left out.
func (a *Apt) writeSources(ctx context.Context) error {
	list, err := run(ctx, "", "apt-get", "indextargets", "--format", "$(REPO_URI)|$(RELEASE)|$(COMPONENT)",
		"Created-By: Packages", "Origin: Debian")
	if err != nil {
		return err
	}
	signed := ""
	for _, k := range keyrings {
		if _, err := os.Stat(k); err == nil {
			signed = " signed-by=" + k
			break
		}
	}
	lines := map[string]bool{}
	for _, l := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		if f := strings.Split(l, "|"); len(f) == 3 {
			lines[fmt.Sprintf("deb [arch=%s%s] %s %s %s\n", strings.Join(a.archs, ","), signed, f[0], f[1], f[2])] = true
		}
	}
	if len(lines) == 0 {
		return fmt.Errorf("%w: apt knows no source published by Debian on this machine; on Debian run `apt-get update` first", ErrApt)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), []byte(strings.Join(sorted(lines), "")), 0o600); err != nil {
		return fmt.Errorf("private apt state: %w", err)
	}
	return nil
}

// Update fetches the indexes.
func (a *Apt) Update(ctx context.Context) error {
	_, err := run(ctx, "", "apt-get", append(a.opts, "-o", "APT::Update::Error-Mode=any", "update")...)
	return err
}

// Show reads the newest stanza of each package for one architecture; a name
// that apt does not have is absent from the answer.
func (a *Apt) Show(ctx context.Context, arch string, names []string) (map[string]*Stanza, error) {
	args := append(append([]string{}, a.opts...), "show", "--no-all-versions")
	for _, n := range names {
		// apt counts packages of architecture "all" to the first architecture only.
		args = append(args, n+":"+arch, n)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "apt-cache", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// apt-cache exits 100 if one of the names is unknown, and prints the others.
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 100 && ctx.Err() == nil) {
		return nil, fmt.Errorf("%w: apt-cache show: %w: %s", ErrApt, err, stderr.Bytes())
	}
	found, err := parseStanzas(&stdout)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Stanza, len(found))
	for _, s := range found {
		if out[s.Package] == nil && (s.Architecture == arch || s.Architecture == "all") {
			out[s.Package] = s
		}
	}
	return out, nil
}

// Download fetches packages and returns their files by stanza. What is there
// with the right sha256 is kept.
func (a *Apt) Download(ctx context.Context, list []*Stanza) (map[*Stanza]string, error) {
	debs := filepath.Join(a.dir, "debs")
	out := make(map[*Stanza]string, len(list))
	var want []string
	for _, s := range list {
		out[s] = filepath.Join(debs, s.fileName())
		ok, err := hasSum(out[s], s.SHA256)
		if err != nil {
			return nil, err
		}
		if !ok {
			want = append(want, s.aptName())
		}
	}
	if len(want) > 0 {
		if _, err := run(ctx, debs, "apt-get", append(append([]string{}, a.opts...), append([]string{"download"}, want...)...)...); err != nil {
			return nil, err
		}
	}
	for _, s := range list {
		ok, err := hasSum(out[s], s.SHA256)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("%w: %s is missing or has another sha256 than the index says (%s) after apt-get download", ErrApt, out[s], s.SHA256)
		}
	}
	return out, nil
}

// run runs a program in dir and returns its standard output.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w\n%s", ErrApt, name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}
