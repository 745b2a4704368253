package helper

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/staging"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// Copies that this node has are found by what root itself noted when it made them: the
// store's part, the platform and the environment's id name one content. Nothing of the
// store is opened, looked for or compared: the only look at the store of such a launch is
// the child's, as the user, for what the site built for the environment meanwhile. That
// look asks for the store's root and meta/ID/FILE, four metadata operations on a node that
// remembers nothing; of a group's part, private/GROUP/meta/ID/FILE, six. The storage lets
// nobody through private/GROUP who is no member: that the user sees meta/ID there is the
// proof that a group's copy is for this user. What activation reads later is handed to it in the prefix root
// (prepared.NearIn), also what that look found.
//
// The pin is the user's to write. With a forged one a user gets what he may read anyhow:
// environments of everybody's part of the store that were used on this node before, also
// of other users, and of the parts of his own groups. It names no digest, size, path or
// file of a copy; a pin cannot have root believe that a file is an environment. It may name
// ids that the store no longer has: a copy serves until it leaves, or the administrator
// removes it. And it keeps copies from leaving, as any launch does.

// activates is what a pin says of an environment's activation.
type activates struct{ lock, digest string }

// know finds this node's copies for what the pin may choose.
func (f *attachFlags) know(p *pin.Pin) {
	f.part = staging.Part{Root: p.Within(f.store), Platform: hostPlatform()}
	f.activates = map[string][]activates{}
	for _, c := range append([]pin.Choice{p.Choice}, p.Others...) {
		if c.Activation != "" && len(c.Inline) == 0 {
			f.activates[c.ID] = append(f.activates[c.ID], activates{p.Lock, c.Activation})
		}
	}
	if f.local.Dir == "" {
		return
	}
	// An error is met again where a copy is to be made (stage), which says what follows.
	if known, err := f.local.Known(f.part); err == nil {
		f.known = known
	}
}

// forget closes the copies that were not needed.
func (f *attachFlags) forget() error {
	var errs []error
	for _, k := range f.known {
		errs = append(errs, k.Copy.Close())
	}
	return errors.Join(errs...)
}

// knownIDs are the environments that there are copies of.
func (f *attachFlags) knownIDs() []string { return slices.Sorted(maps.Keys(f.known)) }

// take is the copy that the child says is wanted.
func (f *attachFlags) take(one *offer) (*staging.Known, error) {
	k := f.known[one.ID]
	if k == nil {
		return nil, fmt.Errorf("the opening child wants a copy of %s, which this node does not have", one.ID)
	}
	delete(f.known, one.ID)
	one.Name, one.Image = k.Name, &k.Image
	if err := f.local.Used(k); err != nil {
		f.warn("that the copy of %s is used cannot be noted, and it may be the next to leave: %v", one.Name, err)
	}
	return k, nil
}

// copyOf is this node's copy of what the child offers, and what activation reads beside it;
// nil = the store's own is used. The caller closes it.
func (f *attachFlags) copyOf(c *opener, one *offer, file *os.File) (copied *os.File, n near, err error) {
	var k *staging.Known
	switch {
	case one.Copied:
		if k, err = f.take(one); err != nil {
			return nil, nil, err
		}
		copied = k.Copy
	case one.Image == nil:
		return nil, nil, nil
	default:
		if err := f.rootChecks(one, file); err != nil {
			return nil, nil, err
		}
		if copied, err = f.stage(one, file); copied == nil || err != nil {
			return nil, nil, err
		}
	}
	if n, err = f.nearOf(c, one, k); err != nil {
		return nil, nil, errors.Join(err, copied.Close())
	}
	return copied, n, nil
}

// near is what activation reads of an environment that has a copy, by the file's name.
type near map[string][]byte

// nearOf collects it: from the copy's record, or, for a new copy (nil), from the store.
// The child reads what is of the store. It is empty where something cannot be had so.
func (f *attachFlags) nearOf(c *opener, one *offer, k *staging.Known) (near, error) {
	out := near{}
	if k == nil {
		texts := map[string][]byte{}
		for _, name := range []string{prepared.NearDescription, prepared.NearNeeds} {
			b, _, err := c.read(filepath.Join("meta", one.ID, hostPlatform()+name))
			if err != nil {
				return nil, err
			}
			if b != nil {
				texts[name] = b
			}
		}
		if err := f.local.Keep(f.part, one.ID, one.Name, one.Image, texts); err != nil {
			f.warn("that there is a copy of %s cannot be noted, and the next launch looks at the store: %v", one.Name, err)
			return nil, nil
		}
		for name, b := range texts {
			out[one.ID+name] = b
		}
	} else {
		texts, err := f.local.Texts(k)
		if err != nil {
			f.warn("what was kept with the copy of %s cannot be read: %v", one.Name, err)
		}
		for name, b := range texts {
			out[one.ID+name] = b
		}
	}
	if out[one.ID+prepared.NearDescription] == nil {
		return nil, nil
	}
	// Changes while jobs wait, and proves the right to a group's copy.
	b, there, err := c.read(filepath.Join("meta", one.ID, hostPlatform()+prepared.NearOverlays))
	if err != nil || there && b == nil {
		return nil, err
	}
	out[one.ID+prepared.NearOverlays] = b // empty = nothing was built
	for _, a := range f.activates[one.ID] {
		if b, err = f.activation(c, a); err != nil {
			return nil, err
		}
		if b != nil {
			out[prepared.NearActivation(a.digest)] = b
		}
	}
	return out, nil
}

// activation is the pinned part of a manifest, as this node keeps it or the store has it;
// nil = activation looks for itself.
func (f *attachFlags) activation(c *opener, a activates) ([]byte, error) {
	b, err := f.local.Activation(f.part, a.digest)
	if b != nil && err == nil {
		return b, nil
	}
	if err != nil {
		f.warn("what was kept of an activation cannot be read: %v", err)
	}
	if b, _, err = c.read(filepath.Join("locks", a.lock, "activation", a.digest+".json")); b == nil || err != nil {
		return b, err
	}
	if err := f.local.KeepActivation(f.part, a.digest, b); err != nil {
		f.warn("an activation cannot be kept, and the next launch looks at the store: %v", err)
	}
	return b, nil
}

// handOver puts what was collected where activation finds it. Without, it looks at the store.
func (f *attachFlags) handOver(n near) {
	if len(n) == 0 {
		return
	}
	dir := filepath.Join(f.prefixRoot, prepared.NearIn)
	err := os.MkdirAll(dir, 0o755)
	for name, b := range n {
		if err != nil {
			break
		}
		err = putFile(dir, name, b)
	}
	if err != nil {
		f.warn("what activation reads cannot be handed to it, and is read from the store: %v", err)
	}
}

// warn tells what hinders no launch.
func (f *attachFlags) warn(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "warning: copies in %s: %s\n", f.local.Dir, fmt.Sprintf(format, args...))
}

// putFile makes a file for all to read, whole or not at all.
func putFile(dir, name string, b []byte) error {
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// read has the child read a file of the store, by its path below the part. False: it is not
// there. Nil and true: it is too long to be handed on.
func (c *opener) read(rel string) ([]byte, bool, error) {
	var told answer
	err := fdmsg.Send(c.conn, &request{Read: rel}, nil)
	if err != nil {
		return nil, false, c.verdict(err)
	}
	file, err := fdmsg.Receive(c.conn, &told)
	if err != nil {
		return nil, false, c.verdict(err)
	}
	if file == nil {
		return nil, told.Yes, nil
	}
	b, err := io.ReadAll(io.NewSectionReader(file, 0, shortFile))
	return b, true, errors.Join(err, file.Close())
}

// shortFile bounds what is handed on of the store's small files, in bytes.
const shortFile = 4 << 20

// readShort reads a file; nil = it is not short.
func readShort(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, shortFile+1))
	if err = errors.Join(err, f.Close()); err != nil || len(b) > shortFile {
		return nil, err
	}
	return append([]byte{}, b...), nil
}

// inMemory is a file without a place on any storage, so that who gets it waits for none.
func inMemory(name string, b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(filepath.Base(name), unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("a file in memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(b); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// read is the child's part: it reads for root, as the user, what root asks for. False: it is
// not there. Nil and true: it is too long to be handed on.
func (o *opening) read(rel string) (*os.File, bool, error) {
	if id := filepath.Base(filepath.Dir(rel)); o.plain[id] && strings.HasSuffix(rel, prepared.NearOverlays) {
		return nil, false, nil // seen just now
	}
	b, err := readShort(filepath.Join(o.root, rel))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, false, nil
	case errors.Is(err, os.ErrPermission) && o.group != "":
		return nil, false, notOfGroup("the job's environment", o.group)
	case err != nil:
		return nil, false, refuse(api.ExitUnreachable, "the store cannot be read on this node: %w; next: exclude the node (--exclude) and tell the administrator", err)
	case b == nil:
		return nil, true, nil
	}
	f, err := inMemory(rel, b)
	return f, true, err
}

// sendFile answers a request to read.
func (o *opening) sendFile(conn *net.UnixConn, rel string) error {
	file, there, err := o.read(rel)
	if err != nil {
		return err
	}
	err = fdmsg.Send(conn, &answer{Yes: there}, file)
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	return err
}

// copied tells that this node has a copy of an environment; nil = it has none for this user.
// Of a group's part the environment must be seen to be there: that nothing is found where
// the storage is not mounted proves no right.
func (o *opening) copied(id string) (*offer, error) {
	if !slices.Contains(o.have, id) {
		return nil, nil
	}
	// The names that the look for site builds resolves as well: a store that is not mounted
	// here has no site builds either, and could be taken for one in which nothing was built.
	seen := filepath.Join(o.root, "meta")
	if o.group != "" {
		seen = filepath.Join(seen, id)
	}
	_, err := os.Stat(seen)
	if errors.Is(err, os.ErrPermission) && o.group != "" {
		return nil, notOfGroup("the job's environment", o.group)
	}
	if err != nil {
		return nil, nil // looking for it in the store says why
	}
	return &offer{ID: id, Copied: true}, nil
}
