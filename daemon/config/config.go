// Package config reads what an administrator wrote for hpcenvd.
//
// Enters: a YAML file, HPCENVD_* variables, flags (the later wins). Leaves: a
// checked Config. An unknown key is an error with its line and the nearest key
// there is; nothing is ignored.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Path is the file that is read unless --config names another; it may be
// absent.
const Path = "/etc/hpcenv/hpcenvd.yaml"

// CUDATablePath is where a site's own table of drivers, toolkits and GPUs lies.
const CUDATablePath = "/etc/hpcenv/cuda.txt"

// ErrConfig is the class of all errors of this package.
var ErrConfig = errors.New("configuration cannot be used")

// Config of hpcenvd.
type Config struct {
	// places of the keys that were said.
	places places

	// Store is the store's directory as this host sees it.
	Store string `mapstructure:"store"`
	// Socket of the API.
	Socket string `mapstructure:"socket"`
	// PrefixRoot is where environments appear on every node; written once into
	// the store's FORMAT.
	PrefixRoot string `mapstructure:"prefix_root"`
	// Platforms that environment ids cover; written once into FORMAT.
	Platforms []string `mapstructure:"platforms"`
	// Clusters that are served; written once into FORMAT.
	Clusters []string `mapstructure:"clusters"`
	// AllowRoot lets the daemon run as root.
	AllowRoot bool `mapstructure:"allow_root"`
	// ByteCode: environments get compiled Python files (needs bubblewrap).
	ByteCode bool `mapstructure:"byte_code"`
	// Delivery is how environments are published: tree, image (needs mksquashfs) or both.
	Delivery string `mapstructure:"delivery"`
	// BuildDir is where environments are built and packages lie unpacked if Delivery is
	// image: a directory of this host's own disk.
	BuildDir string `mapstructure:"build_dir"`
	// Index is the file of the index, on this host's own disk; "" = index.db beside
	// BuildDir. IndexPath tells.
	Index string `mapstructure:"index"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `mapstructure:"log_level"`

	// Interpreters are the Pythons that locks get which name none (uv.lock,
	// pylock.toml), and Glibc is what their wheels may ask for: that of the nodes, of
	// the oldest of them.
	Interpreters []python.Interpreter `mapstructure:"interpreters"`
	Glibc        string               `mapstructure:"glibc"`

	Fetch     Fetch     `mapstructure:"fetch"`
	Inventory Inventory `mapstructure:"inventory"`
	Nodes     Nodes     `mapstructure:"nodes"`
	Selection Selection `mapstructure:"selection"`
	Scripts   Scripts   `mapstructure:"scripts"`
	Tmp       Tmp       `mapstructure:"tmp"`
	// Administrators may use hpcenv admin, Support may see what is everybody's.
	Administrators Members `mapstructure:"administrators"`
	Support        Members `mapstructure:"support"`
	// Budgets of users and groups.
	Budgets []Budget `mapstructure:"budgets"`
	// GC is collection.
	GC GC `mapstructure:"gc"`
	// Watch is which locks are prepared when they change.
	Watch Watch `mapstructure:"watch"`
	// Metrics for Prometheus.
	Metrics Metrics `mapstructure:"metrics"`
	// SiteBuilds are what is compiled on nodes for environments; they run by
	// Scripts.Spool.
	SiteBuilds []sitebuild.Declaration `mapstructure:"site_builds"`
}

// Scripts says which packages' link scripts are run, and how.
type Scripts struct {
	// Allow lists packages by the whole URL of their channel and their name.
	Allow []ScriptRule `mapstructure:"allow"`
	// Spool is where scripts for JobPlatforms are handed to the build account; Wait is
	// how long its jobs may wait for a node.
	Spool        string        `mapstructure:"spool"`
	JobPlatforms []string      `mapstructure:"job_platforms"`
	Wait         time.Duration `mapstructure:"wait"`
	// OnFailure is "degrade" (the environment is made and marked) or "refuse".
	OnFailure string `mapstructure:"on_failure"`
	// Time, MemoryMB, Processes, DiskMB and Files bound one script.
	Time      time.Duration `mapstructure:"time"`
	MemoryMB  int64         `mapstructure:"memory_mb"`
	Processes int           `mapstructure:"processes"`
	DiskMB    int64         `mapstructure:"disk_mb"`
	Files     int64         `mapstructure:"files"`
}

// ScriptRule is one line of Scripts.Allow.
type ScriptRule struct {
	Channel string `mapstructure:"channel"`
	Package string `mapstructure:"package"`
}

// Fetch is how packages are downloaded.
type Fetch struct {
	// Allow lists host:port of private or local addresses that locks may name;
	// public hosts need no entry.
	Allow []string `mapstructure:"allow"`
	// Parallel downloads of the whole daemon.
	Parallel int `mapstructure:"parallel"`
	// Mirrors of what locks name. They may lie at private addresses and, as file
	// URLs, on this host.
	Mirrors []MirrorRule `mapstructure:"mirrors"`
	// Buckets that locks or Mirrors name and that are not where AWS has them.
	Buckets []Bucket `mapstructure:"buckets"`
	// Credentials is a file of the form that pixi keeps credentials in. What is
	// fetched with them everybody on the cluster may have. "" = none.
	Credentials string `mapstructure:"credentials"`
}

// MirrorRule is one line of Fetch.Mirrors.
type MirrorRule struct {
	Prefix string   `mapstructure:"prefix"`
	URLs   []string `mapstructure:"urls"`
}

// Bucket is one line of Fetch.Buckets.
type Bucket struct {
	Name      string `mapstructure:"name"`
	Endpoint  string `mapstructure:"endpoint"`
	Region    string `mapstructure:"region"`
	PathStyle bool   `mapstructure:"path_style"`
}

// Inventory is how Slurm is asked for its nodes.
type Inventory struct {
	// Refresh is the time between two questions.
	Refresh time.Duration `mapstructure:"refresh"`
	// Scontrol is the command; "" = scontrol from PATH.
	Scontrol string `mapstructure:"scontrol"`
}

// Selection is how environments are chosen for kinds of node.
type Selection struct {
	// Rules are rows over the default table.
	Rules []selection.Rule `mapstructure:"rules"`
	// Enforced: slurmctld runs contrib/slurm/job_submit.lua.
	Enforced bool `mapstructure:"enforced"`
	// CUDATable is the site's own table of drivers, toolkits and GPUs, which is read
	// where it is there; "" = the program's counts. At CUDATablePath it may be absent.
	CUDATable string `mapstructure:"cuda_table"`
}

// Nodes is how nodes tell what they are.
type Nodes struct {
	// Listen is the TCP address (host:port, or :port) at which they do, with MUNGE;
	// "" = nowhere, then Slurm's word is all that is known of them.
	Listen string `mapstructure:"listen"`
	// MungeSocket is munged's; "" = MUNGE's default.
	MungeSocket string `mapstructure:"munge_socket"`
}

// Members are users and groups, by name or number.
type Members struct {
	Users  []string `mapstructure:"users"`
	Groups []string `mapstructure:"groups"`
}

// Metrics is where Prometheus asks.
type Metrics struct {
	// Listen is a TCP address, host:port or :port; "" = nowhere.
	Listen string `mapstructure:"listen"`
}

// GC is what becomes of environments that nothing needs.
type GC struct {
	// MaxGB (10^9 bytes) and MaxInodes are the budget of all environments; 0 = none.
	MaxGB     int64 `mapstructure:"max_gb"`
	MaxInodes int64 `mapstructure:"max_inodes"`
	// KeepUsed: what was used so recently stays, whatever the budget.
	KeepUsed time.Duration `mapstructure:"keep_used"`
	// UnusedAfter: what was not used for so long goes, whatever the budget; 0 = never.
	UnusedAfter time.Duration `mapstructure:"unused_after"`
	// Grace is how long what was removed can be brought back.
	Grace time.Duration `mapstructure:"grace"`
	// Every is the time between two collections; 0 = only when an administrator asks.
	Every time.Duration `mapstructure:"every"`
}

// Tmp is what becomes of unfinished work.
type Tmp struct {
	// Keep is the age at which it is removed.
	Keep time.Duration `mapstructure:"keep"`
}

// defaults of all keys, by name.
var defaults = func() map[string]any {
	m := make(map[string]any, len(table))
	for _, k := range table {
		m[k.Name] = k.Default
	}
	return m
}()

// flagKeys are the flags that stand for keys.
var flagKeys = map[string]string{
	"store": "store", "socket": "socket", "prefix-root": "prefix_root", "platform": "platforms",
	"allow-root": "allow_root", "log-level": "log_level", "fetch-allow": "fetch.allow",
}

// Flags adds the flags of hpcenvd to fs.
func Flags(fs *pflag.FlagSet) {
	fs.String("config", "", "configuration file (default "+Path+", which may be absent)")
	fs.String("store", "", "directory of the store")
	fs.String("socket", "", "socket of the API")
	fs.String("prefix-root", "", "directory under which environments appear on every node")
	fs.StringSlice("platform", nil, "platforms that environments are made for")
	fs.Bool("allow-root", false, "run although this is root")
	fs.String("log-level", "", "debug, info, warn or error")
	fs.StringSlice("fetch-allow", nil, "host:port of private addresses that locks may name")
}

// Load reads the configuration. environ is the environment ("KEY=value").
func Load(flags *pflag.FlagSet, environ []string) (*Config, error) {
	v := viper.New()
	for key, value := range defaults {
		v.SetDefault(key, value)
	}
	at := places{}
	if err := readFile(v, flags, at); err != nil {
		return nil, err
	}
	if err := readEnviron(v, environ, at); err != nil {
		return nil, err
	}
	for flag, key := range flagKeys {
		f := flags.Lookup(flag)
		if f == nil || !f.Changed {
			continue
		}
		// Set, not BindPFlag: what Set was given for a variable would win over it.
		if list, ok := f.Value.(pflag.SliceValue); ok {
			v.Set(key, list.GetSlice())
		} else {
			v.Set(key, f.Value.String())
		}
		at[key] = Place{From: FromFlag, Where: "--" + flag}
	}
	c := &Config{places: at}
	if err := v.UnmarshalExact(c); err != nil {
		return nil, at.typed(err)
	}
	return c, c.check()
}

func readFile(v *viper.Viper, flags *pflag.FlagSet, at places) error {
	path, named := Path, false
	if f := flags.Lookup("config"); f != nil && f.Changed {
		path, named = f.Value.String(), true
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := checkKeys(path, data, at); err != nil {
		return err
	}
	v.SetConfigFile(path)
	v.SetConfigType("yaml")
	if err := v.ReadConfig(strings.NewReader(string(data))); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	return nil
}

// readEnviron takes HPCENVD_FETCH_PARALLEL as fetch.parallel and so on. Lists
// are separated by commas.
func readEnviron(v *viper.Viper, environ []string, at places) error {
	byName := map[string]string{}
	for key := range defaults {
		byName["HPCENVD_"+strings.ToUpper(strings.ReplaceAll(key, ".", "_"))] = key
	}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if !strings.HasPrefix(name, "HPCENVD_") {
			continue
		}
		key, ok := byName[name]
		if !ok {
			return fmt.Errorf("%w: unknown variable %s; the nearest is %s", ErrConfig, name, near(name, byName))
		}
		if _, rules := listKeys[key]; rules {
			return fmt.Errorf("%w: %s: a list of rules is set in the file only", ErrConfig, name)
		}
		at[key] = Place{From: FromVariable, Where: name}
		if _, list := defaults[key].([]string); list {
			v.Set(key, strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }))
			continue
		}
		v.Set(key, value)
	}
	return nil
}

// IndexPath is the file of the index.
func (c *Config) IndexPath() string {
	if c.Index != "" {
		return c.Index
	}
	return filepath.Join(filepath.Dir(c.BuildDir), "index.db")
}

// isHostPort tells whether s can be listened to.
func isHostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// Offer is what the configuration says of interpreters.
func (c *Config) Offer() *pyenv.Offer {
	return &pyenv.Offer{Glibc: c.Glibc, Interpreters: c.Interpreters, Place: Path + " of the daemon's host"}
}

func (c *Config) check() error {
	bad := c.places.bad
	for key, path := range map[string]string{"store": c.Store, "socket": c.Socket, "prefix_root": c.PrefixRoot} {
		if path == "" {
			return bad(key, "is not set; set it in %s, HPCENVD_%s or with --%s", Path, strings.ToUpper(key), strings.ReplaceAll(key, "_", "-"))
		}
		if !filepath.IsAbs(path) {
			return bad(key, "%q is not an absolute path", path)
		}
	}
	switch {
	case c.Index != "" && !filepath.IsAbs(c.Index):
		return bad("index", "%q is not an absolute path", c.Index)
	case !filepath.IsAbs(c.BuildDir):
		return bad("build_dir", "%q is not an absolute path", c.BuildDir)
	case len(c.Platforms) == 0:
		return bad("platforms", "at least one is needed")
	case c.Fetch.Parallel < 1 || c.Fetch.Parallel > 256:
		return bad("fetch.parallel", "%d is not from 1 to 256", c.Fetch.Parallel)
	case c.Fetch.Credentials != "" && !filepath.IsAbs(c.Fetch.Credentials):
		return bad("fetch.credentials", "%q is not an absolute path", c.Fetch.Credentials)
	case c.Inventory.Refresh < time.Second:
		return bad("inventory.refresh", "%v is less than a second", c.Inventory.Refresh)
	case c.Nodes.Listen != "" && !isHostPort(c.Nodes.Listen):
		return bad("nodes.listen", "%q is not host:port or :port", c.Nodes.Listen)
	case c.Metrics.Listen != "" && !isHostPort(c.Metrics.Listen):
		return bad("metrics.listen", "%q is not host:port or :port", c.Metrics.Listen)
	case c.GC.MaxGB < 0 || c.GC.MaxInodes < 0:
		return bad("gc", "max_gb and max_inodes are 0 (no budget) or more")
	case c.GC.KeepUsed < time.Hour:
		return bad("gc.keep_used", "%v is less than an hour: what was just prepared would go before a job is submitted", c.GC.KeepUsed)
	case c.GC.UnusedAfter != 0 && c.GC.UnusedAfter < c.GC.KeepUsed:
		return bad("gc.unused_after", "%v is less than gc.keep_used (%v): what is kept for its use would go for want of it", c.GC.UnusedAfter, c.GC.KeepUsed)
	case c.GC.Grace < 0:
		return bad("gc.grace", "%v is less than nothing", c.GC.Grace)
	case c.GC.Every != 0 && c.GC.Every < time.Minute:
		return bad("gc.every", "%v is less than a minute; 0 switches it off", c.GC.Every)
	case c.Tmp.Keep < time.Hour:
		return bad("tmp.keep", "%v is less than an hour; work that still runs would be removed", c.Tmp.Keep)
	case len(c.Scripts.JobPlatforms) > 0 && !filepath.IsAbs(c.Scripts.Spool):
		return bad("scripts.spool", "%q is not an absolute path; scripts.job_platforms needs one", c.Scripts.Spool)
	case c.Scripts.OnFailure != "degrade" && c.Scripts.OnFailure != "refuse":
		return bad("scripts.on_failure", "%q is not degrade or refuse", c.Scripts.OnFailure)
	case c.Scripts.Time < time.Second || c.Scripts.MemoryMB < 64 || c.Scripts.Processes < 4 || c.Scripts.DiskMB < 1 || c.Scripts.Files < 1:
		return bad("scripts", "time is at least 1s, memory_mb 64, processes 4, disk_mb and files 1")
	case !slices.Contains([]string{"debug", "info", "warn", "error"}, c.LogLevel):
		return bad("log_level", "%q is not debug, info, warn or error", c.LogLevel)
	}
	if _, err := image.Parse(c.Delivery); err != nil {
		return bad("delivery", "%v", err)
	}
	if err := c.Offer().Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	for n, i := range c.Interpreters {
		for _, a := range append([]python.Archive{{URL: i.URL}}, i.With...) {
			if strings.HasPrefix(a.URL, "file:") {
				return bad(fmt.Sprintf("interpreters, entry %d", n+1), "%s: the daemon opens no files that packages lie in; serve it over http, or name its channel in fetch.mirrors with a file URL", a.URL)
			}
		}
	}
	if err := c.checkWatch(); err != nil {
		return err
	}
	if err := c.checkSiteBuilds(bad); err != nil {
		return err
	}
	if err := c.checkBudgets(); err != nil {
		return err
	}
	for i, r := range c.Scripts.Allow {
		if !strings.Contains(r.Channel, "://") || r.Package == "" || strings.ContainsAny(r.Package, "*/ ") {
			return bad(fmt.Sprintf("scripts.allow, entry %d", i+1), "needs a channel (its whole URL) and a package (its name), not %q and %q", r.Channel, r.Package)
		}
		if !strings.HasPrefix(r.Channel, "https://") && !strings.HasPrefix(r.Channel, "http://") {
			return bad(fmt.Sprintf("scripts.allow, entry %d", i+1), "the channel %q is none that the daemon fetches from: files of a host are handed over by users, who may say of any archive that it lay there", r.Channel)
		}
	}
	return nil
}
