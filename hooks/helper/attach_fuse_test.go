package helper

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// newFuseStore is an imageStore on a host that has squashfuse.
func newFuseStore(t *testing.T) *imageStore {
	t.Helper()
	s := newImageStore(t)
	if _, err := squashfuse.Find(); err != nil {
		t.Skip("NO SQUASHFUSE: ", err)
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("NO FUSE ON THIS HOST: ", err)
	}
	return s
}

// servers are the processes that have the image open.
func (s *imageStore) servers(t *testing.T) (pids []string) {
	t.Helper()
	fds, err := filepath.Glob("/proc/[0-9]*/fd/3")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil && name == s.image { // else it has ended
			pids = append(pids, strings.Split(fd, "/")[2])
		}
	}
	return pids
}

// ended waits until no process has the image open.
func (s *imageStore) ended(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(s.servers(t)) != 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still there: %v", s.servers(t))
		}
	}
}

// what is a script that prints an environment's file and how its prefix is mounted.
const what = `cat "$root/` + testID + `/what"; grep -o " $root/` + testID + ` .*" /proc/self/mountinfo | cut -d" " -f3-; `

// findServer is a script that prints the process whose descriptor 3 is the image ($image).
const findServer = `server() { for fd in /proc/[0-9]*/fd/3; do [ "$(readlink $fd)" != "$image" ] || echo "$fd" | cut -d/ -f3; done; }; `

// Without the kernel's help an image is shown by a process of the user's, outside of the
// session, the mounts and the descendants of who attached, which ends with the mounts.
func TestAttachFuse(t *testing.T) {
	s := newFuseStore(t)
	s.args = append(s.args, "--fuse=only")
	out, err := s.inNamespace("image=" + s.image + "; " + findServer + what + `p=$(server); stat -c %u /proc/$p; cut -d" " -f6 /proc/$p/stat; echo $p; [ $(readlink /proc/$p/ns/mnt) != $(readlink /proc/self/ns/mnt) ] && echo apart; touch "$root/` + testID + `/x" 2>/dev/null || echo read-only; cat "$root/../answers"`)
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) != 7 {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.HasPrefix(lines[0], "imagero,nosuid,nodev") || !strings.Contains(lines[0], squashfuse.Type+" "+s.image) {
		t.Errorf("mounted as %q", lines[0])
	}
	if lines[1] != "12345" || lines[2] != lines[3] {
		t.Errorf("the server is uid %s's, in session %s, as process %s", lines[1], lines[2], lines[3])
	}
	if got := strings.Join(lines[4:], " "); got != "apart read-only "+answered(asSquashfuse) {
		t.Errorf("%q", got)
	}
	s.ended(t)
}

// A server that is killed leaves an error and no hang; the next step mounts anew.
func TestAttachFuseKilled(t *testing.T) {
	s := newFuseStore(t)
	s.args = append(s.args, "--fuse=only", "--shared")
	out, err := s.inNamespace("image=" + s.image + "; " + findServer + `kill -9 $(server); while [ -n "$(server)" ]; do sleep 0.02; done; cat "$root/` + testID + `/what" 2>&1; attach "$@" && cat "$root/` + testID + `/what"; grep -c squashfuse /proc/self/mountinfo; cat "$root/../answers"`)
	if err != nil || !strings.Contains(out, "not connected\nimage1\n"+answered(asSquashfuse)+answered(asSquashfuse)) {
		t.Errorf("%v: %s", err, out)
	}
	s.ended(t)
}

// The user, whose process the server is, does not get into it: it is outside of the step.
func TestAttachFuseNotTraced(t *testing.T) {
	s := newFuseStore(t)
	s.args = append(s.args, "--fuse=only")
	out, err := s.inNamespace("image=" + s.image + "; " + findServer + `p=$(server); user="setpriv --reuid 12345 --regid 12346 --clear-groups"
		$user sleep 9 & own=$!; sleep 0.2; for pid in $own $p; do $user dd if=/proc/$pid/mem of=/dev/null count=0 2>/dev/null && echo in $pid; $user ls /proc/$pid/fd >/dev/null 2>&1 && echo fds $pid; done; kill $own; echo own $own`)
	fields := strings.Fields(out)
	if err != nil || len(fields) != 6 || fields[1] != fields[5] || fields[3] != fields[5] {
		t.Errorf("%v: %s", err, out)
	}
	s.ended(t)
}

// A server that its user stops is ended: else it would outlive its mount, and who waits for
// its answer the job.
func TestAttachFuseStopped(t *testing.T) {
	s := newFuseStore(t)
	s.args = append(s.args, "--fuse=only", "--shared")
	out, err := s.inNamespace("image=" + s.image + "; " + findServer + `p=$(server); setpriv --reuid 12345 --regid 12346 --clear-groups kill -STOP $p
		n=0; while [ -n "$(server)" ] && [ $n -lt 300 ]; do sleep 0.02; n=$((n+1)); done; cat "$root/` + testID + `/what" 2>&1; attach "$@" && cat "$root/` + testID + `/what"; setpriv --reuid 12345 --regid 12346 --clear-groups kill -STOP $(server)`)
	if err != nil || !strings.HasSuffix(out, "not connected\nimage") {
		t.Errorf("%v: %s", err, out)
	}
	s.ended(t)
}

// What follows when the kernel cannot: squashfuse, the tree, a refusal that names all.
func TestAttachFallback(t *testing.T) {
	const noLoop, noProgram = "mount --bind /dev/null /dev/loop-control; ", `for p in /usr/bin/squashfuse /usr/bin/squashfuse_ll; do [ ! -e $p ] || mount --bind /dev/null $p; done; `
	for name, c := range map[string]struct {
		tree         bool
		flags        []string
		before, want string
		refused      string
	}{
		"squashfuse": {true, nil, noLoop, "warning: STORE/images/PLATFORM/" + testID + ".sqfs is shown by squashfuse, which reads several times slower: this node has no loop device for the environment's image: ", ""},
		"the tree":   {true, nil, noLoop + noProgram, "the environment's tree is used and not its image", ""},
		"not wanted": {true, []string{"--fuse=no"}, noLoop, "squashfuse is not used", ""},
		"nothing":    {false, nil, noLoop + noProgram, "", "squashfuse is not installed"},
		"no FUSE":    {false, []string{"--fuse=only"}, "mount --bind /dev/zero /dev/fuse; ", "", "plugstack.conf says fuse=only"},
		"trees":      {true, []string{"--delivery=tree"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newFuseStore(t)
			if c.tree {
				dir := filepath.Join(s.base, "store/trees", hostPlatform(), testID)
				if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "what"), []byte("tree"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			s.args = append(s.args, c.flags...)
			out, err := s.inNamespaceAfter(c.before, what)
			out = strings.NewReplacer(s.base+"/store", "STORE", hostPlatform(), "PLATFORM").Replace(out)
			if c.refused != "" {
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.ExitCode() != api.ExitUnreachable || !strings.Contains(out, c.refused) || !strings.Contains(out, "; next: ") {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			file := "tree"
			if name == "squashfuse" {
				file = "image"
			}
			if err != nil || !strings.Contains(out, c.want) || !strings.Contains("\n"+out, "\n"+file) || strings.Contains(out, "next: ") || strings.Count(out, "warning: ") != min(1, len(c.want)) {
				t.Errorf("%v: %s", err, out)
			}
			s.ended(t)
			s.freed(t)
		})
	}
}
