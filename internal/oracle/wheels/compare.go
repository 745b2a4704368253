package wheels

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/internal/oracle"
)

// Side is what a wheel became: its paths, and the text of its RECORD.
type Side struct {
	Tree   map[string]oracle.Node
	Record []byte
	// RecordPath below the prefix.
	RecordPath string
}

// ReadSide reads the prefix at root without the paths of own.
func ReadSide(root string, own map[string]bool) (*Side, error) {
	tree, err := oracle.Tree(root)
	if err != nil {
		return nil, err
	}
	s := &Side{Tree: tree}
	for p := range tree {
		if own[p] {
			delete(tree, p)
		}
		if strings.HasSuffix(p, ".dist-info/RECORD") {
			if s.Record, err = os.ReadFile(filepath.Join(root, p)); err != nil {
				return nil, err
			}
			s.RecordPath = p
		}
	}
	if s.RecordPath == "" {
		return nil, fmt.Errorf("%s has no RECORD", root)
	}
	return s, nil
}

// Compare lists the differences. RECORD is compared row by row (Field "row", Key is
// the row's path), and the order of the rows that both have (Field "order").
func Compare(reference, hpcenv *Side) ([]oracle.Difference, error) {
	var out []oracle.Difference
	for _, d := range oracle.Compare(&oracle.Side{Tree: reference.Tree}, &oracle.Side{Tree: hpcenv.Tree}) {
		if d.Path != reference.RecordPath || d.Field != "content" {
			out = append(out, d)
		}
	}
	theirs, order, err := rows(reference.Record)
	if err != nil {
		return nil, err
	}
	ours, ourOrder, err := rows(hpcenv.Record)
	if err != nil {
		return nil, err
	}
	for key := range theirs {
		if theirs[key] != ours[key] {
			out = append(out, oracle.Difference{Path: reference.RecordPath, Field: "row", Key: key, Rattler: theirs[key], Hpcenv: ours[key]})
		}
	}
	for key := range ours {
		if _, both := theirs[key]; !both {
			out = append(out, oracle.Difference{Path: reference.RecordPath, Field: "row", Key: key, Hpcenv: ours[key]})
		}
	}
	notBoth := func(key string) bool { return theirs[key] == "" || ours[key] == "" }
	order, ourOrder = slices.DeleteFunc(order, notBoth), slices.DeleteFunc(ourOrder, notBoth)
	if !slices.Equal(order, ourOrder) {
		out = append(out, oracle.Difference{Path: reference.RecordPath, Field: "order", Rattler: first(order, ourOrder), Hpcenv: first(ourOrder, order)})
	}
	return out, nil
}

// rows are the rows of a RECORD by path, and the paths in their order. The rows of
// one path are one text.
func rows(record []byte) (map[string]string, []string, error) {
	r := csv.NewReader(bytes.NewReader(record))
	r.FieldsPerRecord = 3
	all, err := r.ReadAll()
	if err != nil {
		return nil, nil, fmt.Errorf("RECORD: %w", err)
	}
	out := make(map[string]string, len(all))
	var order []string
	for _, f := range all {
		order = append(order, f[0])
		out[f[0]] += strings.Join(f, ",") + ";"
	}
	return out, order, nil
}

// first is the first path of a that is not in its place in b.
func first(a, b []string) string {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("%d: %s", i, a[i])
		}
	}
	return ""
}
