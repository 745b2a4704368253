package conda

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hpcenv/hpcenv/cache"
)

// indexJSON is the part of info/index.json that linking needs.
type indexJSON struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Build       string          `json:"build"`
	BuildNumber json.Number     `json:"build_number"`
	Subdir      string          `json:"subdir"`
	Noarch      json.RawMessage `json:"noarch"`
}

// parseIndex reads info/index.json.
func parseIndex(data []byte) (*indexJSON, string, error) {
	var ix indexJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&ix); err != nil {
		return nil, "", fmt.Errorf("info/index.json: %w: %w", err, cache.ErrIntegrity)
	}
	for _, f := range []struct{ what, value string }{{"name", ix.Name}, {"version", ix.Version}} {
		if f.value == "" {
			return nil, "", fmt.Errorf("info/index.json has no %s: %w", f.what, cache.ErrIntegrity)
		}
	}
	noarch, err := parseNoarch(ix.Noarch)
	return &ix, noarch, err
}

// parseNoarch understands the three spellings that packages have: a string,
// null, and the boolean of before 2017, which means generic.
func parseNoarch(raw json.RawMessage) (string, error) {
	switch s := string(bytes.TrimSpace(raw)); s {
	case "", "null", "false", `""`:
		return "", nil
	case "true", `"generic"`:
		return "generic", nil
	case `"python"`:
		return "python", nil
	default:
		return "", fmt.Errorf("info/index.json: noarch is %s; known are \"python\" and \"generic\": %w", s, cache.ErrIntegrity)
	}
}
