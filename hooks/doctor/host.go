package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/internal/clientconf"
	"github.com/hpcenv/hpcenv/internal/munge"
	"github.com/hpcenv/hpcenv/internal/version"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// Where things lie on a host that was set up as the guide has it.
const (
	helperPath  = "/usr/libexec/hpcenv/hpcenv"
	daemonPath  = "/usr/bin/hpcenvd"
	daemonConf  = "/etc/hpcenv/hpcenvd.yaml"
	offPath     = "/etc/hpcenv/off"
	factsPath   = "/run/hpcenv-node/facts.json"
	defaultSock = "/run/hpcenv/hpcenvd.sock"
	defaultRoot = "/opt/hpcenv/e"
	slurmEtc    = "/etc/slurm"
	// slurmRun is where slurmd keeps what a configless slurmctld sent.
	slurmRun = "/run/slurm/conf"
)

// Host is the host to look at. The zero value with Conf is this one.
type Host struct {
	// Root stands before the absolute paths of files that are read (not before the
	// store's, nor before commands); "" = none.
	Root string
	// Conf is what hpcenv's commands go by, ConfErr why that is not known.
	Conf    clientconf.Conf
	ConfErr error
	// Slurm asks it.
	Slurm queries.Client
	// UID of who looks.
	UID int
	// plug is what was found of the plugin's line.
	plug plugstack
	// settings are Slurm's; nil = not known.
	settings map[string]string
	// slurmErr is why not.
	slurmErr error
}

// at is a file of the host.
func (h *Host) at(path string) string { return filepath.Join("/", h.Root, path) }

// there tells whether a file of the host is there.
func (h *Host) there(path string) bool {
	_, err := os.Stat(h.at(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// Examine looks at everything. It returns within minutes even where storage, slurmctld or
// the daemon hang.
func (h *Host) Examine(ctx context.Context) (*Report, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	r := &Report{Host: name, Version: version.String(), At: time.Now().UTC().Format(time.RFC3339), Root: h.UID == 0, Findings: []Finding{}}
	h.settings, h.slurmErr = h.Slurm.Settings(ctx, "PlugStackConfig", "PluginDir", "JobContainerType", "SLURM_VERSION", "PrivateData", "HealthCheckProgram", "SlurmUser")
	h.plug = h.readPlugstack()
	r.Roles = h.roles()
	for _, c := range []struct {
		name string
		look func(context.Context) findings
	}{
		{"configuration", h.lookConf}, {"switched off", h.lookOff}, {"programs", h.lookPrograms},
		{"Slurm", h.lookSlurm}, {"plugin", h.lookPlugin},
		{"store", h.lookStore}, {"file system", h.lookFileSystem}, {"content", h.lookContent},
		{"prefix root", h.lookPrefixRoot}, {"kernel", func(ctx context.Context) findings { return h.lookKernel(ctx, r) }},
		{"MUNGE", func(ctx context.Context) findings { return h.lookMunge(ctx, munge.Munge{Socket: h.Conf.MungeSocket}) }},
		{"daemon", func(ctx context.Context) findings { return h.lookDaemon(ctx, r) }},
		{"node", func(ctx context.Context) findings { return h.lookNode(ctx, r) }},
	} {
		r.Findings = append(r.Findings, bounded(ctx, patience, c.name, c.look)...)
	}
	return r, ctx.Err()
}

// roles of the host, by what is installed there.
func (h *Host) roles() []string {
	roles := []string{}
	if h.there(daemonPath) || h.there(daemonConf) {
		roles = append(roles, RoleDaemon)
	}
	if _, err := exec.LookPath("sbatch"); err == nil {
		roles = append(roles, RoleLogin)
	}
	if _, err := exec.LookPath("slurmd"); err == nil {
		roles = append(roles, RoleCompute)
	}
	return roles
}
