package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Places says where credentials are looked for beside what Env names.
type Places struct {
	// Env is the environment; nil = nothing is set.
	Env func(string) string
	// PixiFile is the credential file that pixi's configuration names ("" = none);
	// RATTLER_AUTH_FILE goes before it, ~/.rattler/credentials.json comes after.
	PixiFile string
	// Project is the directory whose uv.toml and pyproject.toml name indexes.
	Project string
}

// Load reads what a user's tools keep. A file that is not there is none; one that
// is there and cannot be understood is an error with its line, which quotes
// nothing of it. Of netrc, which is for many programs, the set keeps that error
// (Set.Unread).
func Load(p Places) (*Set, AWS, error) {
	env := p.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	s := &Set{}
	var err error
	named := env("RATTLER_AUTH_FILE")
	path := first(named, p.PixiFile, inHome(env, ".rattler", "credentials.json"))
	if s.named, err = load(path, readPixi); err != nil {
		return nil, AWS{}, err
	}
	if s.named == nil && named != "" {
		return nil, AWS{}, fmt.Errorf("%s: RATTLER_AUTH_FILE names it, but it is not there", named)
	}
	netrc := func(path string, data []byte) (map[string]Credential, error) { return readNetrc(path, string(data)) }
	s.hosts, s.unread = load(first(env("NETRC"), inHome(env, ".netrc")), netrc)
	if s.origins, err = readUV(env, p.Project); err != nil {
		return nil, AWS{}, err
	}
	var aws AWS
	s.aws, aws = readAWS(env)
	return s, aws, nil
}

// LoadFile reads one credential file of pixi's form.
func LoadFile(path string) (*Set, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	named, err := readPixi(path, data)
	return &Set{named: named}, err
}

// load reads a file if it is there.
func load(path string, read func(string, []byte) (map[string]Credential, error)) (map[string]Credential, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return read(path, data)
}
