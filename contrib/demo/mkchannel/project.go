package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/channel"
	"github.com/hpcenv/hpcenv/contrib/demo/recipe"
)

func runProject(_ context.Context, args []string) error {
	fs := flag.NewFlagSet("project", flag.ContinueOnError)
	dir := fs.String("channel", "", "folder of the channel (required)")
	out := fs.String("out", "", "folder to write to: pixi.lock, pixi.toml, and v7/, small/, x86only/ with theirs (required)")
	base := fs.String("base", "", "how locks name the channel: its http, https or file URL, or `path` (relative to each lock); default: file URL")
	if err := parse(fs, args, dir, out); err != nil {
		return err
	}
	c, err := channel.Read(*dir)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return err
	}
	demo := channel.Demo(c, []string{"python", "numpy", "six", "packaging", "ca-certificates",
		recipe.NamePrefix, recipe.NameHello, recipe.NameArch, recipe.NameEnv, recipe.NameTool}, recipe.NameGex)
	two := []channel.Environment{{Name: "default", Roots: []string{recipe.NamePrefix, recipe.NameHello}}}
	both := []string{"linux-64", "linux-aarch64"}
	for _, l := range []struct {
		sub     string
		version int
		p       channel.Project
	}{
		{".", 6, demo},
		{"v7", 7, demo},
		{"small", 6, channel.Project{Name: "hpcenv-demo-small", Environments: two, Platforms: both}},
		{"x86only", 6, channel.Project{Name: "hpcenv-demo-x86only", Environments: two, Platforms: both[:1]}},
	} {
		if err := writeProject(c, abs, filepath.Join(*out, l.sub), *base, l.version, l.p); err != nil {
			return err
		}
	}
	return nil
}

func writeProject(c *channel.Channel, channelDir, out, base string, version int, p channel.Project) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	url, loc := base, channel.Base(base)
	switch {
	case base == "path":
		rel, err := filepath.Rel(out, channelDir)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(rel, "../") {
			rel = "./" + rel
		}
		url, loc = channel.FileURL(channelDir), channel.Base(rel)
	case base == "":
		url = channel.FileURL(channelDir)
		loc = channel.Base(url)
	case !strings.Contains(base, "://"):
		return fmt.Errorf("%w: project: --base %q is neither a URL nor the word path", errUsage, base)
	}
	lock, err := p.Lock(c, version, url, loc)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "pixi.lock"), lock, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "pixi.toml"), p.Manifest(c, url), 0o644)
}
