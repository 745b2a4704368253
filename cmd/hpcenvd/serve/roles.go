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
	number := func(what, name string, look func(string) (string, error)) (int, error) {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			return n, nil
		}
		text, err := look(name)
		if err != nil {
			return 0, conf.Bad(key+"."+what, "%v; next: correct the name, or write its number", err)
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, fmt.Errorf("%s %s has the number %q", what, name, text)
		}
		return n, nil
	}
	for _, name := range m.Users {
		n, err := number("users", name, func(name string) (string, error) {
			u, err := user.Lookup(name)
			if err != nil {
				return "", err
			}
			return u.Uid, nil
		})
		if err != nil {
			return out, err
		}
		out.Users = append(out.Users, n)
	}
	for _, name := range m.Groups {
		n, err := number("groups", name, func(name string) (string, error) {
			g, err := user.LookupGroup(name)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		})
		if err != nil {
			return out, err
		}
		out.Groups = append(out.Groups, n)
	}
	return out, nil
}
