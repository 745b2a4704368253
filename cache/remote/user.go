package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/hpcenv/hpcenv/cache/credential"
	"github.com/hpcenv/hpcenv/cache/mirror"
)

// Places says where a user's access is configured.
type Places struct {
	// Env is the environment; nil = nothing is set.
	Env func(string) string
	// Project is the directory of the lock; "" = none.
	Project string
	// Mirrors of the site; one of the user's for the same prefix goes before it.
	Mirrors []mirror.Rule
	// System is pixi's configuration for all users; "" = /etc/pixi/config.toml.
	System string
}

// User reads the access that a user has: mirrors and buckets as pixi's
// configuration has them, credentials as package credential finds them. Nothing
// is asked of the network. Errors quote no file's content.
func User(p Places) (*Access, error) {
	conf := pixiConf{mirrors: map[string]mirror.Rule{}, buckets: map[string]Bucket{}}
	for _, r := range p.Mirrors {
		conf.mirrors[prefixKey(r.Prefix)] = r
	}
	for _, path := range pixiFiles(p) {
		if err := conf.read(path); err != nil {
			return nil, err
		}
	}
	a := &Access{}
	for _, name := range slices.Sorted(maps.Keys(conf.buckets)) {
		a.Buckets = append(a.Buckets, conf.buckets[name])
	}
	var rules []mirror.Rule
	for _, prefix := range slices.Sorted(maps.Keys(conf.mirrors)) {
		rules = append(rules, conf.mirrors[prefix])
	}
	var err error
	if a.Mirrors, err = mirror.New(rules); err != nil {
		return nil, fmt.Errorf("[mirrors] of pixi's configuration or mirror of hpcenv.conf: %w", err)
	}
	a.Credentials, a.AWS, err = credential.Load(credential.Places{Env: p.Env, PixiFile: conf.authFile, Project: p.Project})
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	return a, nil
}

// pixiFiles lists where pixi reads its configuration, the last counting most.
func pixiFiles(p Places) []string {
	env := p.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	out := []string{p.System}
	if p.System == "" {
		out[0] = "/etc/pixi/config.toml"
	}
	home := env("HOME")
	conf, pixi := env("XDG_CONFIG_HOME"), env("PIXI_HOME")
	if filepath.IsAbs(home) {
		if !filepath.IsAbs(conf) {
			conf = filepath.Join(home, ".config")
		}
		if pixi == "" {
			pixi = filepath.Join(home, ".pixi")
		}
	}
	if filepath.IsAbs(conf) {
		out = append(out, filepath.Join(conf, "pixi", "config.toml"))
	}
	if filepath.IsAbs(pixi) {
		out = append(out, filepath.Join(pixi, "config.toml"))
	}
	if p.Project != "" {
		out = append(out, filepath.Join(p.Project, ".pixi", "config.toml"))
	}
	return out
}

// pixiConf is what several configuration files of pixi say together.
type pixiConf struct {
	mirrors  map[string]mirror.Rule // by prefix without a slash at its end
	buckets  map[string]Bucket
	authFile string
}

func prefixKey(prefix string) string { return strings.TrimRight(prefix, "/") }

func (c *pixiConf) read(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var file struct {
		Mirrors map[string][]string `toml:"mirrors"`
		Buckets map[string]struct {
			Endpoint  string `toml:"endpoint-url"`
			Region    string `toml:"region"`
			PathStyle bool   `toml:"force-path-style"`
		} `toml:"s3-options"`
		AuthFile string `toml:"authentication-override-file"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		line := 0
		var syntax *toml.DecodeError
		if errors.As(err, &syntax) {
			line, _ = syntax.Position()
		}
		return fmt.Errorf("%s:%d: pixi's configuration cannot be read; next: mend it, as pixi would say too", path, line)
	}
	for prefix, urls := range file.Mirrors {
		c.mirrors[prefixKey(prefix)] = mirror.Rule{Prefix: prefix, URLs: urls}
	}
	for name, b := range file.Buckets {
		c.buckets[name] = Bucket{Name: name, Endpoint: b.Endpoint, Region: b.Region, PathStyle: b.PathStyle}
	}
	if file.AuthFile != "" {
		c.authFile = file.AuthFile
	}
	return nil
}
