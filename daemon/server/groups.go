package server

import (
	"context"
	"log/slog"
	"os/user"
	"strconv"
	"sync"
	"time"
)

// groups are what this host's name service says of users' groups: MUNGE vouches for a
// process's primary group and tells of no others.
type groups struct {
	log *slog.Logger
	// look asks the name service.
	look func(uid int) ([]int, error)

	mu    sync.Mutex
	known map[int]known
}

type known struct {
	gids  []int
	until time.Time
}

const (
	// groupsFor is how long an answer counts.
	groupsFor = time.Minute
	// groupsWithin bounds a question. Who is in the dark sees less.
	groupsWithin = 5 * time.Second
)

func newGroups(log *slog.Logger) *groups {
	return &groups{log: log, look: lookGroups, known: map[int]known{}}
}

// of are the groups of a process of uid whose primary group is gid, that one first.
func (g *groups) of(ctx context.Context, uid, gid int) []int {
	out := []int{gid}
	for _, more := range g.named(ctx, uid) {
		if more != gid {
			out = append(out, more)
		}
	}
	return out
}

func (g *groups) named(ctx context.Context, uid int) []int {
	now := time.Now()
	g.mu.Lock()
	k, ok := g.known[uid]
	for id, k := range g.known {
		if now.After(k.until) {
			delete(g.known, id)
		}
	}
	g.mu.Unlock()
	if ok && now.Before(k.until) {
		return k.gids
	}
	type answer struct {
		gids []int
		err  error
	}
	answered := make(chan answer, 1)
	go func() { // a name service may hang
		gids, err := g.look(uid)
		answered <- answer{gids, err}
	}()
	ctx, cancel := context.WithTimeout(ctx, groupsWithin)
	defer cancel()
	select {
	case a := <-answered:
		if a.err != nil {
			g.log.Warn("a user's groups are not known here", "uid", uid, "err", a.err)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.known[uid] = known{a.gids, now.Add(groupsFor)}
		return a.gids
	case <-ctx.Done():
		g.log.Warn("the name service does not tell a user's groups", "uid", uid, "err", ctx.Err())
		return nil
	}
}

func lookGroups(uid int) ([]int, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return nil, err
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, err
	}
	var out []int
	for _, id := range ids {
		gid, err := strconv.Atoi(id)
		if err != nil {
			return nil, err
		}
		out = append(out, gid)
	}
	return out, nil
}
