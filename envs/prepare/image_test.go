//go:build linux

package prepare

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// The demo project becomes images, with byte-code, for this host's architecture and
// for the other one, whose code is not needed. What the kernel mounts is the tree,
// and its Python runs.
func TestDemoAsImages(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	deps.Delivery, deps.Images = image.Image, image.NewTool("")
	if err := deps.Images.Available(context.Background()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	res, err := Run(context.Background(), deps, demoRequest(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Environments) != 2 {
		t.Fatalf("%d environments", len(res.Environments))
	}
	for _, e := range res.Environments {
		if e.Meta.Delivered != image.Image || e.Meta.ByteCode == nil || e.Meta.ByteCode.Files == 0 {
			t.Errorf("%s: delivered %q, byte-code %+v", e.Platform, e.Meta.Delivered, e.Meta.ByteCode)
		}
		all, err := VerifyAll(context.Background(), deps.Store, e.Meta)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || !all[0].Same() || all[0].NoPlan != "" || all[0].PlanDigest != e.Meta.TreeDigest {
			t.Errorf("%s: %+v", e.Platform, all[0])
		}
	}
	if again, err := Run(context.Background(), deps, demoRequest(t), nil); err != nil || again.Environments[0].New {
		t.Errorf("again: %+v, %v", again, err)
	}
	host := res.Environments[0]
	// What it asks of a node was read from the staged tree; the image tells the same.
	path := deps.Store.NeedsPath(host.ID, host.Platform)
	staged, err := os.ReadFile(path)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), deps, demoRequest(t), nil); err != nil {
		t.Fatal(err)
	}
	if unpacked, err := os.ReadFile(path); err != nil || string(unpacked) != string(staged) {
		t.Errorf("read from the image it is another (%v):\n%.500s\nnot\n%.500s", err, unpacked, staged)
	}
	if host.Platform != "linux-64" || os.Getuid() != 0 {
		t.Skip("NOT MOUNTED: root on x86-64 is needed to have the kernel read the image")
	}
	// In a user's own store the tree is the prefix.
	at := deps.Store.Prefix(host.Platform, host.ID)
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "squashfs", "-o", "loop,ro", deps.Store.ImagePath(host.Platform, host.ID), at).CombinedOutput(); err != nil {
		t.Skipf("NOT MOUNTED: this kernel mounts no squashfs, or there are no loop devices: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	}()
	if got, err := materialize.TreeDigest(at); err != nil || got != host.Meta.TreeDigest {
		t.Errorf("the kernel sees the tree %s (%v), noted %s", got, err, host.Meta.TreeDigest)
	}
	importsCompiled(t, at)
}
