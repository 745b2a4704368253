//go:build linux

package serve

import (
	"fmt"
	"os/user"
	"strconv"

	"github.com/hpcenv/hpcenv/daemon/config"
	"github.com/hpcenv/hpcenv/daemon/server"
)

// access is who has which role. An account that this host does not know is an error: a
// name that was mistyped would be nobody.
func access(conf *config.Config) (a server.Access, err error) {
	if a.Administrators, err = members(conf, "administrators", conf.Administrators); err != nil {
		return a, err
	}
	a.Support, err = members(conf, "support", conf.Support)
	return a, err
}

func members(conf *config.Config, key string, m config.Members) (out server.Members, err error) {
	for _, name := range m.Users {
		n, err := number(conf, key+".users", name, userNumber)
		if err != nil {
			return out, err
		}
		out.Users = append(out.Users, n)
	}
	for _, name := range m.Groups {
		n, err := number(conf, key+".groups", name, groupNumber)
		if err != nil {
			return out, err
		}
		out.Groups = append(out.Groups, n)
	}
	return out, nil
}

// number of an account that a key has by name or number.
func number(conf *config.Config, key, name string, look func(string) (string, error)) (int, error) {
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		return n, nil
	}
	text, err := look(name)
	if err != nil {
		return 0, conf.Bad(key, "%v; next: correct the name, or write its number", err)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s %s has the number %q", key, name, text)
	}
	return n, nil
}

func userNumber(name string) (string, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return "", err
	}
	return u.Uid, nil
}

func groupNumber(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return "", err
	}
	return g.Gid, nil
}
