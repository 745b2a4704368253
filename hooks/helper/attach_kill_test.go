package helper

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// An attach that is killed at any instant leaves nothing that hinders the next one, in
// its namespace or in another, and no loop device.
func TestAttachImageKilled(t *testing.T) {
	s := newImageStore(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const script = `self=$1 root=$2 after=$3; shift 3
"$self" "$@" & pid=$!
sleep $after; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null
"$self" "$@" && cat $root/` + testID + `/what && grep -c "$root.*squashfs" /proc/self/mountinfo`
	for range 12 {
		after := fmt.Sprintf("0.%03d", rand.IntN(60))
		args := append([]string{"--mount", "--propagation", "slave", "sh", "-c", script, "sh", self, s.base + "/e", after}, s.args...)
		out, err := exec.Command("unshare", args...).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "image1\n") {
			t.Fatalf("killed after %s s, then: %v\n%s", after, err, out)
		}
	}
	s.freed(t)
	left, err := os.ReadDir(s.base + "/run")
	if err != nil || len(left) != 1 {
		t.Errorf("%v: more than the one lock file is left: %v", err, left)
	}
}
