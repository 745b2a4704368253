package channel

import (
	"bytes"
	"fmt"
	"net/url"
	"sort"
	"strings"
)

// Environment is a named environment and the packages a user would ask for.
type Environment struct {
	Name  string
	Roots []string
}

// Project is what a lock and its manifest are made for.
type Project struct {
	Name         string
	Environments []Environment
	// Platforms: conda subdirs.
	Platforms []string
}

// Base says how a lock names the channel: a URL (http, https, file), or a path
// relative to the lock.
type Base string

// remote tells URLs of servers from paths and file URLs.
func (b Base) remote() bool {
	return strings.HasPrefix(string(b), "http://") || strings.HasPrefix(string(b), "https://")
}

func (b Base) location(e *Entry) string {
	return strings.TrimSuffix(string(b), "/") + "/" + e.Subdir + "/" + e.File
}

// Demo is the project of the demo: default has everything but what makes gex,
// cpu is small, gex is default and one package.
func Demo(c *Channel, cpu []string, gex string) Project {
	platforms := []string{"linux-64", "linux-aarch64"}
	var all []string
	for _, n := range c.Names() {
		// What one platform alone has (libquadmath0) comes as a dependency.
		if n != gex && c.onAll(n, platforms) {
			all = append(all, n)
		}
	}
	return Project{
		Name: "hpcenv-demo",
		Environments: []Environment{
			{"cpu", cpu}, {"default", all}, {"gex", append(append([]string{}, all...), gex)},
		},
		Platforms: platforms,
	}
}

// Manifest is the pixi.toml that goes with a project's locks. channel is the
// channel's URL.
func (p *Project) Manifest(c *Channel, channel string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "[workspace]\nname = %q\nversion = \"1.0.0\"\nchannels = [%q]\nplatforms = [%s]\n", p.Name, channel, quoted(p.Platforms))
	fmt.Fprintf(&b, "\n[activation.env]\nHPCENV_DEMO_PROJECT = %q\n", p.Name)
	shared := map[string]bool{}
	for _, e := range p.Environments {
		if e.Name == "default" {
			b.WriteString("\n[dependencies]\n")
			for _, r := range e.Roots {
				shared[r] = true
				fmt.Fprintf(&b, "%s = %q\n", key(r), spec(c, r))
			}
		}
	}
	b2 := &bytes.Buffer{}
	for _, e := range p.Environments {
		if e.Name == "default" {
			continue
		}
		own, alone := []string{}, false
		for _, r := range e.Roots {
			if !shared[r] {
				own = append(own, r)
			}
		}
		if len(e.Roots)-len(own) < len(shared) { // it lacks some of default's
			own, alone = e.Roots, true
		}
		fmt.Fprintf(&b, "\n[feature.%s.dependencies]\n", key(e.Name))
		for _, r := range own {
			fmt.Fprintf(&b, "%s = %q\n", key(r), spec(c, r))
		}
		if alone {
			fmt.Fprintf(b2, "%s = { features = [%q], no-default-feature = true }\n", key(e.Name), e.Name)
		} else {
			fmt.Fprintf(b2, "%s = [%q]\n", key(e.Name), e.Name)
		}
	}
	if b2.Len() > 0 {
		b.WriteString("\n[environments]\n")
		b.Write(b2.Bytes())
	}
	return b.Bytes()
}

// spec asks for the version that the channel has.
func spec(c *Channel, name string) string {
	for i := range c.Packages {
		if c.Packages[i].Name == name {
			return "==" + c.Packages[i].Version
		}
	}
	return "*"
}

// key is a bare TOML key where that is possible.
func key(s string) string {
	if strings.Contains(s, ".") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = fmt.Sprintf("%q", s)
	}
	sort.Strings(q)
	return strings.Join(q, ", ")
}

// FileURL is the file URL of an absolute path.
func FileURL(dir string) string { return (&url.URL{Scheme: "file", Path: dir}).String() }
