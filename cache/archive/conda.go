package archive

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// maxWindow bounds the decoder's memory. zstd's highest ordinary level uses
// 128 MiB.
const maxWindow = 256 << 20

// condaVersion is the one version of the .conda container that there is.
const condaVersion = 2

// ReadConda reads a .conda archive of size bytes: the members of its info part,
// then those of its pkg part (which may be absent). Other parts are ignored.
func ReadConda(ctx context.Context, r io.ReaderAt, size int64, lim Limits, visit Visitor) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return damaged(ctx, "ZIP directory", err)
	}
	if err := atEnd(ctx, r, size, len(z.Comment)); err != nil {
		return err
	}
	parts, err := findParts(z)
	if err != nil {
		return err
	}
	left := &counter{bytes: lim.MaxBytes, entries: lim.MaxEntries}
	for _, f := range parts {
		if err := readPart(ctx, f, lim, left, visit); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// atEnd refuses bytes behind the ZIP's last record, which ends with a comment.
func atEnd(ctx context.Context, r io.ReaderAt, size int64, comment int) error {
	const record, mark = 22, "PK\x05\x06"
	var head [len(mark)]byte
	if _, err := r.ReadAt(head[:], size-record-int64(comment)); err != nil {
		return damaged(ctx, "ZIP directory", err)
	}
	if string(head[:]) != mark {
		return fmt.Errorf("%w: data after the end of the ZIP", ErrIntegrity)
	}
	return nil
}

// findParts returns the info part and, if there is one, the pkg part.
func findParts(z *zip.Reader) ([]*zip.File, error) {
	var info, pkg *zip.File
	for _, f := range z.File {
		name := strings.TrimPrefix(f.Name, "./")
		var slot **zip.File
		switch {
		case name == "metadata.json":
			if err := checkMetadata(f); err != nil {
				return nil, err
			}
			continue
		case strings.Contains(name, "/") || !strings.HasSuffix(name, ".tar.zst"):
			continue
		case strings.HasPrefix(name, "info-"):
			slot = &info
		case strings.HasPrefix(name, "pkg-"):
			slot = &pkg
		default:
			continue
		}
		if *slot != nil {
			return nil, fmt.Errorf("%w: two parts of one kind, %s and %s", ErrIntegrity, (*slot).Name, f.Name)
		}
		*slot = f
	}
	if info == nil {
		return nil, fmt.Errorf("%w: the .conda archive has no info-*.tar.zst", ErrIntegrity)
	}
	if pkg == nil {
		return []*zip.File{info}, nil
	}
	return []*zip.File{info, pkg}, nil
}

func checkMetadata(f *zip.File) error {
	in, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: metadata.json: %w", ErrIntegrity, err)
	}
	data, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err == nil {
		err = in.Close()
	}
	if err != nil {
		return fmt.Errorf("%w: metadata.json: %w", ErrIntegrity, err)
	}
	var meta struct {
		Version *int `json:"conda_pkg_format_version"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return fmt.Errorf("%w: metadata.json: %w", ErrIntegrity, err)
	}
	if meta.Version != nil && *meta.Version != condaVersion {
		return fmt.Errorf("%w: metadata.json: format version %d is not known, only %d is", ErrIntegrity, *meta.Version, condaVersion)
	}
	return nil
}

func readPart(ctx context.Context, f *zip.File, lim Limits, left *counter, visit Visitor) error {
	in, err := f.Open()
	if err != nil {
		return damaged(ctx, "part", err)
	}
	// Nothing is written through this handle, and damage shows on reading.
	defer in.Close()
	// A deflated part is bounded too: frames that a decoder skips yield no
	// byte, however many there are.
	packed := lim.MaxBytes
	bounded := &meter{r: in, left: &packed, max: lim.MaxBytes}
	dec, done, err := lim.Memory.decoder(ctx, bounded)
	if err != nil {
		return damaged(ctx, "zstd", err)
	}
	defer done()
	return readTar(ctx, dec, lim, left, visit)
}
