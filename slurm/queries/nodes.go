package queries

import (
	"context"
	"fmt"
	"sort"
)

// Node is what Slurm tells of one node.
type Node struct {
	// Name is NodeName.
	Name string `json:"name"`
	// Arch is what the node registered (uname -m); "" for a node that never did.
	Arch string `json:"arch"`
	// Platform is the conda subdir of Arch; "" if there is none that we serve.
	Platform string `json:"platform"`
	// Features it may have: AvailableFeatures and ActiveFeatures, sorted, each once.
	Features []string `json:"features,omitempty"`
	// Gres as Slurm prints it, e.g. gpu:a100:4(S:0-1).
	Gres string `json:"gres,omitempty"`
	// Partitions that it belongs to, sorted.
	Partitions []string `json:"partitions,omitempty"`
	// Addr is NodeAddr, Host is NodeHostName: how it is reached, what it calls itself.
	Addr string `json:"addr,omitempty"`
	Host string `json:"host,omitempty"`
	// TRES is CfgTRES.
	TRES string `json:"tres,omitempty"`
	// State with its flags, e.g. IDLE+DRAIN. It changes by the minute, so it is no part
	// of what is kept of a node.
	State string `json:"-"`
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
	out, err := c.scontrol(ctx, "--all", "show", "node", "--oneliner")
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
// node.
func ParseNodes(out []byte) ([]Node, error) {
	var nodes []Node
	err := eachLine(out, "node", func(name, text string) {
		v := ordered(text, nodeFields)
		nodes = append(nodes, Node{
			Name: name, Arch: v["Arch"], Platform: Platform(v["Arch"]),
			Features: set(v["AvailableFeatures"] + "," + v["ActiveFeatures"]), Gres: v["Gres"], Partitions: set(v["Partitions"]),
			Addr: v["NodeAddr"], Host: v["NodeHostName"], TRES: v["CfgTRES"], State: v["State"],
		})
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	return nodes, nil
}

// nodeFields in the order in which every release prints them. Arch stands right
// behind the name or not at all; OS is free text up to RealMemory; what follows
// Reason, Comment or Extra is free text to the end.
var nodeFields = form{
	wanted:   []string{"Arch", "AvailableFeatures", "ActiveFeatures", "Gres", "NodeAddr", "NodeHostName", "State", "Partitions", "CfgTRES"},
	freeFrom: []string{"OS"}, freeTo: []string{"RealMemory"},
	ends: []string{"Reason", "Comment", "Extra", "InstanceId", "InstanceType", "ReservationName"},
}

// ParseClusterName finds ClusterName in the output of `scontrol show config`.
func ParseClusterName(out []byte) (string, error) {
	if name, _ := configValue(out, "ClusterName"); name != "" {
		return name, nil
	}
	return "", fmt.Errorf("%w: scontrol show config names no ClusterName", ErrSlurm)
}
