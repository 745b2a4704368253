package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
)

// Entry is one file or link of a Debian package.
type Entry struct {
	// Path without leading slash.
	Path       string
	Executable bool
	// Link is a symbolic link's text; "" = a regular file.
	Link string
	Data []byte
}

// Read returns the files and links of a .deb, without directories. Hard links
// come as files of their own.
func Read(ctx context.Context, deb string) ([]Entry, error) {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%w: dpkg-deb: %w", ErrApt, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: dpkg-deb: %w", ErrApt, err)
	}
	entries, readErr := readTar(pipe)
	if readErr != nil {
		// Let dpkg-deb end: it would block on a pipe that nobody reads.
		_, drainErr := io.Copy(io.Discard, pipe)
		readErr = errors.Join(readErr, drainErr)
	}
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w %s", ErrApt, deb, err, stderr.Bytes())
	}
	return entries, nil
}

func readTar(r io.Reader) ([]Entry, error) {
	var out []Entry
	index := map[string]int{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			// What follows the end mark is padding.
			_, err = io.Copy(io.Discard, r)
			return out, err
		}
		if err != nil {
			return nil, err
		}
		e := Entry{Path: strings.TrimPrefix(path.Clean("/"+h.Name), "/"), Executable: h.Mode&0o111 != 0}
		switch h.Typeflag {
		case tar.TypeReg:
			if e.Data, err = io.ReadAll(tr); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Name, err)
			}
		case tar.TypeSymlink:
			e.Link = h.Linkname
		case tar.TypeLink:
			i, ok := index[strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")]
			if !ok {
				return nil, fmt.Errorf("%s: hard link to %s, which is not in the package", h.Name, h.Linkname)
			}
			e.Data = out[i].Data
		case tar.TypeDir:
			continue
		default:
			return nil, fmt.Errorf("%s: tar entry of type %q", h.Name, h.Typeflag)
		}
		index[e.Path] = len(out)
		out = append(out, e)
	}
}
