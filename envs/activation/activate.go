package activation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// The variables in which an activated environment carries what it is.
const (
	// MarkerName holds <id>/<platform>/<activation digest>.
	MarkerName = "HPCENV_ACTIVE"
	// UndoName holds how to undo the activation, by layer.
	UndoName = "HPCENV_UNDO"
	// OverlayName holds the directory of the overlay, if there is one.
	OverlayName = "HPCENV_OVERLAY"

	// defaultPath is what programs are found by where PATH is not set.
	defaultPath = "/usr/local/bin:/usr/bin:/bin"
	// maxVariable is what the kernel takes for one "NAME=value" with its end.
	maxVariable = 128 << 10
)

// Input of Activate.
type Input struct {
	// Env of the process as it is now.
	Env []string
	// ID of the environment, Platform (conda subdir) of this node, and Prefix
	// at which it is attached.
	ID, Platform, Prefix string
	Static               Static
	// Manifest is the pinned part of the project's manifest; nil = none.
	Manifest *Manifest
	// EnvName is the environment's name in the lock.
	EnvName string
	// ActDigest is the digest of Manifest; "" = none.
	ActDigest string
	// Overlay is the absolute directory of what the user's own project adds to the
	// environment; "" = nothing. It is named by its content.
	Overlay string
	// Settings are variables for this node's network, by name. Each is set where the
	// user has not set it, before the scripts, which may know better; with other
	// settings the platform's part is made afresh.
	Settings map[string]string
	// Site are variables of what the site built for this environment and this node (set
	// and prepend). They come after the scripts, which do not know of it; what the user
	// has set beforehand, and not to nothing, stands. [activation.env] wins over them.
	Site []Op
	// First: the environment variables come from a submitting shell, not from
	// this job's script. Whatever is active in them is left first, and
	// PYTHONPATH and its like go, even if our marker is there already.
	First bool
	// Scripts bounds the scripts.
	Scripts Options
}

// Result of Activate.
type Result struct {
	// Env is the activated environment.
	Env []string
	// Patch from Input.Env to Env: set and unset only, sorted by name. Empty:
	// the environment was active already.
	Patch Patch
	// Notes are lines for the user.
	Notes []string
}

// Marker returns the value of HPCENV_ACTIVE for an environment.
func (in Input) Marker() string {
	d := in.what()
	if d == "" {
		d = "-"
	}
	return in.ID + "/" + in.node() + "/" + d
}

// node is the platform, and what else of the activation is this node's own.
func (in Input) node() string {
	if len(in.Settings) == 0 && len(in.Site) == 0 {
		return in.Platform
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(in.Settings)) {
		fmt.Fprintf(h, "%s=%s\x00", name, in.Settings[name])
	}
	for _, op := range in.Site {
		fmt.Fprintf(h, "%s %s=%s\x00", op.Kind, op.Name, op.Value)
	}
	return in.Platform + "+" + hex.EncodeToString(h.Sum(nil)[:6])
}

// settingOps set what nobody has set.
func (in Input) settingOps(e *environ) (ops []Op) {
	for _, name := range slices.Sorted(maps.Keys(in.Settings)) {
		if _, set := e.get(name); !set {
			ops = append(ops, Op{Kind: OpSet, Name: name, Value: in.Settings[name]})
		}
	}
	return ops
}

// siteOps are the operations of Site, with the user's own values in place of the site's.
func (in Input) siteOps(e *environ) (ops []Op) {
	for _, op := range in.Site {
		if own, _ := e.get(op.Name); op.Kind == OpSet && own != "" {
			op.Value = own
		}
		ops = append(ops, op)
	}
	return ops
}

// what is the digest of all that is added to the environment's own activation; ""
// = nothing.
func (in Input) what() string {
	if in.Overlay == "" {
		return in.ActDigest
	}
	sum := sha256.Sum256([]byte(in.ActDigest + "\x00" + in.Overlay))
	return hex.EncodeToString(sum[:])
}

// overlayOps show an overlay to the environment's Python, and its commands.
func (in Input) overlayOps() []Op {
	if in.Overlay == "" {
		return nil
	}
	return []Op{
		{Kind: OpPrepend, Name: "PATH", Value: in.Overlay + "/bin", Sep: ":"},
		{Kind: OpSet, Name: OverlayName, Value: in.Overlay},
	}
}

// Active splits the marker of an environment; ok is false if none is active.
func Active(env []string) (id, platform, digest string, ok bool) {
	return splitMarker(parseEnviron(env))
}

func splitMarker(e *environ) (id, platform, digest string, ok bool) {
	v, _ := e.get(MarkerName)
	parts := strings.Split(v, "/")
	if len(parts) != 3 || parts[0] == "" {
		return "", "", "", false
	}
	if parts[2] == "-" {
		parts[2] = ""
	}
	return parts[0], parts[1], parts[2], true
}

// Activate computes the environment in which in.ID is active, exactly once.
//
//   - The same environment, platform and activation is active: nothing
//     changes, so what a job script did to PATH afterwards stays (only a PATH
//     that lost the environment, as a login shell's does, gets it back).
//   - The same environment for another platform: the platform layer is undone
//     and made afresh.
//   - Another environment: all is undone first.
//   - None, or in.First: what the submitting shell left is cleaned first.
//
// If a script fails, the error says which, and nothing was changed.
func Activate(ctx context.Context, in Input) (Result, error) {
	e := parseEnviron(in.Env)
	var res Result
	var keep []entry
	id, platform, digest, active := splitMarker(e)
	same := active && !in.First && id == in.ID && digest == in.what()
	if same && platform == in.node() {
		res.Notes = warnShadow(ctx, e, in.Prefix, repairPath(e, in.Prefix, in.Overlay))
		return finish(in, e, res)
	}
	if active {
		rec, err := leave(e, same)
		if err != nil {
			res.Notes = append(res.Notes, err.Error()+"; what it set may stay")
			same = false
		}
		keep = rec.Common
	}
	if !same {
		keep = nil
		e.unset(OverlayName) // of nobody's environment
		res.Notes = append(res.Notes, cleanConda(e)...)
		if !active || in.First {
			res.Notes = append(res.Notes, cleanShell(e)...)
		}
	}
	plan := Compose(in.Prefix, in.Static, in.Manifest, in.EnvName, in.Platform)
	plan.Common.Ops = append(plan.Common.Ops, in.overlayOps()...)
	res.Notes = append(res.Notes, plan.Notes...)
	rec := record{Common: keep}
	if !same {
		if path, _ := e.get("PATH"); path == "" {
			plan.Common.Ops = append([]Op{{Kind: OpAppend, Name: "PATH", Value: defaultPath, Sep: ":"}}, plan.Common.Ops...)
		}
		var err error
		if rec.Common, err = applyRecorded(e, plan.Common); err != nil {
			return Result{}, err
		}
	}
	plan.Last.Ops = append(in.siteOps(e), plan.Last.Ops...)
	plan.Platform.Ops = append(in.settingOps(e), plan.Platform.Ops...)
	notes, err := platformLayer(ctx, e, plan, &rec, in.Scripts)
	if err != nil {
		return Result{}, err
	}
	res.Notes = append(res.Notes, notes...)
	undo, err := encodeUndo(rec)
	if err != nil {
		return Result{}, err
	}
	e.set(MarkerName, in.Marker())
	e.set(UndoName, undo)
	res.Notes = warnShadow(ctx, e, in.Prefix, res.Notes)
	return finish(in, e, res)
}

func finish(in Input, e *environ, res Result) (Result, error) {
	res.Env = e.list()
	res.Patch = Final(in.Env, res.Env)
	for _, op := range res.Patch.Ops {
		if len(op.Name)+len(op.Value)+2 > maxVariable {
			return Result{}, fmt.Errorf("activation of %s: variable %s would have %d bytes, more than the kernel takes for one variable (%d); shorten it in the shell or script that built it", in.ID, op.Name, len(op.Value), maxVariable)
		}
	}
	return res, nil
}

// platformLayer applies what packages declare, runs the scripts and applies
// [activation.env], and records how to undo all that.
func platformLayer(ctx context.Context, e *environ, plan Plan, rec *record, opts Options) ([]string, error) {
	entries, err := applyRecorded(e, plan.Platform)
	if err != nil {
		return nil, err
	}
	rec.Platform = entries
	scripts, notes := settle(ctx, plan.Scripts)
	before := e.list()
	after, err := RunScripts(ctx, before, scripts, opts)
	if err != nil {
		return nil, err
	}
	for _, p := range []Patch{Diff(before, after), plan.Last} {
		entries, err := applyRecorded(e, p)
		if err != nil {
			return nil, err
		}
		rec.Platform = append(rec.Platform, entries...)
	}
	return notes, nil
}

// settle decides for each script with pinned content whether its file can be
// sourced in place: scripts find their neighbours by their own path, so the
// file is preferred as long as it is what was pinned. Reading is given up with
// ctx, since a project may lie on storage that hangs.
func settle(ctx context.Context, scripts []Source) (out []Source, notes []string) {
	for _, s := range scripts {
		if s.Content != nil && s.Path != "" {
			if sameFile(ctx, s.Path, *s.Content) {
				s.Content = nil
			} else {
				notes = append(notes, fmt.Sprintf("activation script %s is no longer as it was at submission: it runs as it was", s.Path))
				s.Path = ""
			}
		}
		out = append(out, s)
	}
	return out, notes
}

func sameFile(ctx context.Context, path, content string) bool {
	done := make(chan bool, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			done <- false
			return
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, int64(len(content))+1))
		done <- err == nil && string(data) == content
	}()
	select {
	case same := <-done:
		return same
	case <-ctx.Done():
		return false
	}
}

// leave undoes the active environment: its platform layer, and the common one
// too unless only the platform changes. It takes the marker off.
func leave(e *environ, onlyPlatform bool) (record, error) {
	packed, _ := e.get(UndoName)
	e.unset(UndoName)
	e.unset(MarkerName)
	e.unset(ShadowName)
	if packed == "" {
		return record{}, fmt.Errorf("%w: %s is not set", ErrUndo, UndoName)
	}
	rec, err := decodeUndo(packed)
	if err != nil {
		return record{}, err
	}
	undoEntries(e, rec.Platform)
	if !onlyPlatform {
		undoEntries(e, rec.Common)
	}
	return rec, nil
}

// Undo returns env without the environment that hpcenv activated in it; what
// was changed since by others stays. Nothing active is not an error.
func Undo(env []string) ([]string, error) {
	e := parseEnviron(env)
	if _, _, _, ok := splitMarker(e); !ok {
		return e.list(), nil
	}
	if _, err := leave(e, false); err != nil && !errors.Is(err, ErrUndo) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w; start a new shell instead", err)
	}
	return e.list(), nil
}

// repairPath puts the prefix back into a PATH that lost it while CONDA_PREFIX
// still says it is active: a login shell (#!/bin/bash -l) does that.
func repairPath(e *environ, prefix, overlay string) []string {
	if cur, _ := e.get("CONDA_PREFIX"); cur != prefix {
		return nil
	}
	bin := prefix + "/bin"
	path, _ := e.get("PATH")
	for _, el := range strings.Split(path, ":") {
		if el == bin {
			return nil
		}
	}
	front := bin
	if overlay != "" {
		front = overlay + "/bin:" + bin
	}
	e.set("PATH", joinList(front, ":", path))
	return []string{"PATH had lost " + bin + " (a login shell resets it): put in front again"}
}
