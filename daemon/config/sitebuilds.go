package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// checkSiteBuilds looks at the site's builds together; each completes itself.
func (c *Config) checkSiteBuilds(bad func(key, format string, args ...any) error) error {
	seen := map[string]bool{}
	for i := range c.SiteBuilds {
		d := &c.SiteBuilds[i]
		key := fmt.Sprintf("site_builds, entry %d", i+1)
		if err := d.Check(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrConfig, key, err)
		}
		if seen[d.Name] {
			return bad(key, "%q is the name of another entry, too", d.Name)
		}
		seen[d.Name] = true
		for _, n := range d.Networks {
			if !slices.Contains(facts.NetworkKinds(), n) {
				return bad(key, "network %q is not one of %v", n, facts.NetworkKinds())
			}
		}
		for _, n := range d.Nodes {
			if !slices.Contains(c.Platforms, n.Platform) {
				return bad(key, "%q is not one of platforms (%v)", n.Platform, c.Platforms)
			}
		}
	}
	if len(c.SiteBuilds) > 0 && !filepath.IsAbs(c.Scripts.Spool) {
		return bad("scripts.spool", "%q is not an absolute path; site_builds are handed to the build account there", c.Scripts.Spool)
	}
	return nil
}
