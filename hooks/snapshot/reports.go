package snapshot

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ReportsName is the file beside the snapshots that holds what nodes told.
const ReportsName = "facts.json"

// Reports is what nodes told of themselves, equal facts once.
type Reports struct {
	Nodes map[string]Report `json:"nodes"`
	// Facts by their sha256: the JSON of facts.Facts.
	Facts map[string]json.RawMessage `json:"facts"`
}

// Report is what one node told last.
type Report struct {
	// Facts is a key of Reports.Facts.
	Facts string `json:"facts"`
	// At is when, in seconds of Unix time.
	At int64 `json:"at"`
	// HostID is the node's facts.Facts.HostID, which is not among the facts: nodes that
	// are alike but for it share theirs.
	HostID string `json:"host_id,omitempty"`
}

// ReadReports reads what nodes told the daemon of the store in root. Without such a
// file the maps are empty, and the error is fs.ErrNotExist. ErrDamaged: it cannot be
// read as what it should be.
func ReadReports(root string) (Reports, error) {
	r := Reports{Nodes: map[string]Report{}, Facts: map[string]json.RawMessage{}}
	path := filepath.Join(root, "inventory", ReportsName)
	data, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("inventory: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
	}
	return r, nil
}
