package helper

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/handover"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// handOver tells the daemon what the job will need, so that nothing of it is collected
// before the job starts. It takes a moment at most; where neither the daemon nor the
// store's inbox/ can be told, that is said and stops nothing.
func (s *submission) handOver(ctx context.Context, st *submitStore, p *pin.Pin, wire string) {
	host, err := os.Hostname()
	if err != nil {
		host = "" // it is for people only
	}
	job := os.Getenv("SLURM_ARRAY_JOB_ID")
	if job == "" {
		job = os.Getenv("SLURM_JOB_ID")
	}
	h := handover.Of(p, wire, s.context, host, job, s.step && job != "")
	if err := handover.Give(ctx, s.socket, st.root, h); err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(s.stderr, "%s: hpcenv: note: hpcenvd does not know of this job, and may remove its environment if the job waits for long: %s\n", s.context, why)
	}
}
