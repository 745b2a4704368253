package archive

import (
	"context"
	"io"

	"github.com/klauspost/compress/gzip"
)

// ReadTarGz reads a .tar.gz of size bytes, of one or several gzip streams.
func ReadTarGz(ctx context.Context, r io.ReaderAt, size int64, lim Limits, visit Visitor) error {
	plain, err := gzip.NewReader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return damaged(ctx, "gzip header", err)
	}
	return readTar(ctx, plain, lim, &counter{bytes: lim.MaxBytes, entries: lim.MaxEntries}, visit)
}

// ReadTarZst reads a .tar.zst of size bytes.
func ReadTarZst(ctx context.Context, r io.ReaderAt, size int64, lim Limits, visit Visitor) error {
	plain, done, err := lim.Memory.decoder(ctx, io.NewSectionReader(r, 0, size))
	if err != nil {
		return damaged(ctx, "zstd", err)
	}
	defer done()
	return readTar(ctx, plain, lim, &counter{bytes: lim.MaxBytes, entries: lim.MaxEntries}, visit)
}
