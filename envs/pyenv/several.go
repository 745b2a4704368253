package pyenv

import (
	"errors"
	"fmt"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/python"
)

// MakeAll makes the environments that names (texts of wishes) mean: each by its name,
// and a lock that has all of them. The error tells of all that cannot be made.
func MakeAll(source target.Source, names, platforms []string, offer *Offer) (*lockfile.Lock, map[string]*Made, error) {
	made := map[string]*Made{}
	var lock *lockfile.Lock
	var faults []error
	for _, name := range names {
		wish, err := python.ParseWish(name)
		var m *Made
		if err == nil {
			m, err = Make(source, wish, platforms, offer)
		}
		if err != nil {
			faults = append(faults, about(name, err))
			continue
		}
		made[name] = m
		if lock == nil {
			lock = m.Lock
		} else {
			lock.Environments = append(lock.Environments, m.Lock.Environments...)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, nil, err
	}
	return lock, made, nil
}

// about puts an environment's name before an error, unless it is the one that needs
// no name.
func about(name string, err error) error {
	if name == python.DefaultSelection {
		return err
	}
	return fmt.Errorf("environment %q: %w", name, err)
}
