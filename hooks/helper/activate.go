package helper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/launch"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

// activateFlags name what the shim knows of the step.
type activateFlags struct {
	store, prefixRoot, runDir string
	job, step, nodeID, pin    string
	batch                     bool
	// command is what the step starts; "" = not known.
	command string
	// attached is attach's answer, notes what it said.
	attached, notes string
}

// activate finds the pin of this step, checks that its environment is on this
// node and prints what to change in the tasks' environment. It runs as the user
// in the first task of a node, inside the step's cgroup, with the job's
// environment as its own.
func activate(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f activateFlags
	fl := newFlags("activate")
	fl.StringVar(&f.store, "store", "", "")
	fl.StringVar(&f.prefixRoot, "prefix-root", "", "")
	fl.StringVar(&f.runDir, "run-dir", DefaultRunDir, "")
	fl.StringVar(&f.job, "job", "", "")
	fl.StringVar(&f.step, "step", "", "")
	fl.StringVar(&f.nodeID, "nodeid", "0", "")
	fl.StringVar(&f.pin, "pin", "", "")
	fl.BoolVar(&f.batch, "batch", false, "")
	fl.StringVar(&f.command, "command", "", "")
	fl.StringVar(&f.attached, "attached", "", "")
	fl.StringVar(&f.notes, "notes", "", "")
	if err := parse(fl, args); err != nil {
		return err
	}
	p, err := stepPin(f.runDir, f.job, f.pin)
	if err != nil {
		return refuse(api.ExitFailed, "%w; next: submit the job again", err)
	}
	if p == nil {
		return nil
	}
	on, err := decide(ctx, p, f.store, filepath.Join(f.runDir, facts.RecordFile), os.LookupEnv)
	if err != nil {
		return err
	}
	place, err := locate(p, f.store, f.prefixRoot)
	if err != nil {
		return err
	}
	site, lacking, err := siteBuilds(ctx, p, place.files, place.prefix, filepath.Join(f.runDir, facts.RecordFile))
	if err != nil {
		return err
	}
	on.warnings = append(on.warnings, lacking...)
	result, err := activation.Activate(ctx, activation.Input{
		Env:       os.Environ(),
		ID:        p.ID,
		Platform:  hostPlatform(),
		Prefix:    place.prefix,
		EnvName:   p.Environment,
		Static:    place.meta.Activation,
		Manifest:  place.manifest,
		ActDigest: p.Activation,
		Overlay:   p.OverlayDir(hostPlatform()),
		Settings:  on.settings,
		Site:      site,
		First:     f.batch,
		Scripts:   activation.Options{Stderr: stderr},
	})
	if err != nil {
		return refuse(api.ExitFailed, "environment %s (%s) cannot be activated: %w", p.Environment, short(p.Lock), err)
	}
	here := &launched{pin: p, on: on, place: place, env: launch.Lookup(result.Env)}
	told, err := f.preflight(ctx, here)
	if err != nil {
		return err
	}
	if f.nodeID == "0" || f.nodeID == "" {
		for _, note := range result.Notes {
			fmt.Fprintln(stderr, "hpcenv: "+note)
		}
	}
	f.tellNotes(stderr, p, os.LookupEnv)
	f.tell(stderr, here, told, os.LookupEnv)
	out := newRecords(stdout)
	out.put("set", DeliveredName+"="+deliveredAs(f.attached, p.ID))
	if !p.Step {
		// The step's own children (an inner srun) inherit what this step runs.
		wire, err := p.Encode()
		if err != nil {
			return err
		}
		if wire != f.pin {
			out.put("set", pin.Variable+"="+wire)
		}
	}
	out.patch(result.Patch)
	if err := out.flush(); err != nil {
		return fmt.Errorf("handing the environment to the plugin: %w", err)
	}
	return nil
}

// stepPin decides whose pin holds: the step's own choice, else what the job on
// this node was promised (a component of a heterogeneous job inherits the first
// component's variables), else what the environment carries. Nil: there is none.
func stepPin(runDir, job, wire string) (*pin.Pin, error) {
	var carried *pin.Pin
	if wire != "" {
		p, err := pin.Decode(wire)
		if err != nil {
			return nil, err
		}
		if p.Step {
			return p, nil
		}
		carried = p
	}
	ofJob, err := jobPin(runDir, job)
	if err != nil {
		return nil, err
	}
	if ofJob != nil {
		return ofJob, nil
	}
	return carried, nil
}

// place is where an environment is on this node.
type place struct {
	prefix   string
	meta     *materialize.Meta
	manifest *activation.Manifest
	// files of the store that it is of.
	files prepared.Store
}

// locate checks that the pinned environment is present at its prefix on this
// host and reads what activating it needs.
func locate(p *pin.Pin, store, prefixRoot string) (*place, error) {
	platform := hostPlatform()
	what := fmt.Sprintf("environment %s of %s (%s)", p.Environment, orUnknown(p.LockPath), short(p.Lock))
	if !p.HasPlatform(platform) {
		return nil, refuse(api.ExitNoFit, "this node is %s, and %s is locked for %s only; next: lock it for %s, too (pixi: add that to the platforms of the manifest, then `pixi lock`; conda-lock: `-p`), or keep the job off such nodes (--constraint, --exclude)",
			platform, what, strings.Join(p.Platforms, ", "), platform)
	}
	prefix := filepath.Join(prefixRoot, p.ID)
	if store = p.Within(store); p.Store != "" {
		prefix = filepath.Join(store, "trees", platform, p.ID)
	}
	// What was promised to the job must be there.
	files := prepared.Store{Root: store, Group: p.Group, Patient: true}
	if p.Store == "" {
		files.Near = prepared.NearOf(prefixRoot)
	}
	pl := place{prefix: prefix, files: files}
	var err error
	pl.meta, err = files.Meta(p.ID, platform)
	switch {
	case p.Group != "" && errors.Is(err, fs.ErrPermission):
		return nil, notOfGroup(what, p.Group)
	case errors.Is(err, fs.ErrNotExist):
		if _, statErr := os.Stat(filepath.Join(store, "FORMAT")); statErr != nil {
			return nil, refuse(api.ExitUnreachable, "the store %s cannot be read on this node: %w; next: exclude the node (--exclude) and tell the administrator", store, statErr)
		}
		return nil, refuse(api.ExitLate, "%s is not made for %s yet; next: `hpcenv prepare -e %s --platform %s %s`, then submit again", what, platform, p.Environment, platform, shellword.Quote(p.LockPath))
	case errors.Is(err, prepared.ErrDamaged):
		return nil, refuse(api.ExitUnreachable, "%w; next: tell the administrator", err)
	case err != nil:
		return nil, refuse(api.ExitUnreachable, "the store cannot be read on this node: %w; next: exclude the node (--exclude) and tell the administrator", err)
	}
	if err := files.Attached(prefix); err == nil {
		// Nothing more is asked of the store.
	} else if p.Group != "" {
		return nil, refuse(api.ExitUnreachable, "%s is for one group only and was not attached at %s for this process: %w; next: use it in a job (--env-lock), or with hpcenv run or hpcenv shell; a shell that enters a job from outside does not see it",
			what, prefix, err)
	} else if errors.Is(err, fs.ErrNotExist) && pl.meta.Image != nil && p.Store != "" {
		return nil, refuse(api.ExitUnreachable, "%s is in your own store as an image only, and of a user's own store only trees are used in jobs: %w; next: `hpcenv prepare --delivery both`, then submit again", what, err)
	} else if has, imageErr := files.HasImage(p.ID, platform); has && imageErr == nil && errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(api.ExitUnreachable, "%s %w at %s here: %w; next: use it in the steps of a job (srun), or with hpcenv run or hpcenv shell; if this is a step, the administrator checks mount= in plugstack.conf (mount=host shows trees only: delivery tree or both of hpcenvd)", what, errNotMounted, prefix, err)
	} else if err != nil {
		return nil, refuse(api.ExitUnreachable, "%s is in the store, but not at %s on this node: %w; next: the administrator checks mount= in plugstack.conf and the mount at %s", what, prefix, err, prefixRoot)
	}
	if err := seesOverlay(p, files, platform); err != nil {
		return nil, err
	}
	pl.manifest, err = manifestPart(p, files)
	if err != nil {
		return nil, err
	}
	return &pl, nil
}

// manifestPart returns what the project's manifest adds to the activation, as
// it was at submit.
func manifestPart(p *pin.Pin, files prepared.Store) (*activation.Manifest, error) {
	if p.Activation == "" {
		return nil, nil
	}
	b := []byte(p.Inline)
	if len(b) == 0 {
		var err error
		if b, err = files.Activation(p.Lock, p.Activation); err != nil {
			return nil, refuse(api.ExitUnreachable, "the pinned activation: %w; next: submit the job again", err)
		}
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != p.Activation {
		return nil, refuse(api.ExitFailed, "the pinned activation has digest %s, not %s as submitted; next: submit the job again", short(hex.EncodeToString(sum[:])), short(p.Activation))
	}
	var m activation.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, refuse(api.ExitFailed, "the pinned activation: %w", err)
	}
	return &m, nil
}

func short(digest string) string {
	if len(digest) > 8 {
		return digest[:8]
	}
	return digest
}

func orUnknown(path string) string {
	if path == "" {
		return "the lock"
	}
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path) // it would look like lines of ours
	}
	return path
}

// warns tells whether this step is the one that shows a node's warnings, so that a
// job shows each once per node: the batch script for its own node, else the job's
// first step. A step that chose its environment itself always does. What sbatch said
// names all nodes, also those that only later steps use.
func (f *activateFlags) warns(p *pin.Pin, env func(string) (string, bool)) bool {
	if p.Step || f.batch {
		return true
	}
	if f.step != "0" {
		return false
	}
	host := batchHost(env)
	return host == "" || host != nodeName()
}
