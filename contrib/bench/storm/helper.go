package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hpcenv/hpcenv/cache"
)

// hpcenv is how the SPANK plug-in starts hpcenv's helper on a node.
type hpcenv struct {
	// Helper is the program hpcenv.
	Helper string
	// PrefixRoot and ID are the environment's, Pin is what its job carries.
	PrefixRoot, ID, Pin string
	// User and Group have the job.
	User, Group uint32
	// Env is what the job's tasks have before activation.
	Env []string
}

func (h *hpcenv) prefix() string { return filepath.Join(h.PrefixRoot, h.ID) }

// image is the environment's image in a store.
func (h *hpcenv) image(store string) string {
	return filepath.Join(store, "images", platform, h.ID+cache.ImageSuffix)
}

// outcome is what attach says when it succeeds, which the plug-in hands to activate.
type outcome struct{ answer, notes string }

// attach is the plug-in's part as root: the environment is at its prefix afterwards, in
// this process's mount namespace. local is the directory for copies; "" = none.
func (h *hpcenv) attach(store, runDir, local string) (outcome, error) {
	args := []string{
		"spank", "attach", "--store=" + store, "--owner=0", "--prefix-root=" + h.PrefixRoot, fmt.Sprintf("--uid=%d", h.User), fmt.Sprintf("--gid=%d", h.Group),
		"--groups=", "--run-dir=" + runDir, "--job=1", "--pin=" + h.Pin,
	}
	if local != "" {
		// Whether the benchmark's folder is memory does not matter to it.
		args = append(args, "--local="+local, "--local-memory")
	}
	out, notes, err := h.run(exec.Command(h.Helper, args...))
	_, answer, _ := strings.Cut(out, "\x00")
	return outcome{answer, notes}, err
}

// activate is the plug-in's part as the user; the helper's answer changes the tasks'
// variables, which nobody here looks at.
func (h *hpcenv) activate(store, runDir string, a outcome) error {
	cmd := exec.Command(h.Helper, "spank", "activate", "--store="+store, "--prefix-root="+h.PrefixRoot, "--run-dir="+runDir,
		"--job=1", "--step=0", "--nodeid=0", "--pin="+h.Pin, "--batch=0", "--attached="+a.answer, "--notes="+a.notes, "--command=python3")
	cmd.Env = h.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.User, Gid: h.Group, Groups: []uint32{}}}
	out, _, err := h.run(cmd)
	if err == nil && out == "" {
		err = errors.New("activation changes nothing")
	}
	return err
}

func (h *hpcenv) run(cmd *exec.Cmd) (out, said string, err error) {
	var stdout, stderr strings.Builder
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", "", fmt.Errorf("hpcenv %s %s: %w: %s", cmd.Args[1], cmd.Args[2], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), stderr.String(), nil
}

// jobEnv is what Slurm gives the tasks of a small job.
func jobEnv() ([]string, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_NODEID=0",
		"SLURM_JOB_NODELIST=" + host, "SLURMD_NODENAME=" + host,
	}, nil
}
