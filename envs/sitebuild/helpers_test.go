package sitebuild_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/internal/making"
)

const (
	id       = "0123456789abcdef0123456789abcdef"
	platform = "linux-64"
	root     = "/opt/hpcenv/e"
)

// site is a store with an environment, and what a site declares.
type site struct {
	t        *testing.T
	store    *cache.Store
	meta     *materialize.Meta
	declared *sitebuild.Declaration
	nodes    *nodes
	builder  *sitebuild.Builder
	script   string
	said     []string
	mu       sync.Mutex
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{Version: cache.FormatVersion, PrefixRoot: root, Platforms: []string{platform}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, store: store, nodes: &nodes{identity: "gcc 12"}, script: filepath.Join(t.TempDir(), "build.sh")}
	s.write("echo build\n")
	source := []byte("sources")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := w.Write(source); err != nil {
			t.Log(err) // a client that left
		}
	}))
	t.Cleanup(srv.Close)
	s.meta = &materialize.Meta{ID: id, Platform: platform, Prefix: root + "/" + id, Packages: []materialize.MetaPackage{
		{Name: "python", Version: "3.12", SHA256: strings.Repeat("1", 64)},
		{Name: "legate-mpi-wrapper", Version: "25.3.2", Build: "0", SHA256: strings.Repeat("a", 64)},
	}}
	s.declared = &sitebuild.Declaration{
		Name: "mpi", Package: "legate-mpi-wrapper >=25", Nodes: []sitebuild.Nodes{{Platform: platform, Sbatch: []string{"--constraint=it"}}},
		Script: s.script, Arguments: []string{"-c", "${prefix}/x", "${overlay}"}, Probe: []string{"mpicc", "--version"}, MPI: "openmpi", Compiler: "gcc", Conduit: "ofi", System: "here",
		Sources:   []sitebuild.Source{{URL: srv.URL + "/gasnet.tar.gz", SHA256: fmt.Sprintf("%x", sha256.Sum256(source))}},
		Variables: []making.SiteVariable{{Name: "LEGATE_MPI_WRAPPER", Value: "${overlay}/lib/w.so"}},
	}
	s.check()
	s.builder = &sitebuild.Builder{Declared: []*sitebuild.Declaration{s.declared}, Runner: s.nodes, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowHost: cache.AllowAny})}
	return s
}

func (s *site) check() {
	s.t.Helper()
	if err := s.declared.Check(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) write(script string) {
	s.t.Helper()
	if err := os.WriteFile(s.script, []byte(script), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// ensure returns the notes, and the record after it.
func (s *site) ensure() (notes []string, entry sitebuild.Entry) {
	s.t.Helper()
	notes, err := s.builder.Ensure(context.Background(), s.store, s.meta, s.say)
	if err != nil {
		s.t.Fatal(err)
	}
	rec, err := sitebuild.Read(s.store.Root(), s.meta.ID, platform)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(rec.Builds) == 1 {
		entry = rec.Builds[0]
	}
	return notes, entry
}

func (s *site) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, text)
}

// nodes stand for the jobs of the build account.
type nodes struct {
	mu       sync.Mutex
	identity string
	failed   string
	err      error
	probes   int
	builds   []*linkscript.Task
	// sources are the names of what the last build saw.
	sources string
	// changes, if set, are what a build makes.
	changes []linkscript.Change
}

func (n *nodes) CanRun(string) error { return nil }

func (n *nodes) Run(_ context.Context, t *linkscript.Task) (*linkscript.Outcome, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return nil, n.err
	}
	if t.Script.Kind == linkscript.SiteProbe {
		n.probes++
		return &linkscript.Outcome{Output: n.identity}, nil
	}
	n.builds = append(n.builds, t)
	entries, err := os.ReadDir(t.Source)
	if err != nil {
		return nil, err
	}
	n.sources = ""
	for _, e := range entries {
		n.sources += e.Name() + " "
	}
	if n.failed != "" {
		return &linkscript.Outcome{Failed: n.failed, Output: "compiler says no"}, nil
	}
	content := filepath.Join(t.Scratch, "content")
	if err := os.WriteFile(content, []byte("library"), 0o600); err != nil {
		return nil, err
	}
	changes := n.changes
	if changes == nil {
		changes = []linkscript.Change{
			{Path: "lib", Kind: linkscript.Dir}, {Path: "lib/l.so", Kind: linkscript.Link, Target: "w.so"},
			{Path: "lib/w.so", Kind: linkscript.File, Exec: true, Size: 7, Content: content},
		}
	}
	for i := range changes {
		if changes[i].Kind == linkscript.File {
			changes[i].Content = content
		}
	}
	return &linkscript.Outcome{Output: "compiled", Changes: changes}, nil
}
