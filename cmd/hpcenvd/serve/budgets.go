//go:build linux

package serve

import (
	"fmt"

	"github.com/hpcenv/hpcenv/daemon/budget"
	"github.com/hpcenv/hpcenv/daemon/config"
)

// budgets are the configuration's, with the numbers of users and groups.
func budgets(conf *config.Config) (budget.Rules, error) {
	r := budget.Rules{Users: map[int]budget.Limits{}, Groups: map[int]budget.Limits{}}
	for i, b := range conf.Budgets {
		key := fmt.Sprintf("budgets, entry %d", i+1)
		l := budget.Limits{MaxBytes: int64(b.MaxGB * 1e9), MaxInodes: b.MaxInodes, Prepares: b.Prepares, Channels: b.Channels}
		if err := l.Check(); err != nil {
			return r, conf.Bad(key, "%v", err)
		}
		at, look := r.Users, userNumber
		name := b.User
		if name == "*" {
			r.Everybody = &l
			continue
		}
		if name == "" {
			at, look, name = r.Groups, groupNumber, b.Group
		}
		n, err := number(conf, key, name, look)
		if err != nil {
			return r, err
		}
		if _, twice := at[n]; twice {
			return r, conf.Bad(key, "%s (number %d) has an entry already", name, n)
		}
		at[n] = l
	}
	return r, nil
}
