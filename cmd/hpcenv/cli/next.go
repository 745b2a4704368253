package cli

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// next is the command to go on with: sbatch with a cluster's store, or where
// Slurm knows the option; else run.
func (a *app) next(ctx context.Context, svc api.Service, req *api.PrepareRequest, r *api.PrepareResult) string {
	name := ""
	if len(r.Environments) > 0 && r.Environments[0].Name != "default" {
		name = r.Environments[0].Name
	}
	// What was made for unlike nodes is for each of them: nobody named one.
	if len(req.Environments) == 0 && slices.ContainsFunc(r.Environments, func(e api.Environment) bool { return e.Name != name }) {
		name = ""
	}
	where, there := a.fromHere(req.LockPath), ""
	if a.elsewhere {
		where, there = ".", ", in the project's directory"
	}
	if !submits(ctx, svc, req.Offline) {
		cmd := "hpcenv run"
		if where != "." {
			cmd += " --lock " + shellword.Quote(where)
		}
		if name != "" {
			cmd += " -e " + shellword.Quote(name)
		}
		return cmd + " -- COMMAND" + there
	}
	cmd := "sbatch --env-lock=" + shellword.Quote(where)
	if name != "" && !a.headed { // else the job's nodes get theirs without a name
		cmd += " --env-name=" + shellword.Quote(name)
	}
	return cmd + " job.sh" + there
}

// submits tells whether sbatch is what comes next. Slurm's programs look at the
// network; offline, what it would say is not asked.
func submits(ctx context.Context, svc api.Service, offline bool) bool {
	if _, remote := svc.(*api.Client); remote || offline {
		return remote
	}
	return clusters(ctx, svc) || slurmKnows(ctx)
}

// clusters tells whether a service works on a cluster's store, not on a user's
// own.
func clusters(ctx context.Context, svc api.Service) bool {
	st, err := svc.Status(ctx)
	return err == nil && st.PrefixRoot != ""
}

// slurmKnows tells whether this host's sbatch has hpcenv's options.
func slurmKnows(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "sbatch", "--help").Output()
	return err == nil && strings.Contains(string(out), "--env-lock")
}
