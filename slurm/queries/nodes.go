package queries

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"sort"
	"strings"
)

// Node is what Slurm tells of one node.
type Node struct {
	// Name is NodeName.
	Name string `json:"name"`
	// Arch is what the node registered (uname -m); "" for a node that never did.
	Arch string `json:"arch"`
	// Platform is the conda subdir of Arch; "" if there is none that we serve.
	Platform string `json:"platform"`
}

// platforms maps uname -m to conda subdirs.
var platforms = map[string]string{
	"x86_64":  "linux-64",
	"aarch64": "linux-aarch64",
}

// Platform returns the conda subdir of a machine name as `uname -m` prints it,
// or "".
func Platform(arch string) string { return platforms[arch] }

// Nodes returns all nodes, sorted by name.
func (c Client) Nodes(ctx context.Context) ([]Node, error) {
	out, err := c.scontrol(ctx, "show", "node", "--oneliner")
	if err != nil {
		return nil, err
	}
	return ParseNodes(out)
}

// ClusterName returns ClusterName of slurm.conf.
func (c Client) ClusterName(ctx context.Context) (string, error) {
	out, err := c.scontrol(ctx, "show", "config")
	if err != nil {
		return "", err
	}
	return ParseClusterName(out)
}

// ParseNodes reads the output of `scontrol show node --oneliner`: one line per
// node, NodeName first, then Arch if the node ever registered. Everything that
// follows may hold free text (Reason, Comment, Extra), so nothing is searched
// for beyond the fields that come before it.
func ParseNodes(out []byte) ([]Node, error) {
	var nodes []Node
	seen := map[string]bool{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(make([]byte, 0, 64<<10), 4<<20)
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || text == "No nodes in the system" {
			continue
		}
		fields := strings.Fields(text)
		name, ok := strings.CutPrefix(fields[0], "NodeName=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%w: scontrol show node: line %d starts with %q, not NodeName=", ErrSlurm, line, fields[0])
		}
		if seen[name] {
			return nil, fmt.Errorf("%w: scontrol show node: line %d: node %s a second time", ErrSlurm, line, name)
		}
		seen[name] = true
		node := Node{Name: name}
		if len(fields) > 1 {
			if arch, ok := strings.CutPrefix(fields[1], "Arch="); ok {
				node.Arch, node.Platform = arch, Platform(arch)
			}
		}
		nodes = append(nodes, node)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%w: scontrol show node: %w", ErrSlurm, err)
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	return nodes, nil
}

// ParseClusterName finds ClusterName in the output of `scontrol show config`.
func ParseClusterName(out []byte) (string, error) {
	for line := range strings.Lines(string(out)) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(key) == "ClusterName" {
			if name := strings.TrimSpace(value); name != "" {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("%w: scontrol show config names no ClusterName", ErrSlurm)
}
