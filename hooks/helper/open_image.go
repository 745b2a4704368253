package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/loopdev"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// opening is what the opening child knows.
type opening struct {
	// root of the store, or of a group's part of it.
	root, platform, group string
	owner                 int // numeric uid; negative = not configured
	// each: environments one by one, also where the directory of trees has all.
	each bool
	// trees: where there is a tree, it is taken, and not the image.
	trees bool
	// have are the ids of the images that this node has copies of.
	have []string
	// plain are environments of which it was seen that the site built nothing for them.
	plain map[string]bool
}

// offer sends what the environments with these ids lie in, and stays for what root asks
// of an image.
func (o *opening) offer(conn *net.UnixConn, ids []string) error {
	var offers []offer
	for _, id := range ids {
		one, err := o.find(id)
		if err != nil {
			return err
		}
		if one == nil {
			continue // it is not made; activation says so, if this node needs it
		}
		overlays, err := o.findOverlays(id)
		if err != nil {
			return err
		}
		for _, one := range append([]offer{*one}, overlays...) {
			offers = append(offers, one)
			o.each = o.each || one.Image != nil || one.Copied
		}
	}
	if !o.each || len(offers) == 0 {
		offers = []offer{{Name: filepath.Join(o.root, "trees", o.platform)}}
	}
	for i := range offers {
		if err := o.send(conn, &offers[i]); err != nil {
			return err
		}
	}
	return fdmsg.Send(conn, &offer{End: true}, nil)
}

// find tells what there is of an environment: its image, else its tree, or the other way
// round; nil = neither.
func (o *opening) find(id string) (*offer, error) {
	return o.findForm(id, "the environment's description", func() (*image.Record, error) {
		meta, err := prepared.Store{Root: o.root, Group: o.group}.Meta(id, o.platform)
		if err != nil {
			return nil, err
		}
		return meta.Image, nil
	})
}

// findOverlays is find for what the site built for an environment.
func (o *opening) findOverlays(id string) ([]offer, error) {
	about := "what the site built for the environment"
	rec, err := prepared.Store{Root: o.root, Group: o.group}.SiteBuilds(id, o.platform)
	if errors.Is(err, fs.ErrPermission) && o.group != "" {
		return nil, notOfGroup("the job's environment", o.group)
	}
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "%w; next: tell the administrator", err)
	}
	if len(rec.Builds) == 0 {
		if o.plain == nil {
			o.plain = map[string]bool{}
		}
		o.plain[id] = true
	}
	var offers []offer
	for _, e := range rec.Builds {
		if e.State != sitebuild.Built {
			continue
		}
		one, err := o.findForm(e.Overlay, about, func() (*image.Record, error) {
			overlay, err := sitebuild.ReadOverlay(o.root, e.Overlay, o.platform)
			if err != nil {
				return nil, err
			}
			return overlay.Image, nil
		})
		if err != nil {
			return nil, err
		}
		if one != nil && !slices.ContainsFunc(offers, func(x offer) bool { return x.ID == one.ID }) {
			offers = append(offers, *one)
		}
	}
	return offers, nil
}

// findForm tells what there is of an id: its image, which record knows, else its tree, or
// the other way round.
func (o *opening) findForm(id, about string, record func() (*image.Record, error)) (*offer, error) {
	tree, file := filepath.Join(o.root, "trees", o.platform, id), filepath.Join(o.root, "images", o.platform, id+cache.ImageSuffix)
	ofTree := func() *offer {
		if _, err := os.Lstat(tree); err != nil {
			return nil
		}
		return &offer{ID: id, Name: tree}
	}
	ofImage := func() (*offer, error) {
		rec, err := record()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil, nil
		}
		if err != nil {
			return nil, refuse(api.ExitUnreachable, "%s: %w; next: tell the administrator", about, err)
		}
		if rec == nil {
			return nil, nil
		}
		return &offer{ID: id, Name: file, Image: rec}, nil
	}
	if o.trees {
		if one := ofTree(); one != nil {
			return one, nil
		}
	}
	if one, err := o.copied(id); one != nil || err != nil {
		return one, err
	}
	if _, err := os.Lstat(file); err == nil && !o.trees {
		if one, err := ofImage(); one != nil || err != nil {
			return one, err
		}
	}
	if one := ofTree(); one != nil {
		return one, nil
	}
	// Only what is not there, or not seen yet, costs more than these looks.
	return ofImage()
}

func (o *opening) send(conn *net.UnixConn, one *offer) (err error) {
	var f *os.File
	switch {
	case one.Copied:
	case one.Image == nil:
		f, err = o.openTree(one.Name)
	default:
		f, err = o.openImage(one)
	}
	if err != nil {
		return err
	}
	if f != nil {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	if err := fdmsg.Send(conn, one, f); err != nil || one.Image == nil && !one.Copied {
		return err
	}
	for {
		var ask request
		device, err := fdmsg.Receive(conn, &ask)
		if err != nil {
			return fmt.Errorf("attaching %s: %w", one.Name, err)
		}
		if ask.Done {
			return nil
		}
		if ask.Tree {
			if err := o.sendTree(conn, one.ID); err != nil {
				return err
			}
			continue
		}
		if ask.Read != "" {
			if err := o.sendFile(conn, ask.Read); err != nil {
				return err
			}
			continue
		}
		if device == nil || f == nil {
			return fmt.Errorf("attaching %s: no loop device came", one.Name)
		}
		told, err := reply(ask, device, f)
		if err = errors.Join(err, device.Close()); err != nil {
			return refuse(api.ExitUnreachable, "%s cannot be attached: %w; next: tell the administrator, or exclude the node (--exclude)", one.Name, err)
		}
		if err := fdmsg.Send(conn, told, nil); err != nil {
			return err
		}
	}
}

// sendTree sends the tree of an environment, if there is one.
func (o *opening) sendTree(conn *net.UnixConn, id string) error {
	dir := filepath.Join(o.root, "trees", o.platform, id)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return fdmsg.Send(conn, &answer{}, nil)
	}
	f, err := o.openTree(dir)
	if err != nil {
		return err
	}
	return errors.Join(fdmsg.Send(conn, &answer{Yes: true}, f), f.Close())
}

func reply(ask request, device, f *os.File) (*answer, error) {
	if !ask.Configure {
		same, err := loopdev.Same(device, f)
		return &answer{Yes: same}, err
	}
	err := loopdev.Configure(device, f)
	if errors.Is(err, loopdev.ErrTaken) {
		return &answer{Taken: true}, nil
	}
	return &answer{Yes: err == nil}, err
}

// openImage opens an image and checks what a launch can afford to. Below the store's root
// no symbolic link is followed.
func (o *opening) openImage(one *offer) (*os.File, error) {
	rel, err := filepath.Rel(o.root, one.Name)
	if err != nil {
		return nil, err
	}
	f, err := prepared.OpenBelow(o.root, rel)
	if err != nil {
		why, next := "", "tell the administrator, or exclude the node (--exclude)"
		if errors.Is(err, fs.ErrNotExist) {
			next = "submit the job again, which has it made anew, or exclude the node (--exclude) if others have it"
		}
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			why = " (symbolic links are not followed in the store)"
		}
		return nil, refuse(api.ExitUnreachable, "the environment's image cannot be opened: %w%s; it is not mounted; next: %s", err, why, next)
	}
	// An image is published 0444: whoever could write to it would write to what the
	// kernel has mounted.
	err = o.owned(f, one.Name, 0o222)
	if err == nil {
		err = checkImage(f, one.Image)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkImage reads what a launch can afford to look at, and what mounting will read: root
// then finds it in the page cache, and does not wait for the storage itself.
func checkImage(f *os.File, rec *image.Record) error {
	// Nothing beyond what is asked for: an image is large, and read in places.
	err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM)
	if errors.Is(err, unix.ESPIPE) {
		err = nil // no file at all: Check says so
	}
	if err == nil {
		err = image.Check(f, rec)
	}
	if err == nil {
		err = image.ReadAsMount(f, rec.Superblock)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cache.ErrIntegrity):
		return refuse(api.ExitUnreachable, "the environment's image is not as it was published: %w; it is not mounted; next: tell the administrator, who looks at it with hpcenv admin verify, removes it and prepares it again", err)
	}
	return refuse(api.ExitUnreachable, "the environment's image cannot be read on this node: %w; it is not mounted; next: exclude the node (--exclude) and tell the administrator", err)
}
