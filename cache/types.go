package cache

import (
	"encoding/json"
	"errors"

	"github.com/hpcenv/hpcenv/cache/archive"
)

// Error classes. Every error of this package that belongs to a class wraps it,
// so that callers decide with errors.Is; the text names the object, the
// operation, the cause and, where there is one, the next step.
var (
	// ErrNotFound: the object is not in the store.
	ErrNotFound = errors.New("not in the store")
	// ErrIntegrity: bytes differ from what the lock or the archive promises
	// (size, sha256, a truncated or trailing part).
	// It is the same value as archive.ErrIntegrity.
	ErrIntegrity = archive.ErrIntegrity
	// ErrUnsafe: an archive tries what could harm the store (a path that
	// escapes, a write through a link, a device node, a decompression bomb).
	// It is the same value as archive.ErrUnsafe.
	ErrUnsafe = archive.ErrUnsafe
	// ErrFetch: no URL delivered the archive.
	ErrFetch = errors.New("cannot be fetched")
	// ErrOffline: it would have to be fetched, and that was forbidden. An error of
	// this class is of class ErrFetch too.
	ErrOffline = errors.New("it is not here, and nothing may be fetched (offline)")
	// ErrStore: the store itself cannot be used (full, read-only, missing,
	// wrong owner, newer layout). The wrapped error says which.
	ErrStore = errors.New("store cannot be used")
)

// FormatVersion is the layout version that this program reads and writes. A
// store whose FORMAT holds a greater number is refused.
const FormatVersion = 1

// Format is the content of a store's FORMAT file (JSON). It is written once.
type Format struct {
	// Version is the layout version.
	Version int `json:"version"`
	// PrefixRoot is the short absolute local path under which environments
	// appear on every host. Empty in a user's own store, whose prefixes are the
	// published trees themselves.
	PrefixRoot string `json:"prefix_root,omitempty"`
	// Platforms lists the conda subdirs that an environment id covers, sorted.
	Platforms []string `json:"platforms"`
	// Clusters names the Slurm clusters served.
	Clusters []string `json:"clusters,omitempty"`
	// OwnerUID is the numeric uid that owns all files of the store.
	OwnerUID int `json:"owner_uid"`
}

// ArchiveFormat is the container format of a package archive.
type ArchiveFormat string

const (
	// FormatConda is the .conda format: a ZIP of zstd-compressed tars (CEP 35).
	FormatConda ArchiveFormat = "conda"
	// FormatTarBz2 is the older .tar.bz2 format (CEP 35).
	FormatTarBz2 ArchiveFormat = "tar.bz2"
	// FormatWheel is the wheel format: a ZIP of the files themselves.
	FormatWheel ArchiveFormat = "whl"
	// FormatTarGz and FormatTarZst are plain tars with gzip or zstd around them.
	FormatTarGz  ArchiveFormat = "tar.gz"
	FormatTarZst ArchiveFormat = "tar.zst"
)

// Source says where an archive lies and what it must be.
type Source struct {
	// Name is what messages call the package, e.g. "numpy-1.24.2-py311_0". A
	// wheel's is its file name, which says what must be in it.
	Name string
	// URL is an http, https or file URL. Credentials in it are used, never
	// printed or stored.
	URL string
	// SHA256 and MD5 are lower-case hex. SHA256 is required: it is the identity and
	// is always checked. MD5 is carried for records, and checked of wheels only.
	SHA256, MD5 string
	// Size in bytes; 0 = not known, else checked.
	Size int64
	// Format of the archive.
	Format ArchiveFormat
}

// EntryType is the kind of one path of a package.
type EntryType string

const (
	// EntryFile is a regular file.
	EntryFile EntryType = "file"
	// EntryLink is a symbolic link.
	EntryLink EntryType = "link"
	// EntryDir is a directory that the package names explicitly.
	EntryDir EntryType = "dir"
)

// Entry is one path of a package as its archive holds it (before any rule of
// placement).
type Entry struct {
	// Path is relative, slash-separated, clean, and never escapes.
	Path string
	Type EntryType
	// Exec: any executable bit was set in the archive.
	Exec bool
	// SHA256 (lower-case hex) and Size of a file's content.
	SHA256 string
	Size   int64
	// Target is the text of a link, verbatim.
	Target string
	// NoLink: the package asks for a copy, never a hard link.
	NoLink bool
	// Placeholder is the build-time prefix to replace; empty = none. Binary
	// tells the two ways of replacing apart. Offsets holds the byte offset of
	// every occurrence of Placeholder that is to be replaced, in whichever of its
	// Codings, ascending, found once when the package was taken in.
	Placeholder string
	Binary      bool
	Offsets     []int64
	// Time is a file's modification time in the archive, in seconds since 1970;
	// 0 = none. It decides nothing about the file; an Interpreter keeps it only
	// where something else in the package names it.
	Time int64
}

// Manifest describes a package in the store. On disk it is one JSON line (all
// fields but Entries) followed by one tab-separated line per entry, sorted by
// path.
type Manifest struct {
	// Version of the manifest's own format.
	Version int `json:"version"`
	// SHA256 of the archive: the package's identity.
	SHA256 string        `json:"sha256"`
	MD5    string        `json:"md5,omitempty"`
	Size   int64         `json:"size"`
	Format ArchiveFormat `json:"format"`
	// Meta is what the Interpreter made of the package's own metadata; the
	// cache carries it without looking inside.
	Meta json.RawMessage `json:"meta,omitempty"`
	// Notes are findings worth a report that did not stop the package (e.g. a
	// file that differs from paths.json).
	Notes []string `json:"notes,omitempty"`
	// ELF are the indices, ascending, of the entries whose content begins as an ELF
	// file; nil = an earlier release took the package in and did not look
	// (ELFEntries).
	ELF []int `json:"elf"`
	// Entries, sorted by Path, each path once.
	Entries []Entry `json:"-"`
}

// Raw is an unpacked archive before interpretation.
type Raw struct {
	Source Source
	// Entries of the archive, sorted by path, the last of duplicates; info/ is
	// included. Files outside info/ are in the pool already, but no manifest
	// names them yet; small files of info/ (of a wheel: its RECORD and scripts),
	// which nothing links as a rule, wait in memory until entries name them.
	Entries []Entry
	// Read returns the content of an entry that is a regular file, at most
	// limit bytes of it (an error if it is longer).
	Read func(path string, limit int64) ([]byte, error)
	// Head returns the first n bytes of such an entry, or all of a shorter one.
	Head func(path string, n int64) ([]byte, error)
}

// Interpreter turns an unpacked archive into the entries and metadata of its
// manifest: it drops what is never linked (info/), and sets NoLink,
// Placeholder and Binary. The cache then finds Offsets. It must be pure and may
// be called more than once.
type Interpreter func(raw *Raw) (entries []Entry, meta json.RawMessage, notes []string, err error)
