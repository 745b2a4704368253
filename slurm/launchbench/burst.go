package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// burst is a number of submissions a second, spread over processes that look to the
// helper as sbatch does.
type burst struct {
	rate, seconds, workers int
	helper                 []string // as the plugin calls it
}

// bursts is how many there are; the figure is their median.
const bursts = 5

// submitters is how many processes submit in turn.
const submitters = 10

// newBurst reads from plugstack.conf how the plugin calls its helper.
func newBurst(conf, lock, name string, rate, seconds int) (*burst, error) {
	path, options, err := plugin(conf)
	if err != nil {
		return nil, err
	}
	args := []string{path, "spank", "submit", "--context=sbatch", "--lock=" + lock, "--name=" + name, "--wait=", "--check=", "--pin=", "--component=0"}
	for option, otherwise := range map[string]string{"store": "", "socket": "/run/hpcenv/hpcenvd.sock", "prefix_root": "/opt/hpcenv/e", "owner": ""} {
		value := options[option]
		if value == "" {
			value = otherwise
		}
		if value != "" {
			args = append(args, "--"+strings.ReplaceAll(option, "_", "-")+"="+value)
		}
	}
	return &burst{rate: rate, seconds: seconds, workers: submitters, helper: args}, nil
}

// plugin finds the helper and the options of hpcenv's line.
func plugin(conf string) (helper string, options map[string]string, err error) {
	data, err := os.ReadFile(conf)
	if err != nil {
		return "", nil, err
	}
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.Contains(filepath.Base(words[1]), "hpcenv") {
			continue
		}
		options = map[string]string{"helper": "/usr/bin/hpcenv"}
		for _, w := range words[2:] {
			if key, value, ok := strings.Cut(w, "="); ok {
				options[key] = value
			}
		}
		return options["helper"], options, nil
	}
	return "", nil, fmt.Errorf("%s has no line of hpcenv's plugin", conf)
}

// measure returns how long the helper took for each submission, sorted.
func (b *burst) measure(ctx context.Context) ([]time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var took []time.Duration
	var failed []error
	var group sync.WaitGroup
	start := time.Now().Add(500 * time.Millisecond)
	each := b.rate * b.seconds / b.workers
	for i := range b.workers {
		// What the helper reads of its parent is sbatch's.
		cmd := exec.CommandContext(ctx, self, "--hold", "--wrap", "true")
		cmd.Args[0] = "sbatch"
		first := start.Add(time.Duration(i) * time.Second / time.Duration(b.rate))
		cmd.Env = append(os.Environ(), submitter+"="+fmt.Sprintf("%d %d %d", first.UnixNano(), each, time.Duration(b.workers)*time.Second/time.Duration(b.rate)))
		cmd.Stdin = strings.NewReader(strings.Join(b.helper, "\n"))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		group.Go(func() {
			err := cmd.Run()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("%w: %s", err, &stderr))
			}
			for line := range strings.Lines(stdout.String()) {
				ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
				if err != nil {
					failed = append(failed, err)
				}
				took = append(took, time.Duration(ns))
			}
		})
	}
	group.Wait()
	if len(failed) > 0 {
		return nil, failed[0]
	}
	if len(took) != each*b.workers {
		return nil, fmt.Errorf("%d submissions were timed, want %d", len(took), each*b.workers)
	}
	slices.Sort(took)
	fmt.Printf("%d submissions, %d a second: median %.1f ms, 90%% %.1f ms, 99%% %.1f ms, longest %.1f ms\n",
		len(took), b.rate, ms(quantile(took, 50)), ms(quantile(took, 90)), ms(quantile(took, 99)), ms(took[len(took)-1]))
	return took, nil
}

// quantile of sorted values, in percent.
func quantile(sorted []time.Duration, percent int) time.Duration {
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)]
}

// submitter is set in the processes of a burst: when the first submission is (Unix time
// in nanoseconds), how many there are, and the nanoseconds between two.
const submitter = "LAUNCHBENCH_SUBMITTER"

// submit is such a process. Standard input has the helper's arguments, one a line;
// what each run of it took is printed in nanoseconds.
func submit(order string) error {
	var first, every int64
	var times int
	if _, err := fmt.Sscan(order, &first, &times, &every); err != nil {
		return err
	}
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	args := strings.Split(string(data), "\n")
	if err := os.Unsetenv(submitter); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for i := range times {
		time.Sleep(time.Until(time.Unix(0, first+int64(i)*every)))
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Args[0] = "hpcenv"
		var stderr strings.Builder
		cmd.Stderr = &stderr
		start := time.Now()
		pin, err := cmd.Output()
		took := time.Since(start)
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr.String())
		}
		if !bytes.Contains(pin, []byte("pin")) {
			return errors.New("the helper gave no pin")
		}
		fmt.Fprintln(out, took.Nanoseconds())
	}
	return out.Flush()
}

// burstFlags are of `launchbench burst`.
func burstFlags(fs *flag.FlagSet) (rate, seconds *int, conf *string) {
	return fs.Int("rate", 50, "submissions a second"), fs.Int("seconds", 5, "how long each burst is"), fs.String("plugstack", "/etc/slurm/plugstack.conf", "the file that loads hpcenv's plugin")
}
