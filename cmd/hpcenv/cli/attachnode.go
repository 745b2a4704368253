//go:build linux

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/wrapper"
)

// attachNodeWord is how attach calls this program in a step of the job.
const attachNodeWord = "attach-node"

func (a *app) attachNodeCmd() *cobra.Command {
	var find string
	cmd := &cobra.Command{
		Use:    attachNodeWord,
		Short:  "Become a shell or a command in a step of a job (hpcenv attach calls it)",
		Hidden: true,
		Args:   usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if find != "" {
				return json.NewEncoder(a.stdout).Encode(findPin(find))
			}
			return a.attached(args)
		},
	}
	cmd.Flags().StringVar(&find, "find", "", "print the pin of a job that this user has here")
	return cmd
}

// attached becomes the command, or a shell, in the environment that the plugin made
// active for this step.
func (a *app) attached(command []string) error {
	env := os.Environ()
	id, _, _, active := activation.Active(env)
	prefix := a.getenv("CONDA_PREFIX")
	if _, err := os.Stat(filepath.Join(prefix, "conda-meta")); !active || prefix == "" || err != nil {
		return api.Errorf(api.ExitUnreachable, "%s: the job's environment is not active in this step (%v)\nnext: tell the administrator that hpcenv's plugin did not run on this node", checkup.NodeName(os.LookupEnv), err)
	}
	if len(command) == 0 {
		return a.ended(wrapper.DirectShell(prefix, env, id))
	}
	return a.ended(wrapper.Direct(command, env, id))
}

// jobPin is what was found of a job on a host.
type jobPin struct {
	// Pin as a job carries it; "" = there is none.
	Pin string `json:"pin,omitempty"`
	// Dir is the directory that it was submitted in; "" = not known.
	Dir string `json:"dir,omitempty"`
	// Looked: a process of the job was seen here.
	Looked bool `json:"looked,omitempty"`
}

// findPin looks in this process, which has the pin where the prolog keeps pins, then in
// all processes of this user that belong to the job: the script's before those of steps,
// which may have chosen for themselves.
func findPin(job string) *jobPin {
	out := new(jobPin)
	own := os.Environ()
	noted := of(own, "SLURM_JOB_ID") == job && worth(own) > 0
	if noted {
		out.Pin = of(own, pin.Variable)
	}
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return out
	}
	self, best := fmt.Sprintf("/proc/%d/environ", os.Getpid()), 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || f == self {
			continue // another user's, or it has ended
		}
		env := strings.Split(string(data), "\x00")
		if of(env, "SLURM_JOB_ID") != job || of(env, attachedVariable) != "" {
			continue
		}
		out.Looked = true
		if w := worth(env); w > best {
			best, out.Dir = w, of(env, "SLURM_SUBMIT_DIR")
			if !noted {
				out.Pin = of(env, pin.Variable)
			}
		}
	}
	return out
}

// attachedVariable marks steps that enter a job from outside until the plugin has found the
// job's pin: they know nothing of the job.
const attachedVariable = "SLURM_HPCENV_ATTACH"

// worth is how far a process of a job speaks for it; 0 = it has no pin.
func worth(env []string) int {
	p, err := pin.Decode(of(env, pin.Variable))
	switch {
	case err != nil: // there is none, or it is not for this release to read
		return 0
	case p.Step:
		return 1
	case of(env, "SLURM_STEP_ID") != "":
		return 2
	}
	return 3
}

func of(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
