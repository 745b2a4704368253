// Package clientconf finds the cluster's daemon and store for programs that
// run as a user: flags, then environment, then /etc/hpcenv/hpcenv.conf; nothing
// configured means a store of the user's own.
//
// Enters: flag values, the environment, one small file of `key = value` lines.
// Leaves: a Conf. It is a leaf and costs one open, so hooks use it too.
package clientconf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Path is the file that an administrator writes.
const Path = "/etc/hpcenv/hpcenv.conf"

// ErrConf is the class of errors about the configuration itself.
var ErrConf = errors.New("configuration cannot be used")

// Conf says where the daemon and the store are.
type Conf struct {
	// Socket of hpcenvd; "" = no daemon: work in-process on Store.
	Socket string
	// Store as this host sees it.
	Store string
	// PrefixRoot of the cluster; "" where the file does not say.
	PrefixRoot string
	// Mirrors of packages: a prefix of URLs, and what stands for it, the best first.
	Mirrors []Mirror
	// Interpreters is the file that lists Pythons for locks that name none; "" = none
	// is named.
	Interpreters string
	// Daemon is where hpcenvd serves other hosts, as host:port; "" = nowhere. It counts
	// where Socket is not there. Owner is the account that it runs as, by name or number.
	Daemon, Owner string
	// From is the address that this node is to speak from; "" = what its name stands for.
	From string
	// MungeSocket is munged's; "" = MUNGE's default.
	MungeSocket string
	// EnvCheck is what --env-check is where a submission does not say it: strict, warn or
	// off; "" = strict. EnvUnknown is what becomes of a launch of which something could
	// not be checked: silent, note or refuse; "" = note.
	EnvCheck, EnvUnknown string
	// Own: Store is the user's own default, nothing was configured.
	Own bool
}

// HasDaemon tells whether a daemon is configured, here or on another host: else the store
// is the user's own.
func (c *Conf) HasDaemon() bool { return c.Socket != "" || c.Daemon != "" }

// Mirror is one line `mirror = PREFIX URL…`.
type Mirror struct {
	Prefix string
	URLs   []string
}

// Resolve returns the configuration that holds for flags socket and store (""
// = not given), the environment, and the file at path ("" = Path). The first of
// the three that names a socket or a store decides both: a user who names a
// store of their own must not end up at the cluster's daemon.
func Resolve(socket, store, path string, getenv func(string) string) (Conf, error) {
	if socket != "" || store != "" {
		return Conf{Socket: socket, Store: store}, absolute("--store", store)
	}
	socket, store = getenv("HPCENV_SOCKET"), getenv("HPCENV_STORE")
	if socket != "" || store != "" {
		return Conf{Socket: socket, Store: store}, absolute("HPCENV_STORE", store)
	}
	if path == "" {
		path = Path
	}
	c, err := Read(path)
	switch {
	case err == nil && (c.HasDaemon() || c.Store != ""):
		return c, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Conf{}, err
	}
	store, err = OwnStore(getenv)
	return Conf{Store: store, Own: err == nil}, err
}

// OwnStore is where a user's own store lies: HPCENV_STORE, or below the user's data
// directory. It need not be there.
func OwnStore(getenv func(string) string) (string, error) {
	if store := getenv("HPCENV_STORE"); store != "" {
		return store, absolute("HPCENV_STORE", store)
	}
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // the XDG rule: a relative value is ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%w: neither a daemon nor a store is configured, and HOME is not set", ErrConf)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "hpcenv"), nil
}

// absolute refuses a relative path to a store, which what names.
func absolute(what, store string) error {
	if store != "" && !filepath.IsAbs(store) {
		return fmt.Errorf("%w: %s=%s is not an absolute path; it is written into environments", ErrConf, what, store)
	}
	return nil
}

// Mirrors returns those of the file at path ("" = Path), which hold for a store of
// the user's own too; none if it is not there.
func Mirrors(path string) ([]Mirror, error) {
	if path == "" {
		path = Path
	}
	c, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Mirrors, err
}

// Interpreters returns the file that lists Pythons for a store of the user's own:
// $XDG_CONFIG_HOME/hpcenv/interpreters.yaml (~/.config), if it is there, or else the
// one that the file at path ("" = Path) names. If there is neither, found is false
// and file is where the user would write one.
func Interpreters(path string, getenv func(string) string) (file string, found bool, err error) {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		file = filepath.Join(dir, "hpcenv", "interpreters.yaml")
	} else if home := getenv("HOME"); filepath.IsAbs(home) {
		file = filepath.Join(home, ".config", "hpcenv", "interpreters.yaml")
	}
	if _, err := os.Stat(file); file != "" && !errors.Is(err, fs.ErrNotExist) {
		return file, true, nil // if it cannot be read, reading it says so
	}
	if path == "" {
		path = Path
	}
	c, err := Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	if c.Interpreters != "" {
		return c.Interpreters, true, nil
	}
	return file, false, nil
}

// Read reads a configuration file. Empty lines and lines that start with # are
// passed over; an unknown or repeated key is an error with its line.
func Read(path string) (Conf, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Conf{}, fmt.Errorf("%w: %w", ErrConf, err)
	}
	return parse(path, string(data))
}

// choices are the values of keys that have only some.
var choices = map[string][]string{
	"env_check": {"strict", "warn", "off"}, "env_unknown": {"silent", "note", "refuse"},
}

func parse(path, text string) (Conf, error) {
	var c Conf
	paths := map[string]*string{
		"socket": &c.Socket, "store": &c.Store, "prefix_root": &c.PrefixRoot, "interpreters": &c.Interpreters, "munge_socket": &c.MungeSocket,
	}
	words := map[string]*string{"daemon": &c.Daemon, "owner": &c.Owner, "from": &c.From, "env_check": &c.EnvCheck, "env_unknown": &c.EnvUnknown}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || value == "" {
			return Conf{}, fmt.Errorf("%w: %s:%d: want `key = value`", ErrConf, path, n)
		}
		if key == "mirror" {
			parts := strings.Fields(value)
			if len(parts) < 2 {
				// What stands there may hold a password.
				return Conf{}, fmt.Errorf("%w: %s:%d: want `mirror = PREFIX URL…`", ErrConf, path, n)
			}
			c.Mirrors = append(c.Mirrors, Mirror{parts[0], parts[1:]})
			continue
		}
		at, isPath := paths[key]
		if !isPath {
			at = words[key]
		}
		switch {
		case at == nil:
			return Conf{}, fmt.Errorf("%w: %s:%d: unknown key %q; known are socket, store, prefix_root, interpreters, mirror, daemon, owner, from, munge_socket, env_check, env_unknown", ErrConf, path, n, key)
		case choices[key] != nil && !slices.Contains(choices[key], value):
			return Conf{}, fmt.Errorf("%w: %s:%d: %s is one of %s, not %q", ErrConf, path, n, key, strings.Join(choices[key], ", "), value)
		case *at != "":
			return Conf{}, fmt.Errorf("%w: %s:%d: %s a second time", ErrConf, path, n, key)
		case isPath && !filepath.IsAbs(value):
			return Conf{}, fmt.Errorf("%w: %s:%d: %s must be an absolute path, have %q", ErrConf, path, n, key, value)
		}
		*at = value
	}
	return c, nil
}
