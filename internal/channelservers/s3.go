package channelservers

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/internal/testdata"
)

// S3 is a running S3 server.
type S3 struct {
	// Endpoint is its http URL, Bucket a bucket with the channel at its root.
	Endpoint, Bucket string
	// ID and Key open it; Region is where it says it is.
	ID, Key, Region string
}

// StartS3 serves the channel's files (by path) from a bucket until the test ends.
func StartS3(t testing.TB, files map[string][]byte) *S3 {
	t.Helper()
	dir := testdata.Servers(t)
	data, address := t.TempDir(), testdata.FreeAddress(t)
	s := &S3{Endpoint: "http://" + address, Bucket: "channel", ID: "test-id", Key: "test+secret/key", Region: "test-region-1"}
	for path, content := range files {
		at := filepath.Join(data, s.Bucket, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "versitygw"), "--port", address, "--region", s.Region, "--quiet", "posix", "--nometa", data)
	cmd.Env = []string{"ROOT_ACCESS_KEY_ID=" + s.ID, "ROOT_SECRET_ACCESS_KEY=" + s.Key, "HOME=" + data}
	start(t, cmd, address)
	return s
}

// start starts a server, waits until it listens, and ends it with the test.
func start(t testing.TB, cmd *exec.Cmd, address string) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err == nil {
			<-ended // killed: nothing else to learn
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v", cmd.Path, err)
		case <-ctx.Done():
			t.Fatalf("%s does not listen: %v", cmd.Path, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
