package server

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// Role is what a caller may be to the daemon. A Roles is a set of them.
type Role uint

// Roles is a set of roles; a route lists those that it is for.
type Roles = Role

const (
	// User is everybody with a uid: the kernel or MUNGE vouches for it.
	User Role = 1 << iota
	// Owner is the user whom the thing belongs to that is asked about (Route.Owner).
	Owner
	// NodeRoot is root of another host of the cluster, by MUNGE.
	NodeRoot
	// Support reads what is everybody's, and changes nothing (the configuration's
	// support.users and support.groups).
	Support
	// Administrator may all: root of the daemon's host, the daemon's own account, and
	// those of the configuration's administrators.users and administrators.groups.
	Administrator
	// Stranger is anybody who reaches the port, without a credential. The socket has
	// none: there the kernel tells who it is.
	Stranger
)

// names of roles as messages have them, in order.
var roleNames = []struct {
	role Role
	name string
}{
	{User, "every user"}, {Owner, "its owner"}, {NodeRoot, "root of a node"}, {Support, "the support group"},
	{Administrator, "administrators"}, {Stranger, "anybody"},
}

// String names the roles for people, e.g. "its owner and administrators".
func (r Role) String() string {
	var names []string
	for _, n := range roleNames {
		if r&n.role != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Caller is who asks, as the kernel (SO_PEERCRED) or MUNGE vouches for.
type Caller struct {
	// UID of the process that asks.
	UID int
	// GID is its primary group.
	GID int
	// Groups are all its groups, the primary one first.
	Groups []int
	// Host it asks from; invalid = the daemon's own, over the socket.
	Host netip.Addr
	// Roles it has whatever it asks for; Owner depends on that and is never among them.
	Roles Roles
}

// Is tells whether the caller has one of the roles.
func (c *Caller) Is(r Roles) bool { return c.Roles&r != 0 }

// In tells whether the caller is a member of group gid.
func (c *Caller) In(gid int) bool { return slices.Contains(c.Groups, gid) }

// String names the caller for messages and logs.
func (c *Caller) String() string {
	if c.Host.IsValid() {
		return fmt.Sprintf("uid %d of %s", c.UID, c.Host)
	}
	return fmt.Sprintf("uid %d", c.UID)
}

// Members are users and groups by their numbers.
type Members struct {
	Users, Groups []int
}

func (m Members) has(c *Caller) bool {
	return slices.Contains(m.Users, c.UID) || slices.ContainsFunc(m.Groups, c.In)
}

// Access says which users have which role.
type Access struct {
	// Administrators besides root of the daemon's host and the daemon's account. Root of
	// other hosts is one only if it is listed: who has a node has not the store.
	Administrators Members
	// Support may read what is everybody's.
	Support Members
}

// roles are those of a caller. owner is the daemon's own account.
func (a *Access) roles(c *Caller, owner int) Roles {
	r := User
	here := !c.Host.IsValid()
	if c.UID == 0 && !here {
		r |= NodeRoot
	}
	if here && (c.UID == 0 || c.UID == owner) || a.Administrators.has(c) {
		r |= Administrator
	}
	if a.Support.has(c) {
		r |= Support
	}
	return r
}

// errNobody: the kernel did not say who is on the other end.
var errNobody = api.Errorf(api.ExitFailed, "hpcenvd cannot tell who asks (SO_PEERCRED), and answers nobody whom it does not know\nnext: tell the administrator: the kernel of the daemon's host is to be asked why")
