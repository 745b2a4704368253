package condapkg

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os/exec"
	"sort"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Archive packs p. A .tar.bz2 is compressed by the bzip2 program, as Go's
// library only reads that format.
func (p *Package) Archive(ctx context.Context, format Format) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	info, err := p.infoFiles()
	if err != nil {
		return nil, err
	}
	switch format {
	case TarBz2:
		return p.tarBz2(ctx, info)
	case Conda:
		return p.conda(info)
	}
	return nil, fmt.Errorf("package %s: %q is not a format of conda packages", p.Dist(), format)
}

func (p *Package) tarBz2(ctx context.Context, info []File) ([]byte, error) {
	var raw, out, stderr bytes.Buffer
	if err := p.writeTar(&raw, append(append([]File{}, info...), p.Files...)); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "bzip2", "-9", "-c")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &raw, &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("package %s: bzip2 failed (Debian package bzip2): %w: %s", p.Dist(), err, stderr.Bytes())
	}
	return out.Bytes(), nil
}

func (p *Package) conda(info []File) ([]byte, error) {
	type member struct {
		name string
		data []byte
	}
	members := []member{{"metadata.json", []byte(`{"conda_pkg_format_version": 2}`)}}
	for _, part := range []struct {
		name  string
		files []File
	}{{"info-", info}, {"pkg-", p.Files}} {
		data, err := p.tarZstd(part.files)
		if err != nil {
			return nil, err
		}
		members = append(members, member{part.name + p.Dist() + ".tar.zst", data})
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range members {
		// Sizes go into the local header: readers that stream need them there.
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: m.name, Method: zip.Store, Modified: p.time(), CRC32: crc32.ChecksumIEEE(m.data),
			CompressedSize64: uint64(len(m.data)), UncompressedSize64: uint64(len(m.data)),
		})
		if err != nil {
			return nil, fmt.Errorf("package %s: zip: %w", p.Dist(), err)
		}
		if _, err := w.Write(m.data); err != nil {
			return nil, fmt.Errorf("package %s: zip: %w", p.Dist(), err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("package %s: zip: %w", p.Dist(), err)
	}
	return out.Bytes(), nil
}

func (p *Package) tarZstd(files []File) ([]byte, error) {
	var out bytes.Buffer
	// One goroutine: the encoder's output must not depend on the machine.
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return nil, fmt.Errorf("package %s: zstd: %w", p.Dist(), err)
	}
	if err := p.writeTar(z, files); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("package %s: zstd: %w", p.Dist(), err)
	}
	return out.Bytes(), nil
}

func (p *Package) time() time.Time { return time.UnixMilli(p.Timestamp).UTC().Truncate(time.Second) }

func (p *Package) writeTar(to interface{ Write([]byte) (int, error) }, files []File) error {
	w := tar.NewWriter(to)
	for i := range files {
		f := &files[i]
		h := &tar.Header{Name: f.Path, ModTime: p.time(), Typeflag: tar.TypeReg, Mode: f.mode(), Size: int64(len(f.Data))}
		switch {
		case f.Dir:
			h.Typeflag, h.Name, h.Mode = tar.TypeDir, f.Path+"/", 0o755
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Mode, h.Size = tar.TypeSymlink, f.Link, 0o777, 0
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("package %s: tar: %s: %w", p.Dist(), f.Path, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if _, err := w.Write(f.Data); err != nil {
			return fmt.Errorf("package %s: tar: %s: %w", p.Dist(), f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("package %s: tar: %w", p.Dist(), err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
