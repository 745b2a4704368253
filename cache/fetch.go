package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/cache/credential"
	"github.com/hpcenv/hpcenv/cache/remote"
)

// Fetch brings src's archive into archives/ and returns its path; fetched is
// false if it was there. Size and digests are verified before the archive can
// be seen under its name. A download that broke off is resumed, by the next
// call too. Of several callers for one archive, in any process, one downloads
// and the others wait. progress (may be nil) is told how many bytes are there,
// and how many there will be (0 = not known).
//
// Errors: ErrIntegrity (other bytes than promised; the part is removed),
// ErrFetch (not delivered; the part stays), ErrStore.
func (s *Store) Fetch(ctx context.Context, f *Fetcher, src Source, progress func(done, total int64)) (path string, fetched bool, err error) {
	if err := src.check(); err != nil {
		return "", false, err
	}
	path = s.ArchivePath(src)
	if ok, err := s.hasArchive(src); ok || err != nil {
		return path, false, err
	}
	release, err := s.Lock(ctx, "archive-"+src.SHA256, nil)
	if err != nil {
		return "", false, fmt.Errorf("package %s: %w", src.Name, err)
	}
	defer func() { err = errors.Join(err, release()) }()
	if ok, err := s.hasArchive(src); ok || err != nil {
		return path, false, err
	}
	if ok, err := s.fromBase(ctx, src); ok || err != nil {
		return path, false, err
	}
	if progress == nil {
		progress = func(int64, int64) {}
	}
	d := &download{s: s, f: f, src: src, progress: progress, part: filepath.Join(s.root, "archives", src.SHA256+".part")}
	if err := d.run(ctx); err != nil {
		return "", false, &SourceError{Source: src, Err: err}
	}
	return path, true, nil
}

// hasArchive reports whether src's archive is there. Its digests were verified
// when it was published and are again when it is unpacked.
func (s *Store) hasArchive(src Source) (bool, error) {
	path := s.ArchivePath(src)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, storeError("look at", path, err)
	}
	if src.Size > 0 && st.Size() != src.Size {
		// It is not what it was: as good as absent. The new one replaces it.
		return false, nil
	}
	return true, nil
}

// download is the state of one Fetch.
type download struct {
	s        *Store
	f        *Fetcher
	src      Source
	progress func(done, total int64)
	part     string
	file     *os.File
	sum      *digester // over what file holds
	// at is the place that is asked now.
	at *remote.Target
	// tries that bring nothing new and are made at one place.
	allowed int
	// uncached: what caches on the way hold is not wanted.
	uncached bool
	// look: the bytes are compared with src, and not published.
	look bool
}

// run gets the bytes from one of the places that have them, verifies and
// publishes them.
func (d *download) run(ctx context.Context) (err error) {
	targets, access, err := d.f.targets(d.src)
	if err != nil {
		return err
	}
	if d.file, err = openPart(d.part); err != nil {
		return storeError("open", d.part, err)
	}
	defer func() { err = errors.Join(err, ignore(d.file.Close(), os.ErrClosed)) }()
	var failed []error
	for i, t := range targets {
		if t.Credential().Kind() != credential.None && !d.look {
			if err := d.s.keepsPrivate(); err != nil {
				if d.sum == nil { // nothing was brought yet
					err = withCleanup(err, d.removePart())
				}
				return err
			}
		}
		d.at, d.uncached = t, false
		d.allowed = d.f.opt.Retries + 1
		if i+1 < len(targets) {
			d.allowed = min(d.allowed, triesBeforeNext)
		}
		if _, err := d.file.Seek(0, io.SeekStart); err != nil {
			return storeError("rewind", d.part, err)
		}
		err := d.ask(ctx)
		if err == nil {
			access.Worked(t)
			if d.look {
				return nil
			}
			return d.publish()
		}
		if ctx.Err() != nil || errors.Is(err, ErrStore) {
			return err
		}
		if faulty(err) {
			access.Failed(t)
		}
		failed = append(failed, err)
	}
	err = failed[0]
	if len(failed) > 1 {
		err = &placesError{failed}
	}
	if errors.Is(failed[len(failed)-1], ErrIntegrity) || d.sum != nil && d.sum.n == 0 {
		err = withCleanup(err, d.removePart())
	}
	return err
}

// faulty reports whether err is a place's own fault: one that lacks a package, or
// wants to know who asks, is none the worse for others.
func faulty(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return !status.Unauthorized() && !status.Gone()
	}
	return !errors.Is(err, ErrOffline) && !errors.Is(err, os.ErrNotExist)
}

// triesBeforeNext is how often a place is asked that is not the last one.
const triesBeforeNext = 2

// withCleanup is err, and what went wrong afterwards if anything did.
func withCleanup(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return errors.Join(err, cleanup)
}

// ask gets the bytes from the place d.at.
func (d *download) ask(ctx context.Context) error {
	var err error
	if d.at.URL.Scheme == "file" {
		err = d.copyFile(ctx, d.at.URL)
	} else {
		if d.f.opt.Offline {
			return fmt.Errorf("%w: %w: %s", ErrFetch, ErrOffline, d.at.Shown)
		}
		release, aerr := d.f.slots.Acquire(ctx, nil)
		if aerr != nil {
			return aerr
		}
		err = d.transfer(ctx)
		release()
	}
	if unread := d.f.unread(); unread != nil && d.at.Credential().Kind() == credential.None && WantsCredential(err) {
		return fmt.Errorf("%w; the credential may be in a file that cannot be read: %v", err, unread)
	}
	if errors.Is(err, ErrIntegrity) {
		return fmt.Errorf("%s: %w; if the server was changed, update the lock", d.at.Shown, err)
	}
	return err
}

// targets are the places where src is, the best first.
func (f *Fetcher) targets(src Source) ([]*remote.Target, *remote.Access, error) {
	access, err := f.access()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFetch, err)
	}
	targets, err := access.Targets(src.URL, src.SHA256)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFetch, err)
	}
	return targets, access, nil
}

// NeedsNetwork reports whether getting src's archive with f would ask the
// network: it is not in the store, and no file is where it is looked for.
func (s *Store) NeedsNetwork(f *Fetcher, src Source) (bool, error) {
	if ok, err := s.HasArchive(src); ok || err != nil {
		return false, err
	}
	targets, _, err := f.targets(src)
	if err != nil {
		return false, err
	}
	for _, t := range targets {
		if t.URL.Scheme != "file" {
			continue
		}
		// A missing file that only a file URL names is that one's error.
		if _, err := os.Stat(t.URL.Path); err == nil || len(targets) == 1 {
			return false, nil
		}
	}
	return true, nil
}

// openPart opens a partial download. One that was whole and already sealed when
// its process was killed, just before it got its name, cannot be written to by
// the owner any more; it is unsealed.
func openPart(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if !errors.Is(err, os.ErrPermission) || os.Chmod(path, 0o644) != nil {
		return f, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

// copyFile reads a file URL. Nothing is resumed: the file is here.
func (d *download) copyFile(ctx context.Context, u *url.URL) error {
	fail := func(err error) error {
		return fmt.Errorf("%w: %s: %w", ErrFetch, d.at.Shown, err)
	}
	if err := d.restart(); err != nil {
		return err
	}
	if !d.f.opt.AllowFile && !d.at.Operator {
		return fail(errors.New("file URLs are not permitted here; hand the archive over instead"))
	}
	if u.Host != "" && u.Host != "localhost" {
		return fail(fmt.Errorf("it names the host %q, but only this host's files can be read", u.Host))
	}
	in, err := os.Open(u.Path)
	if err != nil {
		return fail(err)
	}
	defer in.Close() // only read
	st, err := in.Stat()
	if err != nil {
		return fail(err)
	}
	if !st.Mode().IsRegular() {
		return fail(errors.New("it is no regular file"))
	}
	if d.src.Size > 0 && st.Size() != d.src.Size {
		return d.wrongSize(st.Size())
	}
	if _, err := d.take(&contextReader{ctx: ctx, r: in}); err != nil {
		if ctx.Err() != nil || errors.Is(err, ErrStore) || errors.Is(err, ErrIntegrity) {
			return err
		}
		return fail(err)
	}
	return d.sum.check(d.src)
}

func (d *download) wrongSize(got int64) error {
	return fmt.Errorf("%w: size is %d bytes, the lock says %d", ErrIntegrity, got, d.src.Size)
}

// take appends what r yields to the part and returns how much that was.
func (d *download) take(r io.Reader) (int64, error) {
	limit := d.f.opt.MaxBytes
	if d.src.Size > 0 {
		limit = d.src.Size
	}
	before := d.sum.n
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if d.sum.n+int64(n) > limit {
				return d.sum.n - before, fmt.Errorf("%w: size is more than %d bytes", ErrIntegrity, limit)
			}
			if _, werr := d.file.Write(buf[:n]); werr != nil {
				return d.sum.n - before, storeError("write", d.part, werr)
			}
			if _, herr := d.sum.Write(buf[:n]); herr != nil {
				return d.sum.n - before, herr
			}
			d.progress(d.sum.n, d.src.Size)
		}
		if err == io.EOF {
			return d.sum.n - before, nil
		}
		if err != nil {
			return d.sum.n - before, err
		}
	}
}

// restart empties the part.
func (d *download) restart() error {
	d.sum = newDigester(d.src)
	if err := d.file.Truncate(0); err != nil {
		return storeError("truncate", d.part, err)
	}
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return storeError("rewind", d.part, err)
	}
	return storeError("remove", d.noteName(), ignore(os.Remove(d.noteName()), os.ErrNotExist))
}

func (d *download) removePart() error {
	return errors.Join(
		storeError("remove", d.part, ignore(os.Remove(d.part), os.ErrNotExist)),
		storeError("remove", d.noteName(), ignore(os.Remove(d.noteName()), os.ErrNotExist)))
}

// publish gives the verified part its name. It is not made durable one by one:
// an archive is never trusted for being there (verify looks again, by size and
// digest), and the sync before a package's publication covers its archive too.
func (d *download) publish() error {
	if err := d.file.Chmod(0o444); err != nil {
		return storeError("write", d.part, err)
	}
	if err := d.s.own(d.part); err != nil {
		return err
	}
	st, err := d.file.Stat()
	if err = errors.Join(err, d.file.Close()); err != nil {
		return storeError("write", d.part, err)
	}
	path := d.s.ArchivePath(d.src)
	if err := d.s.mayPublish(); err != nil {
		return err
	}
	if err := os.Rename(d.part, path); err != nil {
		return storeError("publish", path, err)
	}
	d.s.verified.Store(path, verifiedArchive{src: d.src, size: st.Size(), file: identity(st)})
	return storeError("remove", d.noteName(), ignore(os.Remove(d.noteName()), os.ErrNotExist))
}
