package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// forgetAfter is how old what a killed process left must be before it is removed, and
// activations how many activations of projects are kept.
const (
	forgetAfter = time.Hour
	activations = 256
)

// tidy removes what tells of copies that are gone, but for one digest's, what killed
// processes left, and the oldest of too many activations. Its caller decides alone what
// leaves.
func (d *dir) tidy(but string) error {
	names, err := d.names()
	if err != nil {
		return err
	}
	type aged struct {
		name string
		at   time.Time
	}
	var acts []aged
	for _, name := range names {
		var st unix.Stat_t
		err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return err
		}
		at := time.Unix(int64(st.Mtim.Sec), int64(st.Mtim.Nsec))
		switch {
		case strings.HasSuffix(name, ".new") && time.Since(at) > forgetAfter:
			err = d.remove(name)
		case strings.HasSuffix(name, envSuffix) && !d.tells(name, but):
			err = errors.Join(d.remove(name), d.remove(strings.TrimSuffix(name, envSuffix)+textSuffix))
		case strings.HasSuffix(name, activationSuffix):
			acts = append(acts, aged{name, at})
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(acts, func(a, b aged) int { return a.at.Compare(b.at) })
	for _, a := range acts[:max(0, len(acts)-activations)] {
		if err := d.remove(a.name); err != nil {
			return err
		}
	}
	return nil
}

// tells whether a file tells of a copy that is there, or of that of one digest.
func (d *dir) tells(name, but string) bool {
	b, err := d.text(name, envLimit)
	var k Known
	if err != nil || json.Unmarshal(b, &k) != nil || !isDigest(k.Image.SHA256) {
		return false
	}
	var st unix.Stat_t
	err = unix.Fstatat(int(d.Fd()), k.Image.SHA256+imageSuffix, &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil || k.Image.SHA256 == but
}

// activationSuffix ends the names of what projects' manifests add to activations.
const activationSuffix = ".act"

// Activation is what a project's manifest adds, by its sha256, as it was kept; nil = it
// was not. What does not have the digest is not returned.
func (c *Config) Activation(p Part, digest string) (_ []byte, err error) {
	d, err := openDir(c.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	b, err := d.text(p.key()+"-"+digest+activationSuffix, textLimit)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !hashes(b, digest) {
		return nil, nil
	}
	return b, err
}

// KeepActivation keeps it, for Activation to return. What does not have the digest, or is
// long, is not kept.
func (c *Config) KeepActivation(p Part, digest string, b []byte) (err error) {
	const long = 64 << 10
	if len(b) > long || !hashes(b, digest) {
		return nil
	}
	d, err := openDir(c.Dir)
	if err != nil {
		return err
	}
	return errors.Join(full(d.replace(p.key()+"-"+digest+activationSuffix, b)), d.Close())
}

func hashes(b []byte, digest string) bool {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]) == digest
}
