package stack

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
)

// stamp is the time of all members.
var stamp = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// pathEntry is one line of info/paths.json.
type pathEntry struct {
	Path        string `json:"_path"`
	Type        string `json:"path_type"`
	SHA256      string `json:"sha256"`
	Size        int    `json:"size_in_bytes"`
	Placeholder string `json:"prefix_placeholder,omitempty"`
	Mode        string `json:"file_mode,omitempty"`
}

// archive makes the .conda of p; its zstd frames have this window.
func (s Spec) archive(p *pkg, window int) ([]byte, error) {
	paths := make([]pathEntry, 0, len(p.files))
	payload, err := packTar(window, func(add addFunc) error {
		for i := range p.files {
			f := &p.files[i]
			data := s.content(f)
			sum := sha256.Sum256(data)
			e := pathEntry{Path: f.path, Type: "hardlink", SHA256: hex.EncodeToString(sum[:]), Size: len(data)}
			if f.patch {
				e.Placeholder, e.Mode = placeholder, "text"
				if f.kind == library {
					e.Mode = "binary"
				}
			}
			paths = append(paths, e)
			if err := add(f.path, data, f.exec); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	info, err := packTar(1<<20, func(add addFunc) error { return p.info(paths, add) })
	if err != nil {
		return nil, err
	}
	return container(p.dist(), info, payload)
}

// info adds the members of the info part.
func (p *pkg) info(paths []pathEntry, add addFunc) error {
	index := map[string]any{
		"name": p.name, "version": p.version, "build": p.build, "build_number": 0, "subdir": p.subdir(),
		"depends": append([]string{}, p.depends...), "license": "MIT", "timestamp": stamp.UnixMilli(),
	}
	if p.noarch {
		index["noarch"] = "python"
		if err := addJSON(add, "info/link.json", map[string]any{"package_metadata_version": 1, "noarch": map[string]any{"type": "python"}}); err != nil {
			return err
		}
	}
	if err := addJSON(add, "info/index.json", index); err != nil {
		return err
	}
	return addJSON(add, "info/paths.json", map[string]any{"paths_version": 1, "paths": paths})
}

func addJSON(add addFunc, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return add(name, data, false)
}

type addFunc func(name string, data []byte, exec bool) error

// packTar returns the tar.zst of what fill adds.
func packTar(window int, fill func(addFunc) error) ([]byte, error) {
	var buf bytes.Buffer
	enc, err := zstd.NewWriter(&buf, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(enc)
	err = fill(func(name string, data []byte, exec bool) error {
		mode := int64(0o644)
		if exec {
			mode = 0o755
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: mode, ModTime: stamp, Format: tar.FormatGNU}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err := tw.Write(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// container wraps the two parts, stored as they are.
func container(dist string, info, payload []byte) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, part := range []struct {
		name string
		data []byte
	}{
		{"metadata.json", []byte(`{"conda_pkg_format_version": 2}`)},
		{"pkg-" + dist + ".tar.zst", payload},
		{"info-" + dist + ".tar.zst", info},
	} {
		n := uint64(len(part.data))
		w, err := z.CreateRaw(&zip.FileHeader{Name: part.name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(part.data),
			CompressedSize64: n, UncompressedSize64: n})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(part.data); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// wideArchive writes a .conda whose zstd frame demands a window of this many
// bytes, and whose content is long enough to fill it.
func wideArchive(p *pkg, window int, w io.Writer) error {
	seed := uint64(p.number) + 1
	data := make([]byte, window+window/8)
	line := []byte("the quick brown fox jumps over the lazy dog 0123456789 and again \n")
	for at := 0; at < len(data); at += copy(data[at:], line) {
		seed = seed*6364136223846793005 + 1442695040888963407
		line[int(seed>>33)%len(line)] = byte('a' + seed>>60)
	}
	sum := sha256.Sum256(data)
	paths := []pathEntry{{Path: "share/" + p.name, Type: "hardlink", SHA256: hex.EncodeToString(sum[:]), Size: len(data)}}
	payload, err := packTar(window, func(add addFunc) error { return add(paths[0].Path, data, false) })
	if err != nil {
		return err
	}
	info, err := packTar(1<<20, func(add addFunc) error { return p.info(paths, add) })
	if err != nil {
		return err
	}
	whole, err := container(p.dist(), info, payload)
	if err != nil {
		return err
	}
	_, err = w.Write(whole)
	return err
}

// writeFile writes a whole file.
func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o644) }
