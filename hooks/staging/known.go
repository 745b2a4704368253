package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/image"
)

// Part is a part of a store, for one platform: in it an environment's id names one content.
type Part struct {
	// Root of the store, or of a group's part of it, as this node sees it.
	Root, Platform string
}

func (p Part) key() string {
	sum := sha256.Sum256([]byte(p.Root + "\x00" + p.Platform))
	return hex.EncodeToString(sum[:8])
}

// Known is a finished copy that was found without a look at the store.
type Known struct {
	// Copy is open for reading.
	Copy *os.File `json:"-"`
	// Image is what was published of it, Name its path in the store.
	Image image.Record `json:"image"`
	Name  string       `json:"name"`

	ID   string `json:"id"`
	Part Part   `json:"part"`
}

// envSuffix ends the name of the file that tells what an environment's copy is, textSuffix
// that of what is kept with it. Their limits are in bytes.
const (
	envSuffix, textSuffix = ".env", ".texts"
	envLimit, textLimit   = 64 << 10, 8 << 20
)

// Known are the finished copies of environments of a part, by id, as root noted them when
// they were made: what is noted is root's and is believed, who asks is not. The least is
// looked at: nothing, if copies may not be used here. The caller closes them all.
func (c *Config) Known(p Part) (_ map[string]*Known, err error) {
	d, err := openDir(c.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if memory, err := inMemory(d.File); err != nil || memory && !c.Memory {
		return nil, err
	}
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	out := map[string]*Known{}
	for _, name := range names {
		id, ok := strings.CutPrefix(name, p.key()+"-")
		id, isEnv := strings.CutSuffix(id, envSuffix)
		if !ok || !isEnv {
			continue
		}
		k, err := d.known(name)
		if err != nil || k == nil {
			continue // it is made again, which tells why if it cannot
		}
		if k.Part != p || k.ID != id {
			if err := k.Copy.Close(); err != nil { // another part with the same short digest
				return nil, errors.Join(err, closeAll(out))
			}
			continue
		}
		out[id] = k
	}
	return out, nil
}

func closeAll(known map[string]*Known) error {
	var errs []error
	for _, k := range known {
		errs = append(errs, k.Copy.Close())
	}
	return errors.Join(errs...)
}

// known opens what a file tells of; nil = there is none that may be used.
func (d *dir) known(name string) (*Known, error) {
	b, err := d.text(name, envLimit)
	if err != nil {
		return nil, err
	}
	k := new(Known)
	if err := json.Unmarshal(b, k); err != nil {
		return nil, err
	}
	if !isDigest(k.Image.SHA256) {
		return nil, nil
	}
	f, err := d.find(k.Image.SHA256, k.Image.Size)
	if err != nil || f == nil {
		return nil, err
	}
	if err := image.Check(f, &k.Image); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	k.Copy = f
	return k, nil
}

// text reads a small file of the directory's own.
func (d *dir) text(name string, limit int64) ([]byte, error) {
	f, err := d.open(name, unix.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err = errors.Join(err, f.Close()); err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", f.Name(), limit)
	}
	return b, err
}

// Keep notes that an environment's image is the one whose finished copy there is, with
// texts that a launch would read, by name; none of those that are above 8 MB all together.
func (c *Config) Keep(p Part, id, name string, rec *image.Record, texts map[string][]byte) (err error) {
	d, err := openDir(c.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b, err := json.Marshal(texts)
	if err == nil && len(b) <= textLimit {
		err = d.replace(p.key()+"-"+id+textSuffix, b)
	}
	if err == nil {
		b, err = json.Marshal(&Known{Image: *rec, Name: name, ID: id, Part: p})
	}
	if err == nil {
		err = d.replace(p.key()+"-"+id+envSuffix, b)
	}
	return full(err)
}

// Texts are those that were kept with a copy; none, if they cannot be had any more.
func (c *Config) Texts(k *Known) (texts map[string][]byte, err error) {
	d, err := openDir(c.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b, err := d.text(k.Part.key()+"-"+k.ID+textSuffix, textLimit)
	if errors.Is(err, fs.ErrNotExist) || err == nil && json.Unmarshal(b, &texts) != nil {
		return nil, nil
	}
	return texts, err
}

// Used notes that a copy is used now.
func (c *Config) Used(k *Known) (err error) {
	d, err := openDir(c.Dir)
	if err != nil {
		return err
	}
	return errors.Join(d.used(k.Image.SHA256), d.Close())
}

// replace writes a file whole or not at all. Who writes the same at the same time wins or
// loses as a whole.
func (d *dir) replace(name string, b []byte) error {
	tmp := fmt.Sprintf("%s.%016x.new", name, rand.Uint64())
	f, err := d.open(tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = unix.Renameat(int(d.Fd()), tmp, int(d.Fd()), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", filepath.Join(d.Name(), name), err), d.remove(tmp))
	}
	return nil
}

// names of all that is in the directory.
func (d *dir) names() ([]string, error) {
	// A descriptor of its own: the place of reading is the descriptor's.
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	list := os.NewFile(uintptr(fd), d.Name())
	names, err := list.Readdirnames(-1)
	return names, errors.Join(err, list.Close())
}
