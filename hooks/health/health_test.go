package health

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// A message whose fate is not known is sent again, also by a node that is again what it
// was before: the daemon may have taken it.
func TestAnUnansweredMessageIsNotForgotten(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil { // nobody answers there
		t.Fatal(err)
	}
	dir := t.TempDir()
	conf, run := filepath.Join(dir, "hpcenv.conf"), filepath.Join(dir, "run")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "daemon = %s\nowner = 0\nfrom = 127.0.0.1\nmunge_socket = %s\n", addr, filepath.Join(dir, "none")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(run, 0o755); err != nil {
		t.Fatal(err)
	}
	sent := filepath.Join(run, sentName)
	if err := os.WriteFile(sent, []byte("what was told before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	if err := Run(context.Background(), Options{Root: dir, RunDir: run, Conf: conf, Node: "n1", Stderr: &stderr}); err == nil {
		t.Error("telling nobody is no error")
	}
	if _, err := os.Stat(sent); !os.IsNotExist(err) {
		t.Errorf("what was told before passes for what the daemon has: %v", err)
	}
	if _, err := facts.LoadRecord(filepath.Join(run, facts.RecordFile)); err != nil {
		t.Errorf("launches have no facts while the daemon is down: %v", err)
	}
}
