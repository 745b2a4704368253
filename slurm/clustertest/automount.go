//go:build cluster

package clustertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Of linux/auto_fs.h: a packet of protocol 5 on 64-bit hosts, and what answers it.
const (
	autofsPacket = 304
	autofsReady  = 0x9360
	autofsFail   = 0x9361
)

// automount makes directory args[1] one whose entries are mounted when they are first
// looked at: of what args[0] holds, by the same names; until its standard input ends.
func automount(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: automount SOURCE TARGET")
	}
	source, target := args[0], args[1]
	// The kernel lets processes of this group see the bare directory.
	if err := unix.Setpgid(0, 0); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	options := fmt.Sprintf("fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect", w.Fd(), unix.Getpgrp())
	if err := errors.Join(os.MkdirAll(target, 0o755), unix.Mount("automount", target, "autofs", 0, options)); err != nil {
		return err
	}
	// Else the end of the mount would not be the pipe's.
	root, err := os.Open(target)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, "automount:", err)
		}
		os.Exit(0)
	}()
	for packet := make([]byte, autofsPacket); ; {
		n, err := r.Read(packet)
		if err != nil || n != autofsPacket {
			return fmt.Errorf("%d bytes from autofs: %w", n, err)
		}
		name, _, _ := bytes.Cut(packet[44:300], []byte{0})
		at, answer := filepath.Join(target, string(name)), autofsReady
		if err := os.Mkdir(at, 0o755); err != nil && !os.IsExist(err) {
			answer = autofsFail
		} else if err := unix.Mount(filepath.Join(source, string(name)), at, "", unix.MS_BIND, ""); err != nil {
			answer = autofsFail
		}
		if err := unix.IoctlSetInt(int(root.Fd()), uint(answer), int(binary.NativeEndian.Uint32(packet[8:]))); err != nil {
			return err
		}
	}
}
