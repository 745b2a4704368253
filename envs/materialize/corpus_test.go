package materialize_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// unlinkable are archives of the corpus that are no packages, or broken ones, and
// the class of error that says so; each must fail, every other must not.
var unlinkable = map[string]error{
	"bz2-1.0.0.tar.bz2":                        cache.ErrIntegrity, // no info/index.json
	"a.tar.bz2":                                cache.ErrIntegrity,
	"b.tar.bz2":                                cache.ErrIntegrity,
	"subfolder.tar.bz2":                        cache.ErrIntegrity,
	"subfolder2.tar.bz2":                       cache.ErrIntegrity,
	"test.tar.bz2":                             cache.ErrIntegrity,
	"bad_package.tar.bz2":                      cache.ErrIntegrity, // no archive
	"another_bad_package.conda":                cache.ErrIntegrity,
	"zlib-1.2.11-h7b6447c_3.conda":             cache.ErrIntegrity, // links without a text; rattler refuses it too
	"zlib-1.2.11-h1de35cc_3.conda":             cache.ErrIntegrity,
	"nano-2.4.1-0.tar.bz2":                     cache.ErrIntegrity, // lists files that it lacks
	"spiffy-test-app-0.5-pyh6afbcc8_0.tar.bz2": cache.ErrIntegrity,
}

// TestCorpus materializes every conda package of the shared data alone and
// checks each linked file against what the package's own paths.json promises,
// read here by other means.
func TestCorpus(t *testing.T) {
	root := filepath.Join(testdata.Shared(t), "data/packages")
	s := newStore(t)
	py := python()
	py.Files, py.Depends = nil, nil
	fakePython := build(t, s, py)[0]
	var archives, linked, files, patched, disagree int
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(p, ".conda") && !strings.HasSuffix(p, ".tar.bz2") {
			return err
		}
		archives++
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		t.Run(rel, func(t *testing.T) {
			pkg, err := ingest(t, s, p)
			if want := unlinkable[filepath.Base(p)]; want != nil || err != nil {
				if want == nil || !errors.Is(err, want) {
					t.Fatalf("error %v, want %v", err, want)
				}
				return
			}
			n, np, nd := checkAlone(t, s, p, pkg, fakePython)
			linked, files, patched, disagree = linked+1, files+n, patched+np, disagree+nd
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d archives, %d linked; %d files checked, %d of them patched; %d disagree with paths.json and are noted", archives, linked, files, patched, disagree)
	if archives == 0 || files == 0 || patched == 0 {
		t.Error("the corpus checked nothing")
	}
}

// checkAlone links one package (with a stand-in for python where it needs one)
// and checks its files.
func checkAlone(t *testing.T, s *cache.Store, archive string, pkg, fakePython materialize.Package) (files, patched, disagree int) {
	platform := pkg.Lock.Subdir
	if platform == "noarch" {
		platform = testPlatform
	} else if platform != testPlatform {
		other := *fakePython.Lock
		other.Subdir = platform
		fakePython.Lock = &other
	}
	pkgs := []materialize.Package{pkg}
	if pkg.Lock.Name != "python" {
		pkgs = append(pkgs, fakePython)
	}
	const prefix = "/opt/hpcenv/e/00000000000000000000000000000000"
	plan, err := materialize.NewPlan(prefix, platform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := s.TempDir("corpus")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(staging)
	res, err := plan.Execute(context.Background(), s, staging, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := materialize.TreeDigest(staging); err != nil || got != res.TreeDigest {
		t.Errorf("tree digest %s, %v; Execute says %s", got, err, res.TreeDigest)
	}
	notes := strings.Join(pkg.Manifest.Notes, "\n")
	for _, e := range promised(t, archive) {
		place := e.Path
		if pkg.Lock.Noarch == "python" {
			place = strings.Replace(place, "site-packages/", "lib/python3.11/site-packages/", 1)
			place = strings.Replace(place, "python-scripts/", "bin/", 1)
		}
		full := filepath.Join(staging, filepath.FromSlash(place))
		st, err := os.Lstat(full)
		if err != nil {
			t.Errorf("%s is promised but not there: %v", e.Path, err)
			continue
		}
		if st.IsDir() || st.Mode()&fs.ModeSymlink != 0 {
			if (e.Type == "directory") != st.IsDir() {
				t.Errorf("%s is %v, promised is %s", e.Path, st.Mode(), e.Type)
			}
			continue
		}
		files++
		want, size := e.SHA256, e.Size
		if e.Placeholder != "" {
			patched++
			original := member(t, archive, e.Path)
			if e.Mode == "binary" {
				original = padded(original, e.Placeholder, prefix)
			} else {
				original = bytes.ReplaceAll(original, []byte(e.Placeholder), []byte(prefix))
			}
			want, size = sum(original), int64(len(original))
		}
		data, err := os.ReadFile(full)
		if err != nil {
			t.Error(err)
			continue
		}
		if e.SHA256 == "" && e.Placeholder == "" {
			want = sum(data) // a size is all that is promised
		}
		if sum(data) != want || int64(len(data)) != size {
			if strings.Contains(notes, e.Path+": paths.json says") {
				disagree++
				continue
			}
			t.Errorf("%s: sha256 %s, %d bytes; promised %s, %d bytes; nothing is noted", e.Path, sum(data), len(data), want, size)
		}
	}
	return files, patched, disagree
}

// padded is binary replacement for a placeholder that ends strings.
func padded(data []byte, placeholder, prefix string) []byte {
	out := bytes.Clone(data)
	for i := 0; i < len(out); {
		j := bytes.Index(out[i:], []byte(placeholder))
		if j < 0 {
			break
		}
		start := i + j
		end := start + bytes.IndexByte(out[start:], 0)
		if end < start {
			end = len(out)
		}
		field := out[start:end]
		text := bytes.ReplaceAll(bytes.Clone(field), []byte(placeholder), []byte(prefix))
		clear(field)
		copy(field, text)
		i = end
	}
	return out
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

type promise struct {
	Path        string `json:"_path"`
	Type        string `json:"path_type"`
	SHA256      string `json:"sha256"`
	Size        int64  `json:"size_in_bytes"`
	Placeholder string `json:"prefix_placeholder"`
	Mode        string `json:"file_mode"`
}

// promised is the package's paths.json; nothing for packages without.
func promised(t *testing.T, archive string) []promise {
	data := member(t, archive, "info/paths.json")
	if data == nil {
		return nil
	}
	var doc struct{ Paths []promise }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Paths
}

// member reads one file of an archive with the standard library and bzip2; nil
// if there is none. Links are followed within the archive, once.
func member(t *testing.T, archive, name string) []byte {
	t.Helper()
	if strings.HasSuffix(archive, ".tar.bz2") {
		out, err := exec.Command("bzip2", "-dc", archive).Output()
		if err != nil {
			t.Fatal(err)
		}
		return inTar(t, bytes.NewReader(out), name)
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, ".tar.zst") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		d, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		data := inTar(t, d, name)
		d.Close()
		if data != nil {
			return data
		}
	}
	return nil
}

func inTar(t *testing.T, r io.Reader, name string) []byte {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.TrimPrefix(h.Name, "./") == name && h.Typeflag == tar.TypeReg {
			data, err := io.ReadAll(tr)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
}
