package helper

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
)

// maker is a service that makes what is asked for, as far as a submission looks.
type maker struct {
	api.Service
	asked int
	make  func(*api.PrepareRequest)
	// status publishes what the cluster is.
	status func()
	notes  []string
	err    error
}

func (m *maker) Prepare(_ context.Context, req *api.PrepareRequest, _ func(api.Event)) (*api.PrepareResult, error) {
	m.asked++
	if m.err != nil {
		return nil, m.err
	}
	m.make(req)
	return &api.PrepareResult{Notes: m.notes}, nil
}

func (m *maker) Status(context.Context) (*api.Status, error) {
	m.status()
	return &api.Status{}, nil
}

// A submission that prepares passes on what is to be known of the environment; one
// that finds it prepared asks nobody and says nothing.
func TestSubmissionsPassOnNotes(t *testing.T) {
	root, project := filepath.Join(t.TempDir(), "store"), t.TempDir()
	t.Setenv("HPCENV_STORE", root)
	lock := []byte("version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/c/\n    packages:\n      " + hostPlatform() + ": []\npackages: []\n")
	put := func(path string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(project, "pixi.lock"), lock, 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	kind := selection.Assume(hostPlatform(), "", nil)
	service := &maker{status: func() {
		digest := strings.Repeat("0", 64)
		put(filepath.Join(root, "inventory", digest+".json"), &snapshot.Snapshot{
			Version: snapshot.Version, Kinds: []selection.Kind{kind},
			Groups: []snapshot.Group{{Nodes: "n1", Count: 1, Kind: kind.Digest, Arch: "x86_64", Partitions: []string{"p"}}},
		})
		if err := os.WriteFile(filepath.Join(root, "inventory", "current"), []byte(digest+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}, notes: []string{"link scripts were not run"}, make: func(req *api.PrepareRequest) {
		description := sha256.Sum256(req.Description)
		put(filepath.Join(root, "locks", hex.EncodeToString(sum[:]), "description", hex.EncodeToString(description[:])+".json"), json.RawMessage(req.Description))
		put(filepath.Join(root, "locks", hex.EncodeToString(sum[:]), "index.json"), &lockfile.Index{Linker: materialize.LinkerVersion,
			Environments: map[string]lockfile.IndexEnvironment{"default": {ID: testID, Platforms: []string{hostPlatform()}}}})
		put(filepath.Join(root, "meta", testID, hostPlatform()+".json"), &materialize.Meta{ID: testID})
		put(filepath.Join(root, "trees", hostPlatform(), testID, "conda-meta", "history"), "")
		put(filepath.Join(root, "FORMAT"), map[string]any{"version": 1, "platforms": []string{hostPlatform()}, "owner_uid": os.Getuid()})
	}}
	submit := func() string {
		t.Helper()
		var out, stderr bytes.Buffer
		s := &submission{context: "sbatch", lock: project, stderr: &stderr, deps: Deps{Local: func(context.Context, string) (api.Service, error) { return service, nil }}}
		if err := s.run(context.Background(), &out); err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		if !strings.HasPrefix(out.String(), "pin=") {
			t.Errorf("answer %q", out.String())
		}
		return stderr.String()
	}
	if got := submit(); !strings.Contains(got, "sbatch: hpcenv: note: link scripts were not run\n") {
		t.Errorf("stderr %q", got)
	}
	if got := submit(); got != "" || service.asked != 1 {
		t.Errorf("again: asked %d times, stderr %q", service.asked, got)
	}
	// One that finds all but what the lock asks of nodes has that kept, once.
	if err := os.RemoveAll(filepath.Join(root, "locks", hex.EncodeToString(sum[:]), "description")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		submit()
	}
	if service.asked != 2 {
		t.Errorf("without a description: asked %d times", service.asked)
	}
	service.err = api.Errorf(api.ExitUnreachable, "hpcenvd is down")
	if err := os.RemoveAll(filepath.Join(root, "locks", hex.EncodeToString(sum[:]), "description")); err != nil {
		t.Fatal(err)
	}
	if got := submit(); !strings.Contains(got, "note: nodes that change while the job waits") || !strings.Contains(got, "hpcenvd is down") {
		t.Errorf("stderr %q", got)
	}
}

// What becomes of the job is said before the next step, which ends the message,
// however the cause says its own.
func TestNotSubmittedComesBeforeTheNextStep(t *testing.T) {
	for _, cause := range []string{"it is odd; next: mend it", "it is odd\nnext: mend it"} {
		n := &notSubmitted{"pixi.lock", refuse(api.ExitUsage, "%s", cause)}
		if got, want := n.Error(), "pixi.lock: it is odd; nothing was submitted\nnext: mend it"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if exitCode(n) != api.ExitUsage {
			t.Errorf("exit code %d", exitCode(n))
		}
	}
	if got := (&notSubmitted{"l", refuse(api.ExitFailed, "odd\n  a table; next: b")}).Error(); got != "l: odd; nothing was submitted\n  a table\nnext: b" {
		t.Errorf("%q", got)
	}
	if got := (&notSubmitted{"l", refuse(api.ExitFailed, "odd")}).Error(); got != "l: odd; nothing was submitted" {
		t.Errorf("%q", got)
	}
}
