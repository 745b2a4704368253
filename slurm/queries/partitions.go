package queries

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// Partition is what Slurm tells of one partition.
type Partition struct {
	Name string `json:"name"`
	// Nodes as a hostlist expression; "" = none.
	Nodes string `json:"nodes,omitempty"`
	// Default: jobs that name no partition go there.
	Default bool `json:"default,omitempty"`
	// Alternate is the partition that gets its jobs while it is down; "" = none.
	Alternate string `json:"alternate,omitempty"`
	// Hidden from those who may not use it; RootOnly: only root submits to it.
	Hidden   bool `json:"hidden,omitempty"`
	RootOnly bool `json:"root_only,omitempty"`
	// Who may use it; nil = everyone.
	AllowGroups   []string `json:"allow_groups,omitempty"`
	AllowAccounts []string `json:"allow_accounts,omitempty"`
	AllowQOS      []string `json:"allow_qos,omitempty"`
	// Who may not.
	DenyAccounts []string `json:"deny_accounts,omitempty"`
	DenyQOS      []string `json:"deny_qos,omitempty"`
	// State is UP, DOWN, DRAIN or INACTIVE: like a node's, no part of what is kept.
	State string `json:"-"`
}

// Partitions returns all partitions, hidden ones included, sorted by name.
func (c Client) Partitions(ctx context.Context) ([]Partition, error) {
	out, err := c.scontrol(ctx, "--all", "show", "partition", "--oneliner")
	if err != nil {
		return nil, err
	}
	return ParsePartitions(out)
}

var partitionFields = form{wanted: []string{
	"AllowGroups", "AllowAccounts", "DenyAccounts", "AllowQos", "DenyQos", "Alternate", "Default", "Hidden", "Nodes", "RootOnly", "State",
}}

// ParsePartitions reads the output of `scontrol show partition --oneliner`. No
// field of it is free text.
func ParsePartitions(out []byte) ([]Partition, error) {
	var all []Partition
	var bad error
	err := eachLine(out, "partition", func(name, text string) {
		v := ordered(text, partitionFields)
		p := Partition{
			Name: name, Nodes: v["Nodes"], Alternate: v["Alternate"], Default: v["Default"] == "YES", Hidden: v["Hidden"] == "YES", RootOnly: v["RootOnly"] == "YES",
			AllowGroups: allowed(v["AllowGroups"]), AllowAccounts: allowed(v["AllowAccounts"]), AllowQOS: allowed(v["AllowQos"]),
			DenyAccounts: set(v["DenyAccounts"]), DenyQOS: set(v["DenyQos"]), State: v["State"],
		}
		if _, err := hostlist.Expand(p.Nodes); err != nil && bad == nil {
			bad = fmt.Errorf("%w: scontrol show partition: the nodes of %s: %w", ErrSlurm, name, err)
		}
		all = append(all, p)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, err
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all, nil
}

// allowed is nil for ALL. A list that is there and empty allows nobody, which
// Slurm cannot say.
func allowed(list string) []string {
	if strings.EqualFold(list, "ALL") {
		return nil
	}
	return set(list)
}

// Plugins that have a say in what a submission becomes.
type Plugins struct {
	// JobSubmit are JobSubmitPlugins, which slurmctld runs; CliFilter are
	// CliFilterPlugins, which sbatch, salloc and srun run. Sorted; nil = none.
	JobSubmit []string `json:"job_submit,omitempty"`
	CliFilter []string `json:"cli_filter,omitempty"`
}

// Plugins returns what slurm.conf names.
func (c Client) Plugins(ctx context.Context) (Plugins, error) {
	out, err := c.scontrol(ctx, "show", "config")
	if err != nil {
		return Plugins{}, err
	}
	return ParsePlugins(out)
}

// ParsePlugins reads the output of `scontrol show config`.
func ParsePlugins(out []byte) (Plugins, error) {
	job, ok := configValue(out, "JobSubmitPlugins")
	if !ok {
		return Plugins{}, fmt.Errorf("%w: scontrol show config names no JobSubmitPlugins", ErrSlurm)
	}
	cli, ok := configValue(out, "CliFilterPlugins")
	if !ok {
		return Plugins{}, fmt.Errorf("%w: scontrol show config names no CliFilterPlugins", ErrSlurm)
	}
	return Plugins{JobSubmit: plugins(job), CliFilter: plugins(cli)}, nil
}

// plugins without the word for none, and without the kind that may stand before
// each name.
func plugins(list string) []string {
	var out []string
	for _, name := range set(list) {
		name = name[strings.LastIndexByte(name, '/')+1:]
		if name != "(null)" && name != "none" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// configValue finds a line `Key = value` of `scontrol show config`.
func configValue(out []byte, name string) (string, bool) {
	for line := range strings.Lines(string(out)) {
		key, value, ok := strings.Cut(line, "=")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}
