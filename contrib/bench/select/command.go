package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/internal/figure"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// command measures `hpcenv plan` as a user types it: the program's start, the lock,
// the cluster's inventory, the plan, the table.
func command(ctx context.Context, out io.Writer, report *figure.Report, program, dir string) error {
	store, project := filepath.Join(dir, "store"), filepath.Join(dir, "project")
	size, err := publish(store)
	if err != nil {
		return err
	}
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(project, "pixi.lock"), []byte(lock()), 0o644); err != nil {
		return err
	}
	ms, err := medianOf(func() error {
		cmd := exec.CommandContext(ctx, program, "plan")
		cmd.Dir = project
		cmd.Env = []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "HPCENV_STORE=" + store}
		answer, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(answer), "next: hpcenv prepare") {
			return errors.Join(err, fmt.Errorf("hpcenv plan: %.2000s", answer))
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-44s %8.2f ms (inventory of %d bytes)\n", "hpcenv plan, whole", ms, size)
	report.AtMost("plan.command", ms, "ms", 100)
	report.AtMost("inventory.bytes", float64(size), "bytes", 200_000)
	return nil
}

// publish makes a store whose inventory has all nodes, and returns the inventory's size.
func publish(root string) (int, error) {
	store, err := cache.Create(root, cache.Format{Version: cache.FormatVersion, Platforms: subdirs, PrefixRoot: "/opt/hpcenv/e", OwnerUID: os.Geteuid()})
	if err != nil {
		return 0, err
	}
	s := &snapshot.Snapshot{Version: snapshot.Version, Cluster: "big", Rules: selection.Rules{}.Digest()}
	arch := map[string]string{"linux-64": "x86_64", "linux-aarch64": "aarch64"}
	for i := range kinds {
		k := group(i).Kind
		s.Kinds = append(s.Kinds, k)
		s.Groups = append(s.Groups, snapshot.Group{
			Nodes: fmt.Sprintf("k%02dn[001-%d]", i, nodes/kinds), Count: nodes / kinds, Kind: k.Digest, Arch: arch[k.Subdir],
			Features: []string{fmt.Sprintf("kind%d", i)}, Partitions: []string{"batch"},
		})
	}
	s.Partitions = []queries.Partition{{Name: "batch", Default: true}}
	data, err := json.Marshal(s)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	dir := filepath.Join(root, "inventory")
	if err := store.MkdirAll(dir); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(dir, digest+".json"), data, 0o644); err != nil {
		return 0, err
	}
	return len(data), os.WriteFile(filepath.Join(dir, "current"), []byte(digest+"\n"), 0o644)
}

// lock is a pixi.lock with as many environments for both platforms, of 40 packages
// each.
func lock() string {
	var envs, packages strings.Builder
	for p, subdir := range subdirs {
		for i := range 40 {
			url := fmt.Sprintf("https://conda.example/c/%s/package%d-1.%d-h0_0.conda", subdir, i, p)
			fmt.Fprintf(&packages, "- conda: %s\n  sha256: %064x\n  depends:\n  - __glibc >=2.17,<3.0.a0\n", url, i*2+p)
			if i == 0 {
				fmt.Fprintf(&packages, "  - __cuda >=12\n")
			}
		}
	}
	for e := range environments {
		name := fmt.Sprintf("variant-%d", e)
		if e == 0 {
			name = "default"
		}
		fmt.Fprintf(&envs, "  %s:\n    channels:\n    - url: https://conda.example/c/\n    packages:\n", name)
		for p, subdir := range subdirs {
			fmt.Fprintf(&envs, "      %s:\n", subdir)
			for i := range 40 {
				if i == 0 && e%2 == 1 {
					continue // does without a GPU
				}
				fmt.Fprintf(&envs, "      - conda: https://conda.example/c/%s/package%d-1.%d-h0_0.conda\n", subdir, i, p)
			}
		}
	}
	return "version: 6\nenvironments:\n" + envs.String() + "packages:\n" + packages.String()
}
