package archive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/semaphore"
)

const (
	// budgetBytes is what all decoders of one Budget may take together: six of
	// the window that ordinary packages have (8 MiB), or one larger one alone.
	budgetBytes = 64 << 20
	// decoderBytes is what a decoder takes beside its window.
	decoderBytes = 2 << 20
	// keepWindow is the largest window whose decoder is used again. Most
	// packages have it, and making a decoder anew costs more than small ones.
	keepWindow = 8 << 20
	// headerBytes is enough for a frame's header.
	headerBytes = 32
)

// Budget bounds the memory of the zstd decoders that share it: each draws what
// the window in its frame's header will take, and waits for it. A window larger
// than the whole budget works alone. The zero Budget is ready for use.
type Budget struct {
	once sync.Once
	sem  *semaphore.Weighted
	idle sync.Pool // *zstd.Decoder whose windows were small
}

// decoder returns what decodes in, and what to call at the end. A nil Budget
// bounds nothing.
func (b *Budget) decoder(ctx context.Context, in io.Reader) (io.Reader, func(), error) {
	if b == nil {
		dec, err := newDecoder(in)
		if err != nil {
			return nil, nil, err
		}
		return dec, dec.Close, nil
	}
	b.once.Do(func() { b.sem = semaphore.NewWeighted(budgetBytes) })
	buffered := bufio.NewReaderSize(in, 64<<10)
	window := windowOf(buffered)
	need := min(window+decoderBytes, budgetBytes)
	if err := b.sem.Acquire(ctx, need); err != nil {
		return nil, nil, err
	}
	dec, err := b.take(buffered)
	if err != nil {
		b.sem.Release(need)
		return nil, nil, err
	}
	return dec, func() {
		b.put(dec, window)
		b.sem.Release(need)
	}, nil
}

func newDecoder(in io.Reader) (*zstd.Decoder, error) {
	// The archive's sha256 was checked: its frames' own sums tell nothing more.
	return zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.IgnoreChecksum(true))
}

func (b *Budget) take(in io.Reader) (*zstd.Decoder, error) {
	if dec, ok := b.idle.Get().(*zstd.Decoder); ok {
		return dec, dec.Reset(in)
	}
	return newDecoder(in)
}

// put takes a decoder back. A later frame of a stream may have had a larger
// window than the first: only what was seen to be small is kept, and a large
// one's memory goes back to the system before another may draw on the budget.
func (b *Budget) put(dec *zstd.Decoder, window int64) {
	if window <= keepWindow && dec.Reset(nil) == nil {
		b.idle.Put(dec)
		return
	}
	dec.Close()
	if window > budgetBytes {
		debug.FreeOSMemory()
	}
}

// windowOf is the window that the first frame of in asks for; what cannot be
// understood counts as small, since decoding it will fail or take little.
func windowOf(in *bufio.Reader) int64 {
	head, err := in.Peek(headerBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	var h zstd.Header
	if h.Decode(head) != nil || h.Skippable {
		return 0
	}
	window := h.WindowSize
	if h.SingleSegment {
		window = h.FrameContentSize
	}
	return int64(min(window, maxWindow))
}
