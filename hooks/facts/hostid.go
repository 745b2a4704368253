package facts

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

// Where the C library looks for a host's identifier.
const (
	hostIDFile = "/etc/hostid"
	hostsFile  = "/etc/hosts"
)

// readHostID tells what gethostid() gives, from the files that it looks at: those are
// what cloned nodes have in common. A host whose name only the name service knows has an
// address, and so an identifier, of its own; it is not asked for.
func readHostID(_ context.Context, h host) (p part) {
	id, err := hostID(h.tree)
	if err != nil {
		p.problems = []string{err.Error()}
	}
	p.set = func(f *Facts) { f.HostID = id }
	return p
}

func hostID(t tree) (string, error) {
	kept, err := t.head(hostIDFile, 4)
	switch {
	case err == nil && len(kept) == 4:
		return fmt.Sprintf("%08x", binary.NativeEndian.Uint32([]byte(kept))), nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	name, err := hostName(t)
	if err != nil || name == "" {
		return "", err
	}
	text, err := t.text(hostsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	a, ok := addressOf(text, name)
	if !ok {
		return "", nil
	}
	// The C library takes the address as the number it is in memory, and swaps its
	// halves.
	n := binary.NativeEndian.Uint32(a[:])
	return fmt.Sprintf("%08x", n<<16|n>>16), nil
}

// hostName of the node; "" = a recorded tree does not tell.
func hostName(t tree) (string, error) {
	if t.live {
		return os.Hostname()
	}
	name, err := t.value("/proc/sys/kernel/hostname")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}

// addressOf is the first IPv4 address that a file of hosts has for a name. As in the C
// library, an IPv6 address that stands for one of IPv4 is that, and ::1 is 127.0.0.1.
func addressOf(hosts, name string) (address [4]byte, ok bool) {
	for line := range strings.Lines(hosts) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		a, err := netip.ParseAddr(words[0])
		if err != nil {
			continue
		}
		if a == netip.IPv6Loopback() {
			a = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		if a = a.Unmap(); !a.Is4() {
			continue
		}
		for _, w := range words[1:] {
			if strings.EqualFold(w, name) {
				return a.As4(), true
			}
		}
	}
	return address, false
}
