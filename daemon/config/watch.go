package config

import (
	"fmt"
	"path/filepath"
	"time"
)

// Watch is which locks are prepared when they change.
type Watch struct {
	Locks []WatchEntry `mapstructure:"locks"`
	// Every is the time between two looks.
	Every time.Duration `mapstructure:"every"`
}

// WatchEntry is one entry of Watch.Locks.
type WatchEntry struct {
	// Path of a lock, a directory or a pattern.
	Path string `mapstructure:"path"`
	// Environments by name; empty = all.
	Environments []string `mapstructure:"environments"`
}

// watchKeys are what an entry may have.
var watchKeys = []string{"path", "environments"}

// checkWatch refuses entries that name nothing that can be looked at.
func (c *Config) checkWatch() error {
	if c.Watch.Every < 10*time.Second {
		return c.places.bad("watch.every", "%v is less than ten seconds", c.Watch.Every)
	}
	for i, e := range c.Watch.Locks {
		at := fmt.Sprintf("watch.locks, entry %d", i+1)
		if !filepath.IsAbs(e.Path) {
			return c.places.bad(at, "%q is not an absolute path", e.Path)
		}
		if _, err := filepath.Match(e.Path, ""); err != nil {
			return c.places.bad(at, "%q: %v", e.Path, err)
		}
	}
	return nil
}
