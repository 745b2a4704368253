package lockfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Parse reads a pixi.lock of version 4 to 7, a conda-lock.yml or an @EXPLICIT
// list, whichever the content is. Errors wrap ErrLock and name the line; a
// version that is not read is a *VersionError, what is no lock a *ForeignError,
// a uv.lock or pylock.toml a *NeedsTargetError. That packages cannot be
// installed, or have no sha256, is no error here: Platform.Validate tells.
func Parse(data []byte) (*Lock, error) {
	format, root, err := detect(data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	lock := &Lock{Format: format, Digest: hex.EncodeToString(sum[:])}
	switch format {
	case FormatUV, FormatPylock:
		return nil, &NeedsTargetError{Format: format}
	case FormatExplicit:
		if err := readExplicit(data, lock); err != nil {
			return nil, err
		}
		return lock, nil
	}
	if root == nil {
		v, err := read(data)
		if err != nil {
			return nil, err
		}
		root = &v
	}
	if lock.Version, err = readVersion(root); err != nil {
		return nil, err
	}
	model, err := readModel(lock.Version, root)
	if err == nil {
		err = model.convert(lock)
	}
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func readModel(version int, root *value) (interface{ convert(*Lock) error }, error) {
	switch version {
	case 1:
		return readV1(root)
	case 4:
		return readV4(root)
	case 5:
		return readV5(root)
	case 6:
		return readV6(root)
	case 7:
		return readV7(root)
	}
	return nil, fmt.Errorf("%w: version %d has no reader", ErrLock, version)
}
