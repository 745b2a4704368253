package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
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
		offers = append(offers, *one)
		o.each = o.each || one.Image != nil
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
	tree, file := filepath.Join(o.root, "trees", o.platform, id), filepath.Join(o.root, "images", o.platform, id+cache.ImageSuffix)
	if _, err := os.Lstat(file); err == nil && !o.trees {
		if one, err := o.findImage(id, file); one != nil || err != nil {
			return one, err
		}
	}
	if _, err := os.Lstat(tree); err == nil {
		return &offer{ID: id, Name: tree}, nil
	}
	// Only what is not there, or not seen yet, costs more than these looks.
	return o.findImage(id, file)
}

// findImage is an image as the environment's description has it; nil = it has none.
func (o *opening) findImage(id, file string) (*offer, error) {
	meta, err := prepared.Store{Root: o.root, Group: o.group}.Meta(id, o.platform)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the environment's description: %w; next: tell the administrator", err)
	}
	if meta.Image == nil {
		return nil, nil
	}
	return &offer{ID: id, Name: file, Image: meta.Image}, nil
}

func (o *opening) send(conn *net.UnixConn, one *offer) (err error) {
	var f *os.File
	if one.Image == nil {
		f, err = o.openTree(one.Name)
	} else {
		f, err = o.openImage(one)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := fdmsg.Send(conn, one, f); err != nil || one.Image == nil {
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
		if device == nil {
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
		why := ""
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			why = " (symbolic links are not followed in the store)"
		}
		return nil, refuse(api.ExitUnreachable, "the environment's image cannot be opened: %w%s; it is not mounted; next: tell the administrator, or exclude the node (--exclude)", err, why)
	}
	// An image is published 0444: whoever could write to it would write to what the
	// kernel has mounted.
	err = o.owned(f, one.Name, 0o222)
	if err == nil {
		if err = image.Check(f, one.Image); err != nil {
			err = refuse(api.ExitUnreachable, "the environment's image is not as it was published: %w; it is not mounted; next: the administrator looks at it with hpcenv admin verify, removes it and prepares it again", err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
