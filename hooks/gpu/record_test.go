package gpu

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

func TestRefreshAndLoad(t *testing.T) {
	d := gputest.Drivers()["lost"]
	root := gputest.Node(t, d)
	o := Options{Program: gputest.Program(t), Library: gputest.Library(t, d), RunDir: t.TempDir(), Limit: long}
	path := filepath.Join(o.RunDir, RecordFile)
	if _, err := Load(root, path); !errors.Is(err, ErrNoRecord) {
		t.Errorf("before the first: %v", err)
	}
	kept, err := Refresh(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	if kept.Verdict.Level != Unhealthy || kept.Failure != "" || !slices.Equal(ids(kept.Verdict), []string{"gpu-lost@3"}) {
		t.Errorf("%+v", kept.Verdict)
	}
	got, err := Load(root, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Errorf("(-kept +loaded):\n%s", diff)
	}
	now := time.Now()
	if !got.Fresh(now, time.Minute) || got.Fresh(now.Add(time.Hour), time.Minute) || got.Fresh(now.Add(-time.Hour), time.Minute) {
		t.Errorf("read at %v", got.Read)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("users' tasks read it: %v %v", info, err)
	}
}

// TestChangedDriver: whatever of the driver and its devices changes, the record is
// of something else.
func TestChangedDriver(t *testing.T) {
	d := gputest.Drivers()["4xgh200"]
	root := gputest.Node(t, d)
	o := Options{Program: gputest.Program(t), Library: gputest.Library(t, d), RunDir: t.TempDir(), Limit: long}
	path := filepath.Join(o.RunDir, RecordFile)
	in := func(name string) string { return filepath.Join(root, name) }
	for name, change := range map[string]func() error{
		"driver":  func() error { return os.WriteFile(in("proc/driver/nvidia/version"), []byte("other\n"), 0o644) },
		"module":  func() error { return os.WriteFile(in("sys/module/nvidia/srcversion"), []byte("other\n"), 0o644) },
		"gpu":     func() error { return os.RemoveAll(in("proc/driver/nvidia/gpus/0009:18:00.0")) },
		"device":  func() error { return os.Remove(in("dev/nvidia3")) },
		"mode":    func() error { return os.Chmod(in("dev/nvidia2"), 0o600) },
		"version": func() error { return os.WriteFile(path, []byte(`{"version":99}`), 0o644) },
		"garbage": func() error { return os.WriteFile(path, []byte(`{`), 0o644) },
		"owner":   func() error { return os.Chmod(path, 0o666) },
	} {
		if _, err := Refresh(t.Context(), root, o); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(root, path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if r, err := Load(root, path); r != nil || !errors.Is(err, ErrNoRecord) {
			t.Errorf("%s changed: %+v %v", name, r, err)
		}
	}
}

// TestNoAnswer: a driver that hangs is a record as well, and its verdict is no
// guess.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	o := broken(t, "nvmlDeviceGetCount_v2", gputest.Any, gputest.Hang)
	o.Limit = soon
	root := gputest.Node(t, gputest.Drivers()["8xh100"])
	r, err := Refresh(t.Context(), root, o)
	if err != nil || r.Report != nil || r.Failure == "" || r.Verdict.Level != Unknown {
		t.Fatalf("%+v %v", r, err)
	}
	if got, err := Load(root, filepath.Join(o.RunDir, RecordFile)); err != nil || got.Verdict.Level != Unknown {
		t.Errorf("%+v %v", got, err)
	}
	o.Program = filepath.Join(t.TempDir(), "absent")
	if r, err = Refresh(t.Context(), root, o); err != nil || r.Failure == "" || r.Verdict.Level != Unknown {
		t.Errorf("no program: %+v %v", r, err)
	}
}

// TestNodes: who has nothing to ask starts nothing; a GPU without a driver is asked
// for.
func TestNodes(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	o := Options{RunDir: t.TempDir(), Limit: long, Program: script(t, `: > `+started+`
echo '{"version":1,"vendor":"nvidia","state":"failed","failures":[{"call":"nvmlInit_v2","code":9,"text":"Driver Not Loaded"}]}'`)}
	root := t.TempDir()
	r, err := Refresh(t.Context(), root, o)
	if err != nil || r.Report != nil || r.Verdict.Level != OK {
		t.Errorf("%+v %v", r, err)
	}
	device := filepath.Join(root, "sys/bus/pci/devices/0000:18:00.0")
	if err := os.MkdirAll(device, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(device, name), []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("vendor", vendorNVIDIA)
	for _, class := range []string{"0x020000", "0x030000"} { // a network card, a card for a display
		write("class", class)
		if r, err = Refresh(t.Context(), root, o); err != nil || r.Report != nil {
			t.Errorf("%s: %+v %v", class, r, err)
		}
	}
	if _, err := os.Stat(started); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program was started: %v", err)
	}
	write("class", "0x030200")
	if r, err = Refresh(t.Context(), root, o); err != nil || !slices.Equal(ids(r.Verdict), []string{"driver-not-loaded"}) {
		t.Errorf("%+v %v", r, err)
	}
}

// TestBusy: the record stands while another probe is under way.
func TestBusy(t *testing.T) {
	o := broken(t, "nvmlInit_v2", gputest.Any, 0)
	root := gputest.Node(t, gputest.Drivers()["8xh100"])
	if _, err := Refresh(t.Context(), root, o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.RunDir, RecordFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := lockDir(o.RunDir)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Refresh(t.Context(), root, o); r != nil || !errors.Is(err, ErrBusy) {
		t.Errorf("%+v %v", r, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%v: %s", err, after)
	}
}

func BenchmarkLoad(b *testing.B) {
	d := gputest.Drivers()["mig"]
	root := gputest.Node(b, d)
	o := Options{Program: gputest.Program(b), Library: gputest.Library(b, d), RunDir: b.TempDir()}
	if _, err := Refresh(b.Context(), root, o); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(o.RunDir, RecordFile)
	for b.Loop() {
		if _, err := Load(root, path); err != nil {
			b.Fatal(err)
		}
	}
}
