package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// handOver gets one archive with the user's own rights, from a file or with a
// credential, and gives its bytes to the daemon. Only what the lock itself names
// is opened or asked for, and only bytes whose digest the lock promises leave this
// process: a daemon cannot ask for anything else.
func (c *Client) handOver(ctx context.Context, req *PrepareRequest, n Need, report func(Event)) (err error) {
	if !bytes.Contains(req.Lock, []byte(n.Location)) || !bytes.Contains(req.Lock, []byte(n.SHA256)) {
		return Errorf(ExitFailed, "hpcenvd asks for %s (sha256 %s), which %s does not name; nothing was handed over", n.Package, n.SHA256, req.LockPath)
	}
	if !n.Credential {
		path, err := localPath(n.Location, filepath.Dir(req.LockPath))
		if err != nil {
			return err
		}
		return c.handFile(ctx, n, path)
	}
	switch {
	case c.Bring == nil:
		return Errorf(ExitFailed, "%s\nnext: hpcenv prepare, which fetches it with your credential", n.Refusal)
	case req.Offline:
		return Errorf(ExitFailed, "%s: hpcenvd has no credential for it, and --offline forbids to fetch it\nnext: the same command without --offline", n.Package)
	}
	path, remove, err := c.Bring(ctx, req, n, report)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return c.handFile(ctx, n, path)
}

// handFile gives the daemon the archive in the file at path.
func (c *Client) handFile(ctx context.Context, n Need, path string) error {
	fail := func(err error) error {
		return Errorf(ExitFailed, "%s: local archive %s: %v\nnext: put the file there or lock its project anew", n.Package, path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return fail(err)
	}
	if have := hex.EncodeToString(h.Sum(nil)); have != n.SHA256 {
		return Errorf(ExitFailed, "%s: local archive %s has sha256 %s, the lock says %s\nnext: lock the project anew if the file was rebuilt on purpose", n.Package, path, have, n.SHA256)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fail(err)
	}
	resp, err := c.do(ctx, http.MethodPut, "/v1/archives/"+n.SHA256, f, size, n.SHA256)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// localPath turns a lock's location into a path on this host.
func localPath(location, dir string) (string, error) {
	if strings.HasPrefix(location, "file:") {
		u, err := url.Parse(location)
		if err != nil || u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
			return "", Errorf(ExitFailed, "the lock's location %q is not the URL of a local file", location)
		}
		return filepath.Clean(u.Path), nil
	}
	if filepath.IsAbs(location) {
		return filepath.Clean(location), nil
	}
	return filepath.Join(dir, filepath.FromSlash(location)), nil
}
