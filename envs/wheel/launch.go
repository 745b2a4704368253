package wheel

import (
	"crypto/sha256"
	"encoding/hex"
)

// Launcher is the text of the script that calls an entry point with an
// interpreter, given by its absolute path.
func Launcher(python string, ep EntryPoint) []byte { return launcher(python, ep) }

// NewRow is the line of RECORD for a content at a path, which is written as given.
func NewRow(path string, data []byte) Row {
	sum := sha256.Sum256(data)
	return rowOf(path, hex.EncodeToString(sum[:]), int64(len(data)))
}
