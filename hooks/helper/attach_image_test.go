package helper

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/loopdev"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

const treeID = "fedcba9876543210fedcba9876543210"

// imageStore is a store with an image of testID and a tree of treeID.
type imageStore struct {
	base, image string
	args        []string
}

func newImageStore(t *testing.T) *imageStore {
	t.Helper()
	needRoot(t)
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("NO LOOP DEVICES ON THIS HOST")
	}
	tool := image.NewTool("")
	if err := tool.Available(t.Context()); err != nil {
		t.Skip("NO MKSQUASHFS: ", err)
	}
	base, err := os.MkdirTemp("/tmp", "hpcenv-image-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	s := &imageStore{base: base, image: filepath.Join(base, "store/images", hostPlatform(), testID+cache.ImageSuffix)}
	tree := filepath.Join(base, "tree")
	for _, dir := range []string{filepath.Dir(s.image), filepath.Join(base, "store/trees", hostPlatform(), treeID), filepath.Join(base, "store/meta", testID), tree, filepath.Join(base, "e"), filepath.Join(base, "run")} {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(base, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.WriteFile(filepath.Join(tree, "what"), []byte("image"), 0o644),
		os.Mkdir(filepath.Join(tree, "conda-meta"), 0o755), os.WriteFile(filepath.Join(tree, "conda-meta/history"), nil, 0o644),
		os.WriteFile(filepath.Join(base, "store/trees", hostPlatform(), treeID, "what"), []byte("tree"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := tool.Build(t.Context(), image.Job{Tree: tree, Digest: strings.Repeat("0", 64), Bytes: 5, Out: s.image})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := json.Marshal(&materialize.Meta{ID: testID, Platform: hostPlatform(), Prefix: filepath.Join(base, "e", testID), Image: rec})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(s.image, 0o444), os.WriteFile(filepath.Join(base, "store/meta", testID, hostPlatform()+".json"), meta, 0o644)); err != nil {
		t.Fatal(err)
	}
	p := testPin(func(p *pin.Pin) {
		p.Others = []pin.Choice{{Environment: "other", ID: treeID, Platforms: p.Platforms}}
	})
	s.args = []string{"spank", "attach", "--store=" + base + "/store", "--owner=0", "--prefix-root=" + base + "/e", "--uid=12345", "--gid=12346", "--groups=",
		"--run-dir=" + base + "/run", "--job=1", "--pin=" + wire(t, p)}
	return s
}

// inNamespace attaches in a mount namespace of its own, and then runs a script there; $root
// is the prefix root, "attach" attaches again. Answers are in the file answers.
func (s *imageStore) inNamespace(script string) (string, error) {
	return s.inNamespaceAfter("", script)
}

// inNamespaceAfter is inNamespace with something done before it attaches.
func (s *imageStore) inNamespaceAfter(prepare, script string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	const before = `self=$1 root=$2; shift 2; attach() { "$self" "$@" >>"$root/../answers"; }; attach "$@" || exit`
	cmd := exec.Command("unshare", append([]string{"--mount", "--propagation", "slave", "sh", "-c", prepare + before + "\n" + script, "sh", self, s.base + "/e"}, s.args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// devices counts the loop devices of the image.
func (s *imageStore) devices(t *testing.T) (n int) {
	t.Helper()
	f, err := os.Open(s.image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	devices, err := loopdev.Using(filepath.Base(s.image))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		same, err := loopdev.Same(d, f)
		if err = errors.Join(err, d.Close()); err != nil {
			t.Error(err)
		}
		if same {
			n++
		}
	}
	return n
}

// freed waits until no device shows the image.
func (s *imageStore) freed(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); s.devices(t) != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a loop device of the image is left")
		}
	}
}

// An image is mounted at its prefix, beside a tree; again in the same namespace changes
// nothing; nothing is left afterwards.
func TestAttachImage(t *testing.T) {
	s := newImageStore(t)
	out, err := s.inNamespace(`attach "$@" && cat $root/` + testID + `/what $root/` + treeID + `/what; echo; grep " $root" /proc/self/mountinfo; touch $root/` + treeID + `/x 2>&1; ls ` + s.base + `/store/trees`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.HasPrefix(out, "imagetree\n") || strings.Count(out, s.base+"/e") != 4 || !strings.Contains(out, "Read-only file system") {
		t.Errorf("not an image, a tree and what holds them, or not read-only:\n%s", out)
	}
	if !strings.Contains(out, testID+" ro,nosuid,nodev") {
		t.Errorf("the image's mount:\n%s", out)
	}
	s.freed(t)
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), s.base) {
		t.Errorf("the host's mounts: %v\n%s", err, mounts)
	}
}

// What the site built for an environment is at its place, too, in whatever form it is there.
func TestAttachOverlays(t *testing.T) {
	s := newImageStore(t)
	const imageOverlay, treeOverlay, gone = "00000000000000000000000000000001", "00000000000000000000000000000002", "00000000000000000000000000000003"
	store, platform := filepath.Join(s.base, "store"), hostPlatform()
	tree := filepath.Join(store, "trees", platform, treeOverlay)
	source := filepath.Join(s.base, "source")
	if err := errors.Join(os.MkdirAll(tree, 0o755), os.WriteFile(filepath.Join(tree, "what"), []byte("a tree"), 0o644),
		os.Mkdir(source, 0o755), os.WriteFile(filepath.Join(source, "what"), []byte("an image, "), 0o644),
		os.MkdirAll(filepath.Join(store, "meta", imageOverlay), 0o755)); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(store, "images", platform, imageOverlay+cache.ImageSuffix)
	rec, err := image.NewTool("").Build(t.Context(), image.Job{Tree: source, Out: at})
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(&sitebuild.Overlay{Version: 1, ID: imageOverlay, Platform: platform, Image: rec})
	if err = errors.Join(err, os.Chmod(at, 0o444), os.WriteFile(sitebuild.MetaPath(store, imageOverlay, platform), overlay, 0o444)); err != nil {
		t.Fatal(err)
	}
	var built sitebuild.Record
	built.Version = 1
	for _, id := range []string{imageOverlay, treeOverlay, gone, imageOverlay} {
		built.Builds = append(built.Builds, sitebuild.Entry{Name: "x", State: sitebuild.Built, Overlay: id})
	}
	built.Builds = append(built.Builds, sitebuild.Entry{Name: "y", State: sitebuild.Failed})
	record, err := json.Marshal(&built)
	if err = errors.Join(err, os.WriteFile(sitebuild.RecordPath(store, testID, platform), record, 0o444)); err != nil {
		t.Fatal(err)
	}
	out, err := s.inNamespace(`cat $root/` + testID + `/what; echo; cat $root/` + imageOverlay + `/what $root/` + treeOverlay + `/what; echo; ls $root | wc -l; grep -c "$root/.*squashfs" /proc/self/mountinfo`)
	if err != nil || out != "image\nan image, a tree\n4\n2\n" {
		t.Errorf("%v: %s", err, out)
	}
	// Also where the environment itself is a tree.
	env := filepath.Join(store, "trees", platform, testID)
	if err := errors.Join(os.Remove(s.image), os.Mkdir(env, 0o755), os.WriteFile(filepath.Join(env, "what"), []byte("tree"), 0o644)); err != nil {
		t.Fatal(err)
	}
	out, err = s.inNamespace(`cat $root/` + testID + `/what $root/` + imageOverlay + `/what`)
	if err != nil || out != "treean image, " {
		t.Errorf("%v: %s", err, out)
	}
}

// Steps that start together share one loop device.
func TestAttachImageAtOnce(t *testing.T) {
	s := newImageStore(t)
	var wg sync.WaitGroup
	outs := make([]string, 20)
	for i := range outs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// Each stays until all are there.
			out, err := s.inNamespace(`cut -d' ' -f3,5- /proc/self/mountinfo | grep "$root.*squashfs"; touch "$root/../there.$$"
				n=0; while [ $(ls "$root/.." | grep -c there) -lt 20 ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done`)
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			outs[i] = out
		}()
	}
	wg.Wait()
	for _, out := range outs {
		if out != outs[0] || !strings.Contains(out, "/dev/loop") {
			t.Fatalf("different devices or file systems: %q", outs)
		}
	}
	s.freed(t)
}

// What is not the image that was published is not mounted.
func TestAttachImageRefused(t *testing.T) {
	for what, c := range map[string]struct {
		spoil func(s *imageStore) error
		want  string
	}{
		"cut short":      {func(s *imageStore) error { return os.Truncate(s.image, 96) }, "it was published with"},
		"another owner":  {func(s *imageStore) error { return os.Chown(s.image, 12345, 12346) }, "belongs to uid 12345"},
		"write bit":      {func(s *imageStore) error { return os.Chmod(s.image, 0o644) }, "may be written"},
		"gone":           {func(s *imageStore) error { return os.Remove(s.image) }, "no such file"},
		"symbolic link":  {func(s *imageStore) error { return link(s.image) }, "symbolic links are not followed"},
		"link in a path": {func(s *imageStore) error { return link(filepath.Dir(s.image)) }, "symbolic links are not followed"},
		"superblock": {func(s *imageStore) error {
			b, err := os.ReadFile(s.image)
			if err != nil {
				return err
			}
			b[8]++ // the time of making
			return os.WriteFile(s.image, b, 0o444)
		}, "another superblock"},
		"a directory": {func(s *imageStore) error {
			return errors.Join(os.Remove(s.image), os.Mkdir(s.image, 0o555))
		}, "no regular file"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newImageStore(t)
			if err := c.spoil(s); err != nil {
				t.Fatal(err)
			}
			out, err := s.inNamespace("echo attached")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, c.want) || !strings.Contains(out, "; next: ") {
				t.Errorf("%v, want exit code %d and %q: %s", err, api.ExitUnreachable, c.want, out)
			}
		})
	}
}

// link puts a symbolic link in the place of a path, to what it was.
func link(path string) error {
	return errors.Join(os.Rename(path, path+".moved"), os.Symlink(path+".moved", path))
}

// Trees that other steps of a job may use are not hidden by an image's step.
func TestAttachImageShared(t *testing.T) {
	s := newImageStore(t)
	s.args = append(s.args, "--shared")
	if out, err := s.inNamespace(`attach "$@" && cat $root/` + testID + `/what`); err != nil || out != "image" {
		t.Errorf("nothing there: %v: %s", err, out)
	}
	if err := os.Mkdir(filepath.Join(s.base, "e", treeID), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := s.inNamespace("echo attached")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, "would be hidden") {
		t.Errorf("trees there: %v: %s", err, out)
	}
}
