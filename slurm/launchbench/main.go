// Launchbench measures what hpcenv adds to sbatch and to a step, with and
// without the option alternating in one run. It runs as a user of a cluster
// whose environment is prepared: `make bench-launch` sets that up.
//
//	launchbench submit -lock DIR   times sbatch (jobs are held and cancelled)
//	launchbench step               times srun inside an allocation with a pin
//	launchbench check              times the checks of such a step
//	launchbench burst -lock DIR    times the plugin's helper at 50 submissions a second
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/internal/figure"
)

// checkVariable is a step's own --env-check (slurm/spank).
const checkVariable = "SLURM_HPCENV_CHECK"

func main() {
	if order := os.Getenv(submitter); order != "" {
		if err := submit(order); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code, err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "launchbench:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("usage: launchbench submit|step|check|burst [flags]")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	lock := fs.String("lock", ".", "directory of the lock")
	name := fs.String("name", "", "environment of the lock; empty = the one that is chosen")
	runs := fs.Int("runs", 31, "runs of each contender")
	nodes := fs.Int("nodes", 1, "nodes of the step")
	series := fs.String("series", "launch", "what the figures' names begin with")
	rate, seconds, conf := burstFlags(fs)
	if err := fs.Parse(args[1:]); err != nil {
		return 0, err
	}
	report := figure.NewReport(os.Stdout)
	switch args[0] {
	case "submit":
		bare := []string{"sbatch", "--parsable", "--hold", "-o", "/dev/null", "--wrap", "true"}
		with := append([]string{bare[0], "--env-lock=" + *lock}, bare[1:]...)
		if *name != "" {
			with = append([]string{bare[0], "--env-name=" + *name}, with[1:]...)
		}
		pair := contenders{bare: bare, with: with, env: os.Environ()}
		defer cancelAll()
		added, err := pair.measure(ctx, *runs, "sbatch")
		if err != nil {
			return 0, err
		}
		report.AtMost(*series+".sbatch.added", ms(added), "ms", 20)
	case "step":
		if os.Getenv(pin.Variable) == "" {
			return 0, errors.New("no pin in the environment: run inside salloc --env-lock")
		}
		n := fmt.Sprint(*nodes)
		step := []string{"srun", "-N" + n, "-n" + n, "true"}
		// As the first step of a job meets it: the pin is there, nothing is active.
		fresh := without(os.Environ(), "HPCENV_ACTIVE", "HPCENV_UNDO")
		pair := contenders{bare: step, with: step, env: fresh, bareEnv: without(fresh, pin.Variable)}
		added, err := pair.measure(ctx, *runs, fmt.Sprintf("srun on %d node(s)", *nodes))
		if err != nil {
			return 0, err
		}
		report.AtMost(fmt.Sprintf("%s.step.added_per_node.n%d", *series, *nodes), ms(added)/float64(*nodes), "ms", 30)
	case "check":
		if os.Getenv(pin.Variable) == "" {
			return 0, errors.New("no pin in the environment: run inside salloc --env-lock")
		}
		// What the node is lies in its run directory: what is measured is reading that and
		// what the environment needs, and comparing them.
		step := []string{"srun", "-N1", "-n1", "true"}
		fresh := without(os.Environ(), "HPCENV_ACTIVE", "HPCENV_UNDO", checkVariable)
		pair := contenders{bare: step, with: step, env: append(slices.Clone(fresh), checkVariable+"=strict"), bareEnv: append(slices.Clone(fresh), checkVariable+"=off")}
		added, err := pair.measure(ctx, *runs, "checks of a step")
		if err != nil {
			return 0, err
		}
		report.AtMost(*series+".preflight.added", ms(added), "ms", 10)
	case "burst":
		b, err := newBurst(*conf, *lock, *name, *rate, *seconds)
		if err != nil {
			return 0, err
		}
		var p99 []time.Duration
		for range bursts {
			took, err := b.measure(ctx)
			if err != nil {
				return 0, err
			}
			p99 = append(p99, quantile(took, 99))
		}
		report.AtMost(*series+".submit.p99", ms(figure.Median(p99)), "ms", 30)
	default:
		return 0, fmt.Errorf("unknown benchmark %q", args[0])
	}
	return report.ExitCode(), nil
}

// contenders are the same command with and without hpcenv.
type contenders struct {
	bare, with   []string
	env, bareEnv []string
}

// measure alternates the contenders and returns the difference of the medians.
func (c *contenders) measure(ctx context.Context, runs int, title string) (time.Duration, error) {
	if c.bareEnv == nil {
		c.bareEnv = c.env
	}
	var bare, with []time.Duration
	for i := range runs + 1 {
		b, err := timeOne(ctx, c.bare, c.bareEnv)
		if err != nil {
			return 0, err
		}
		w, err := timeOne(ctx, c.with, c.env)
		if err != nil {
			return 0, err
		}
		if i > 0 { // the first pair warms caches
			bare, with = append(bare, b), append(with, w)
		}
	}
	b, w := figure.Median(bare), figure.Median(with)
	fmt.Printf("%-20s %10s %10s %10s   (medians of %d, alternating)\n", "", "without", "with", "added", runs)
	fmt.Printf("%-20s %7.1f ms %7.1f ms %7.1f ms\n", title, ms(b), ms(w), ms(w-b))
	return w - b, nil
}

func timeOne(ctx context.Context, argv, env []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", argv, err, stderr.String())
	}
	return time.Since(start), nil
}

func cancelAll() {
	if out, err := exec.Command("scancel", "--me").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "scancel: %s: %v\n", out, err)
	}
}

func without(env []string, names ...string) []string {
	var kept []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		drop := false
		for _, n := range names {
			drop = drop || n == name
		}
		if !drop {
			kept = append(kept, e)
		}
	}
	return kept
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
