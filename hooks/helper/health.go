package helper

import (
	"context"
	"os"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/health"
)

// healthTimeout bounds a health check; slurmd bounds it at 60 seconds itself.
const healthTimeout = 50 * time.Second

// healthMain is `hpcenv slurm-hook health`.
func healthMain(ctx context.Context, args []string) error {
	o := health.Options{Node: nodeName(), Stderr: os.Stderr}
	fl := newFlags("health")
	fl.StringVar(&o.Root, "root", "/", "")
	fl.StringVar(&o.RunDir, "run-dir", DefaultRunDir, "")
	fl.StringVar(&o.Conf, "conf", "", "")
	fl.StringVar(&o.Node, "node", o.Node, "")
	fl.StringVar(&o.GPU.Program, "gpu-program", "", "")
	fl.StringVar(&o.GPU.Library, "gpu-library", "", "")
	fl.DurationVar(&o.Jitter, "jitter", 20*time.Second, "")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return refuse(api.ExitUsage, "health: usage: hpcenv slurm-hook health [--jitter 20s] [--node NAME] [--conf FILE] [--root DIR] [--run-dir DIR]")
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	return health.Run(ctx, o)
}
