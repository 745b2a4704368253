package testdata

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var (
	channelOnce sync.Once // the channel is looked for once per process
	channelDir  string
	channelErr  error
)

// DemoChannel is the folder of the demo's conda channel, with a real CPython; it
// is made if it is not there yet, which takes some minutes once per machine.
// Where it cannot be made (it comes from Debian's packages) the test is skipped;
// with HPCENV_REQUIRE_DEMO set it fails.
func DemoChannel(t testing.TB) string {
	t.Helper()
	channelOnce.Do(func() {
		channelDir, channelErr = scriptPath(t, "contrib/demo/channel.sh")
	})
	if channelErr == nil {
		return channelDir
	}
	if os.Getenv("HPCENV_REQUIRE_DEMO") != "" {
		t.Fatalf("demo channel: %v", channelErr)
	}
	t.Skipf("DEMO CHANNEL ABSENT: this test was not run: contrib/demo/channel.sh path: %v", channelErr)
	return ""
}

// scriptPath asks a script of the repository for the place of what it makes.
func scriptPath(t testing.TB, script string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root(t), filepath.FromSlash(script)), "path")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
