package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Identity is what a record is about, by files alone. Another driver, another
// module or another set of devices has another one.
type Identity struct {
	// Boot is the kernel's id of the boot.
	Boot string `json:"boot"`
	// Driver is the first line of /proc/driver/nvidia/version; "" = not loaded.
	Driver string `json:"driver,omitempty"`
	// Module is the source version of the loaded kernel module.
	Module string `json:"module,omitempty"`
	// GPUs are the bus ids that the kernel driver serves: 0000:65:00.0.
	GPUs []string `json:"gpus,omitempty"`
	// Devices are the device nodes: name, number, mode, owner and group.
	Devices []string `json:"devices,omitempty"`
}

// Equal reports whether both are of the same driver and devices.
func (i Identity) Equal(o Identity) bool {
	return i.Boot == o.Boot && i.Driver == o.Driver && i.Module == o.Module && slices.Equal(i.GPUs, o.GPUs) && slices.Equal(i.Devices, o.Devices)
}

// Served: a kernel driver for GPUs is loaded.
func (i Identity) Served() bool { return i.Driver != "" || len(i.GPUs) > 0 }

// Identify reads the identity of the GPUs of the node below root ("/": this host).
// A file that is not there is part of it; one that cannot be read is an error.
func Identify(root string) (Identity, error) {
	var i Identity
	var err error
	if i.Boot, err = facts.BootID(); err != nil {
		return i, err
	}
	if i.Driver, err = firstLine(filepath.Join(root, "proc/driver/nvidia/version")); err != nil {
		return i, err
	}
	if i.Module, err = firstLine(filepath.Join(root, "sys/module/nvidia/srcversion")); err != nil {
		return i, err
	}
	if i.GPUs, err = names(filepath.Join(root, "proc/driver/nvidia/gpus"), ""); err != nil {
		return i, err
	}
	dev := filepath.Join(root, "dev")
	nodes, err := names(dev, "nvidia")
	if err != nil {
		return i, err
	}
	for _, n := range nodes {
		info, err := os.Lstat(filepath.Join(dev, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went while we looked
		}
		if err != nil {
			return i, err
		}
		text := n + " " + info.Mode().String()
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			text += fmt.Sprintf(" %d %d:%d", st.Rdev, st.Uid, st.Gid)
		}
		i.Devices = append(i.Devices, text)
	}
	return i, nil
}

// firstLine of a file; "" where there is none.
func firstLine(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line), err
}

// names in a directory that begin with prefix, sorted; none where it is not there.
func names(dir, prefix string) ([]string, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n string) bool { return !strings.HasPrefix(n, prefix) })
	slices.Sort(all)
	if len(all) == 0 {
		return nil, nil
	}
	return all, nil
}

// pciClasses of devices that compute: 3D controllers, display controllers without a
// display, accelerators. A card with a display output and no driver is one that
// nobody computes with.
var pciClasses = []string{"0x0302", "0x0380", "0x1200"}

// vendorNVIDIA is its PCI vendor id.
const vendorNVIDIA = "0x10de"

// onBus reports whether a device of NVIDIA's that computes is on the PCI bus:
// there is something to ask for even if no driver is loaded.
func onBus(root string) (bool, error) {
	bus := filepath.Join(root, "sys/bus/pci/devices")
	all, err := names(bus, "")
	if err != nil {
		return false, err
	}
	for _, n := range all {
		vendor, err := firstLine(filepath.Join(bus, n, "vendor"))
		if err != nil || vendor != vendorNVIDIA {
			continue // a device that cannot be read is no reason to ask
		}
		class, err := firstLine(filepath.Join(bus, n, "class"))
		if err == nil && slices.ContainsFunc(pciClasses, func(c string) bool { return strings.HasPrefix(class, c) }) {
			return true, nil
		}
	}
	return false, nil
}
