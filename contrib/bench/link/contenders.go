package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed reference.py
var rattlerScript []byte

// turn is one run of a contender.
type turn struct {
	took time.Duration
	cpu  time.Duration // of the process, Python's start included
	rss  int64         // peak resident memory in bytes
	answer
}

// settle writes out what earlier turns left.
func (b *world) settle() { unix.Sync() }

// ours prepares e in store. The whole process is timed.
func (b *world) ours(ctx context.Context, store string, e env, extra ...string) (turn, error) {
	lock, err := e.writeLock(filepath.Join(b.o.work, "locks"))
	if err != nil {
		return turn{}, err
	}
	args := append([]string{"child", "-store", store, "-lock", lock}, extra...)
	if b.o.profile != "" {
		b.profiles++
		args = append(args, "-profile", filepath.Join(b.o.profile, fmt.Sprintf("%s-%02d.prof", b.row, b.profiles)))
	}
	var t turn
	args = append(append(b.before[:len(b.before):len(b.before)], b.self), args...)
	out, err := b.command(ctx, &t, args[0], args[1:]...)
	if err != nil {
		return t, err
	}
	if t.rss > b.peak {
		b.peak, b.peakRow = t.rss, b.row
	}
	return t, json.Unmarshal(out, &t.answer)
}

// rattler installs e's packages into prefix. Only the installation is timed,
// not Python's start.
func (b *world) rattler(ctx context.Context, cache, prefix string, e env) (turn, error) {
	type item struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Build   string   `json:"build"`
		Subdir  string   `json:"subdir"`
		Noarch  bool     `json:"noarch"`
		Depends []string `json:"depends"`
		SHA256  string   `json:"sha256"`
		MD5     string   `json:"md5"`
		Size    int64    `json:"size"`
		File    string   `json:"file"`
		URL     string   `json:"url"`
		Channel string   `json:"channel"`
	}
	items := make([]item, len(e.packages))
	for i, p := range e.packages {
		items[i] = item{p.Name, p.Version, p.Build, p.Subdir, p.Noarch, p.Depends, p.SHA256, p.MD5, p.Size, p.File, e.url(p), e.channel}
	}
	list, err := json.Marshal(items)
	if err != nil {
		return turn{}, err
	}
	path, script := filepath.Join(b.o.work, "rattler.json"), filepath.Join(b.o.work, "reference.py")
	if err := os.WriteFile(path, list, 0o644); err != nil {
		return turn{}, err
	}
	if err := os.WriteFile(script, rattlerScript, 0o644); err != nil {
		return turn{}, err
	}
	var t turn
	out, err := b.command(ctx, &t, b.o.python, script, path, prefix, cache)
	if err != nil {
		return t, err
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	t.took = time.Duration(seconds * float64(time.Second))
	return t, err
}

// command runs a program and fills in how long it took and its peak memory.
func (b *world) command(ctx context.Context, t *turn, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	t.took = time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, errs.String())
	}
	t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.rss = ru.Maxrss * 1024
	}
	return out.Bytes(), nil
}
