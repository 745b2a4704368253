package prepare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// refuser is a Runner that must not be asked.
type refuser struct{ asked int }

func (r *refuser) CanRun(string) error { return nil }
func (r *refuser) Run(_ context.Context, t *linkscript.Task) (*linkscript.Outcome, error) {
	r.asked++
	return &linkscript.Outcome{Script: t.Script}, nil
}

// What a lock says of a package's channel allows nothing: neither its channel key,
// nor a URL of the channel for bytes that came from elsewhere.
func TestScriptsOfWhoPretends(t *testing.T) {
	w := newWorld(t)
	evil := condatest.Package{Name: "fonts", Version: "1", Build: "0", Subdir: "linux-64", Files: []condatest.File{
		{Path: "bin/.fonts-post-link.sh", Content: "echo evil"},
	}}
	data := evil.Conda(t)
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	const channel = "https://conda.example/main"
	prepared := func(entry string, rule ScriptRule, more ...string) (*refuser, *Result, error) {
		run := &refuser{}
		w.deps.Scripts = Scripts{Runner: run, Allow: []ScriptRule{rule}}
		entry += fmt.Sprintf("  sha256: %s\n  size: %d\n", sha, len(data))
		res, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": append(more, entry)}), Platforms: []string{"linux-64"}}, nil)
		return run, res, err
	}

	w.data["/evil/linux-64/fonts-1-0.conda"] = data
	run, res, err := prepared("- conda: "+w.url+"/evil/linux-64/fonts-1-0.conda\n  channel: "+channel+"\n", ScriptRule{Channel: channel, Package: "fonts"})
	if err != nil || run.asked > 0 || len(res.Environments[0].Meta.SkippedScripts) != 1 {
		t.Errorf("a channel key: run %d times, %+v, %v", run.asked, res, err)
	}

	// The store has the bytes, and now they are said to be of the allowed channel.
	src := cache.Source{Name: "fonts", SHA256: sha, Size: int64(len(data)), Format: cache.FormatConda}
	if err := w.deps.Store.ImportArchive(context.Background(), bytes.NewReader(data), src); err != nil {
		t.Fatal(err)
	}
	good := ScriptRule{Channel: w.url + "/main", Package: "fonts"}
	entry := "- conda: " + w.url + "/main/linux-64/fonts-1-0.conda\n"
	run, _, err = prepared(entry, good)
	if !errors.Is(err, cache.ErrFetch) || run.asked > 0 || !strings.Contains(err.Error(), w.url+"/main") {
		t.Errorf("the channel has no such file: run %d times, %v", run.asked, err)
	}
	w.data["/main/linux-64/fonts-1-0.conda"] = bytes.Repeat([]byte("x"), len(data))
	run, _, err = prepared(entry, good)
	if !errors.Is(err, cache.ErrIntegrity) || run.asked > 0 {
		t.Errorf("the channel has another file: run %d times, %v", run.asked, err)
	}
	// Where the channel has it, it is run; once seen is enough.
	w.data["/main/linux-64/fonts-1-0.conda"] = data
	if run, _, err = prepared(entry, good); err != nil || run.asked != 1 {
		t.Errorf("the channel's own: run %d times, %v", run.asked, err)
	}
	delete(w.data, "/main/linux-64/fonts-1-0.conda")
	other := w.scripted("other", "linux-64", condatest.File{Path: "share/o", Content: "o"})
	if run, _, err = prepared(entry, good, other); err != nil || run.asked != 1 {
		t.Errorf("seen before: run %d times, %v", run.asked, err)
	}
}
