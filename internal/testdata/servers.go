package testdata

import (
	"net"
	"os"
	"sync"
	"testing"
)

var (
	serversOnce sync.Once // the servers are looked for once per process
	serversDir  string
	serversErr  error
)

// Servers is the folder of the real servers that channels are fetched from:
// versitygw (S3) and registry (OCI). contrib/setup/servers.sh makes it. Where it
// was not made the test is skipped, loudly; with HPCENV_REQUIRE_SERVERS set it
// fails.
func Servers(t testing.TB) string {
	t.Helper()
	serversOnce.Do(func() {
		serversDir, serversErr = scriptPath(t, "contrib/setup/servers.sh")
	})
	if serversErr == nil {
		return serversDir
	}
	if os.Getenv("HPCENV_REQUIRE_SERVERS") != "" {
		t.Fatalf("servers: %v", serversErr)
	}
	t.Skipf("SERVERS ABSENT: this test was not run: contrib/setup/servers.sh path: %v", serversErr)
	return ""
}

// FreeAddress is a host:port of this host on which nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	return l.Addr().String()
}
