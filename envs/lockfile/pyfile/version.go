package pyfile

import "github.com/hpcenv/hpcenv/envs/python/version"

// SameVersion tells whether the version of a file's name is the one of a lock's
// entry. Files of some indexes leave the local part out, or have one that the
// entry has not: that is no other version.
func SameVersion(ofFile version.Version, locked string) bool {
	v, err := version.Parse(locked)
	if err != nil {
		return false
	}
	return v.Equal(ofFile) || (v.Local() == "" || ofFile.Local() == "") && v.Public() != "" && samePublic(v, ofFile)
}

func samePublic(a, b version.Version) bool {
	x, errX := version.Parse(a.Public())
	y, errY := version.Parse(b.Public())
	return errX == nil && errY == nil && x.Equal(y)
}
