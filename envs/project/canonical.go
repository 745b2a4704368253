package project

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// Canonical returns the bytes under which the manifest's part of an activation
// is pinned, and their sha256 in lower-case hex: JSON with sorted keys, without
// insignificant space. Equal manifests are equal bytes.
func Canonical(m *activation.Manifest) (data []byte, digest string) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m); err != nil {
		// It has texts, lists and maps of texts only, which always have a form.
		panic("project: a manifest without JSON form: " + err.Error())
	}
	data = bytes.TrimRight(out.Bytes(), "\n")
	sum := sha256.Sum256(data)
	return data, hex.EncodeToString(sum[:])
}
