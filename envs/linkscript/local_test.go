//go:build linux

package linkscript_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// What a script does to its prefix is found by content; its environment is as the
// standard has it.
func TestWhatAScriptChanges(t *testing.T) {
	p := newPlace(t, `set -e
tool
[ "$PREFIX" = `+prefix+` ] && [ "$ROOT_PREFIX" = "$PREFIX" ] && [ "$PKG_NAME $PKG_VERSION $PKG_BUILDNUM" = "x 1.2 3" ]
[ "${PATH%%:*}" = "$PREFIX/bin" ] && [ -z "$SECRET$SOURCE_DIR" ] && [ "$PWD" = "$PREFIX" ]
echo more >> "$PREFIX/share/linked"
printf 1 > "$PREFIX/lib/a/one"            # the same content: no change
rm "$PREFIX/share/gone"
mkdir -p "$PREFIX/new/deep"; echo '#!/bin/sh' > "$PREFIX/new/run"; chmod 700 "$PREFIX/new/run"
ln -s ../share/linked "$PREFIX/new/rel"; ln -s "$PREFIX/lib" "$PREFIX/new/abs"
ln "$PREFIX/share/linked" "$PREFIX/new/hard"
chmod 700 "$PREFIX/new/deep"; chmod 000 "$PREFIX/share/linked"
echo '{"evil": 1}' > "$PREFIX/conda-meta/x-1-0.json"
rm -rf "$PREFIX/lib/a"; echo file > "$PREFIX/lib/a"
echo "read the manual" >> "$PREFIX/.messages.txt"
echo scratch > /tmp/x
`)
	t.Setenv("SECRET", "s3cret")
	o := p.run()
	if o.Failed != "" {
		t.Fatalf("%s\n%s", o.Failed, o.Output)
	}
	want := `file lib/a "file\n"
gone lib/a/one
dir new
link new/abs → ` + prefix + `/lib
dir new/deep
file new/hard "as it was\nmore\n"
link new/rel → ../share/linked
file new/run x "#!/bin/sh\n"
gone share/gone
file share/linked "as it was\nmore\n"
`
	if got := lines(o); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if o.Messages != "read the manual" || len(o.Ignored) != 1 || o.Ignored[0] != "conda-meta/x-1-0.json" || !strings.Contains(o.Output, "tool") {
		t.Errorf("messages %q, ignored %q, output %q", o.Messages, o.Ignored, o.Output)
	}
	p.untouched()
}

// A script that is content with its prefix reaches nothing else: each of these
// tries something and says BROKEN where it can.
func TestSandboxHolds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	accepted := make(chan struct{})
	go func() {
		if c, err := listener.Accept(); err == nil {
			close(accepted)
			c.Close()
		}
	}()
	dir := t.TempDir()
	sock := filepath.Join(dir, "sock")
	unixListener, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer unixListener.Close()
	for name, script := range map[string]string{
		"network":          fmt.Sprintf("echo > /dev/tcp/127.0.0.1/%d && echo BROKEN", listener.Addr().(*net.TCPAddr).Port),
		"host sockets":     "[ -e " + sock + " ] || [ -e /run ] || [ -e /var ] && echo BROKEN",
		"the store":        "for d in TREE POOL SCRATCH; do [ -e $d ] && echo BROKEN; done",
		"another prefix":   "[ \"$(ls /opt/hpcenv/e)\" = ${PREFIX##*/} ] || echo BROKEN; mkdir /opt/hpcenv/e/other && echo BROKEN; mv $PREFIX /opt/hpcenv/e/x && echo BROKEN",
		"the system":       "for d in / /usr /usr/bin /etc /opt /dev /dev/shm /proc; do touch $d/new && echo BROKEN; done; echo >> /usr/bin/env && echo BROKEN",
		"homes":            "[ -e /root ] || [ -e /home ] || [ -e /etc/passwd ] || [ -e /etc/shadow ] && echo BROKEN",
		"name spaces":      "unshare -r /usr/bin/true && echo BROKEN; unshare -n /usr/bin/true && echo BROKEN; nsenter -t 1 -m /usr/bin/true && echo BROKEN",
		"mounts":           "mount -t tmpfs none $PREFIX/lib && echo BROKEN; mount -o remount,rw / && echo BROKEN",
		"other processes":  "kill -0 " + fmt.Sprint(os.Getpid()) + " && echo BROKEN; [ -e /proc/" + fmt.Sprint(os.Getpid()) + " ] && echo BROKEN",
		"its limits":       "ulimit -f unlimited && echo BROKEN; ulimit -u unlimited && echo BROKEN; ulimit -v unlimited && echo BROKEN",
		"privileges":       "[ $UID = 65534 ] || echo BROKEN; chown 0 $PREFIX/share/linked && echo BROKEN; su -c true && echo BROKEN",
		"devices":          "for d in /dev/*; do case ${d##*/} in null|zero|full|random|urandom|tty|console|ptmx|pts|shm|core|fd|std*) ;; *) echo BROKEN $d;; esac; done; mknod $PREFIX/d b 8 0 && echo BROKEN",
		"standard input":   "[ -t 0 ] || [ -t 1 ] && echo BROKEN; read -r x && echo BROKEN",
		"hidden memory":    perl("exit(defined(shmget(0, 4096, 0600)) ? 0 : 1)") + " && echo BROKEN; " + perl("exit(memfd() >= 0 ? 0 : 1)") + " && echo BROKEN",
		"file descriptors": "for f in /proc/self/fd/*; do case $(readlink $f) in pipe:*|/dev/null|/proc/*|" + prefix + "/*|'') ;; *) echo BROKEN $f $(readlink $f);; esac; done",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, "")
			script = strings.NewReplacer("TREE", p.tree, "POOL", p.pool, "SCRATCH", p.task.Scratch).Replace(script)
			if err := os.Remove(filepath.Join(p.tree, p.task.Script.Path)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.tree, p.task.Script.Path), []byte(script+"\necho END\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			o := p.run()
			if o.Failed != "" || strings.Contains(o.Output, "BROKEN") || !strings.Contains(o.Output, "END") {
				t.Errorf("%s\n%s", o.Failed, o.Output)
			}
			if len(o.Changes) > 0 {
				t.Errorf("changes: %s", lines(o))
			}
			p.untouched()
		})
	}
	select {
	case <-accepted:
		t.Error("a connection came out of the sandbox")
	default:
	}
}

// Hard links least of all lead into the store: whatever a script does to a file that
// is linked from the pool, the pool's stays.
func TestPoolIsSafe(t *testing.T) {
	p := newPlace(t, `cd "$PREFIX"
for f in share/linked lib/a/one bin/tool; do
	echo evil >> $f; echo evil > $f; chmod 777 $f; truncate -s 0 $f; touch $f
	dd if=/dev/zero of=$f bs=1 count=5 conv=notrunc; sed -i s/x/y/ $f; ln $f $f.more; echo evil > $f.more
done
find . -type f -exec sh -c 'echo evil > "$1"' sh {} \;
exit 0
`)
	if o := p.run(); o.Failed != "" || len(o.Changes) == 0 {
		t.Fatalf("%s %s", o.Failed, o.Output)
	}
	p.untouched()
}

// perl is a command of system calls that no shell has; sysread0 fills memory with
// zeros.
func perl(program string) string {
	numbers := map[string][3]int{"amd64": {9, 0, 319}, "arm64": {222, 63, 279}}[runtime.GOARCH] // mmap, read, memfd_create
	return fmt.Sprintf(`perl -e 'sub mmap { syscall(%d, 0, $_[0], 3, 0x21, -1, 0) }'`+
		` -e 'sub sysread0 { open(Z, "/dev/zero"); syscall(%d, fileno(Z), $_[0], $_[1]) }'`+
		` -e 'sub memfd { $n = "x"; syscall(%d, $n, 0) }' -e '%s'`, numbers[0], numbers[1], numbers[2], program)
}

// A script that wants all of the host is ended, says why, and changes nothing.
func TestBounds(t *testing.T) {
	mark := fmt.Sprintf("%d.%d", 700000+os.Getpid(), time.Now().UnixNano()%1e6)
	for name, c := range map[string]struct {
		script, want string
		limits       func(*linkscript.Limits)
	}{
		"time":             {"exec sleep MARK", "longer than 1s", func(l *linkscript.Limits) { l.Time = time.Second }},
		"deaf to signals":  {"trap '' TERM INT HUP QUIT; while :; do sleep MARK; done", "longer than 1s", func(l *linkscript.Limits) { l.Time = time.Second }},
		"busy":             {"while :; do :; done", "longer than 1s", func(l *linkscript.Limits) { l.Time = time.Second }},
		"fork bomb":        {"f() { f | f & }; f; sleep MARK", "", func(l *linkscript.Limits) { l.Time = 3 * time.Second }},
		"many processes":   {"for i in {1..200}; do sleep MARK & done; sleep MARK", "", func(l *linkscript.Limits) { l.Time = 3 * time.Second }},
		"memory of one":    {"x=x; while :; do x=$x$x; done", "", nil},
		"memory of many":   {"for i in 1 2 3 4 5; do (x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep MARK) & done; sleep MARK", "of memory", func(l *linkscript.Limits) { l.Memory = 200 << 20 }},
		"shared memory":    {"for i in 1 2 3; do " + perl("$a = mmap(100 << 20); sysread0($a, 100 << 20); sleep 30") + " & done; sleep MARK", "of memory", func(l *linkscript.Limits) { l.Memory = 200 << 20 }},
		"deleted files":    {"for f in 5 6 7 8; do eval \"exec $f>\\$PREFIX/x\"; rm $PREFIX/x; head -c 6M /dev/zero >&$f; done; sleep MARK", "at most 16 are allowed", nil},
		"one large file":   {"head -c 1G /dev/zero > $PREFIX/big", "", nil},
		"sparse file":      {"truncate -s 10M $PREFIX/a; truncate -s 10M $PREFIX/b; sleep 1", "at most 16 are allowed", nil},
		"many bytes":       {"i=0; while :; do head -c 4M /dev/zero > $PREFIX/f$i; i=$((i+1)); done", "at most 16 are allowed", nil},
		"bytes in /tmp":    {"i=0; while :; do head -c 4M /dev/zero > /tmp/f$i; i=$((i+1)); done", "at most 16 are allowed", nil},
		"many files":       {"i=0; while :; do : > $PREFIX/f$i; i=$((i+1)); done", "at most 500 are allowed", nil},
		"many directories": {"while :; do mkdir d; cd d || exit 0; done", "at most 500 are allowed", nil},
		"files at the end": {"for i in {1..600}; do : > f$i; done", "at most 500 are allowed", nil},
		"hidden files":     {"mkdir h; cd h; for i in {1..600}; do : > f$i; done; chmod 000 .; sleep 1", "", nil},
		"hidden directory": {"mkdir h; chmod 000 h", "it hid files", nil},
		"beyond any path":  {"n=$(printf 'd%.0s' {1..250}); for i in {1..20}; do mkdir $n; cd $n; done; for i in {1..600}; do : > f$i; done; chmod 000 .; sleep 1", "it hid files", nil},
		"too long a path":  {"n=$(printf 'd%.0s' {1..250}); for i in {1..20}; do mkdir $n; cd $n; done", "it hid files", nil},
		"fails":            {"echo why >&2; echo x > $PREFIX/new; exit 7", "exit status 7", nil},
		"kills itself":     {"kill -9 $$", "137", nil},
		"device":           {"mkfifo $PREFIX/fifo; [ -p $PREFIX/fifo ] || exit 9", "", nil},
		"set-user-id":      {"cp /usr/bin/env $PREFIX/env; chmod u+s $PREFIX/env", "set-user-id", nil},
		"set-group-id":     {"cp /usr/bin/env $PREFIX/env; chmod g+s $PREFIX/env", "set-user-id", nil},
		"name of no text":  {"touch $PREFIX/$(printf '\\377')", "not UTF-8", nil},
		"link of no text":  {"ln -s $(printf 'a\\377') $PREFIX/l", "not UTF-8", nil},
		"absolute link":    {"ln -s /etc/passwd $PREFIX/l", "out of the prefix", nil},
		"escaping link":    {"ln -s ../../x $PREFIX/share/l", "out of the prefix", nil},
		"sideways link":    {"ln -s ../x/y $PREFIX/l", "out of the prefix", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "fork bomb" && os.Getuid() == 0 {
				// The kernel does not count root's processes: only the watcher would
				// end it, after it has taken the host down for others.
				t.Skip("ROOT: TestUnderTheUnit runs the fork bomb as an account")
			}
			// The kernel counts processes by account: what uses them up runs alone, or a
			// sandbox beside it is not started.
			if name != "fork bomb" && name != "many processes" {
				t.Parallel()
			}
			p := newPlace(t, strings.ReplaceAll(c.script, "MARK", mark)+"\n")
			if c.limits != nil {
				c.limits(&p.task.Limits)
			}
			start := time.Now()
			o := p.run()
			if o.Failed == "" || !strings.Contains(o.Failed, c.want) {
				t.Errorf("failed: %q, want %q\n%s", o.Failed, c.want, o.Output)
			}
			if len(o.Changes) > 0 {
				t.Errorf("a failed script changed %s", lines(o))
			}
			if took := time.Since(start); took > p.task.Limits.Time+10*time.Second {
				t.Errorf("it took %v", took)
			}
			p.untouched()
		})
	}
	t.Cleanup(func() { ended(t, mark) })
}

// Nothing outlives a script: not what it left in the background, not when the
// caller gives up, not when the caller is killed.
func TestNothingStaysAlive(t *testing.T) {
	mark := func() string { return fmt.Sprintf("%d.%d", 800000+os.Getpid(), time.Now().UnixNano()%1e6) }
	t.Run("in the background", func(t *testing.T) {
		m := mark()
		p := newPlace(t, "setsid nohup sleep "+m+" >/dev/null 2>&1 & (while :; do date > $PREFIX/clock; done) & disown -a; echo x > $PREFIX/new; exit 0\n")
		o := p.run()
		if left := running(t, m); o.Failed != "" || len(left) > 0 {
			t.Errorf("%s, running: %v", o.Failed, left)
		}
	})
	t.Run("the caller gives up", func(t *testing.T) {
		m := mark()
		p := newPlace(t, "setsid sleep "+m+" & sleep "+m+"\n")
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for len(running(t, m)) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
		}()
		if _, err := local(t).Run(ctx, p.task); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		ended(t, m)
	})
	t.Run("the caller is killed", func(t *testing.T) {
		local(t)
		m := mark()
		cmd := again(t, "TestSleeper", sleeperMark+"="+m)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; len(running(t, "sleep\x00"+m)) == 0; i++ {
			if i > 1000 {
				t.Fatal("the script did not start")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("it ended by itself")
		}
		ended(t, "sleep\x00"+m)
	})
}

// Text from a script cannot steer a terminal, nor fill the memory.
func TestOutputIsTamed(t *testing.T) {
	p := newPlace(t, `head -c 3M /dev/zero | tr '\0' a; printf '\033]0;evil\007\377end\n'; head -c 1M /dev/zero | tr '\0' m > $PREFIX/.messages.txt; printf '\033[2J' >> $PREFIX/.messages.txt`)
	o := p.run()
	if o.Failed != "" || len(o.Output) > 8<<10 || len(o.Messages) > 8<<10 || strings.ContainsAny(o.Output+o.Messages, "\033\007") || !strings.HasSuffix(o.Output, "end") {
		t.Errorf("%q %d %d %q", o.Failed, len(o.Output), len(o.Messages), o.Output[max(0, len(o.Output)-40):])
	}
}

func TestOtherArchitectureCannotRun(t *testing.T) {
	if err := local(t).CanRun("linux-ppc64le"); !errors.Is(err, linkscript.ErrCannotRun) {
		t.Errorf("got %v", err)
	}
}

// A prefix may lie below /tmp, as in a store of one's own.
func TestPrefixBelowTmp(t *testing.T) {
	p := newPlace(t, "echo x > $PREFIX/new; echo y > /tmp/y; ls -A /tmp")
	p.task.Prefix = "/tmp/a/b/c"
	if o := p.run(); o.Failed != "" || lines(o) != "file new \"x\\n\"\n" || o.Output != "a\ny" {
		t.Errorf("%+v", o)
	}
}

// That the sandbox cannot be set up is not the script's failure.
func TestSandboxThatDoesNotStart(t *testing.T) {
	p := newPlace(t, "echo "+strings.Repeat("x", 100))
	p.task.Prefix = "/usr/no/such/place"
	if o, err := local(t).Run(context.Background(), p.task); !errors.Is(err, linkscript.ErrCannotRun) || !strings.Contains(err.Error(), "bwrap: ") {
		t.Errorf("%+v %v", o, err)
	}
}
