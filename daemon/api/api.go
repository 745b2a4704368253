// Package api holds the wire types of hpcenvd and its client. It is a leaf: it
// imports nothing of this module but types (internal/making), so hooks and the
// command line may use it.
package api

import (
	"context"

	"github.com/hpcenv/hpcenv/internal/making"
)

// Service is what hpcenvd does for its users. The client in this package talks
// to a daemon; package daemon/service does the same in-process on a store of
// the user's own.
type Service interface {
	// Prepare makes what the request names and reports progress through
	// report, which is called from one goroutine. Preparing what is there does
	// no work. Cancelling ctx stops waiting; a daemon goes on working.
	Prepare(ctx context.Context, req *PrepareRequest, report func(Event)) (*PrepareResult, error)
	// List returns the published environments, newest first.
	List(ctx context.Context) ([]Environment, error)
	// Inspect returns one environment by id or unambiguous prefix of it.
	Inspect(ctx context.Context, id string) (*EnvironmentDetail, error)
	// Status tells who serves, from where, and which platforms the cluster has.
	Status(ctx context.Context) (*Status, error)
}

// PrepareRequest asks for environments of a lock.
type PrepareRequest struct {
	// Lock is the bytes of the lock file; LockPath is only for messages and for
	// resolving relative locations on the client's side.
	Lock     []byte `json:"lock"`
	LockPath string `json:"lock_path"`
	// Environments by name; empty = default. All = every one. Of a uv.lock or
	// pylock.toml, which names none, they are wishes (python.Wish), e.g.
	// "python=3.12,extra=gpu"; the client has completed them.
	Environments []string `json:"environments,omitempty"`
	All          bool     `json:"all,omitempty"`
	// Platforms by conda subdir; empty = every architecture of the cluster.
	Platforms []string `json:"platforms,omitempty"`
	// Brought: the client has the archives (PrepareHeld). Nothing is fetched; what is
	// missing is asked of the client.
	Brought bool `json:"brought,omitempty"`
	// Activations: environment name → canonical JSON of activation.Manifest,
	// kept with the lock.
	Activations map[string][]byte `json:"activations,omitempty"`
	// Description of what the lock asks of nodes (planning.Description), kept with the
	// lock.
	Description []byte `json:"description,omitempty"`
	DryRun      bool   `json:"dry_run,omitempty"`
	// Offline: nothing is fetched and nobody is asked over the network, not Slurm
	// either; what is missing is an error.
	Offline bool `json:"offline,omitempty"`
	// Private: make the environments in the part of the store that only the
	// caller's primary group reads. Client.Prepare sets it once it has handed over
	// what a credential fetched.
	Private bool `json:"private,omitempty"`
	// UID of the caller; never sent.
	UID int `json:"-"`
	// Group is the caller's primary group, as the kernel tells it, -1 = it does not;
	// never sent.
	Group int `json:"-"`
	// Groups are all groups of the caller, the primary one first; never sent.
	Groups []int `json:"-"`
}

// Types of events.
const (
	// EventPlan: what will be done is known; the totals are set.
	EventPlan = "plan"
	// EventFetch: a download moves. Of one package only the latest counts.
	EventFetch = "fetch"
	// EventFetched: a package is in the store.
	EventFetched = "fetched"
	// EventLink: an environment is being made for a platform.
	EventLink = "link"
	// EventPublished: it is there (New tells whether it was made now).
	EventPublished = "published"
	// EventNote: one line for people.
	EventNote = "note"
	// EventWait: another program does the same work; this one waits for it.
	EventWait = "wait"
)

// Event is a step of a running Prepare.
type Event struct {
	// Type is one of the Event constants.
	Type string `json:"type"`
	// Package that is fetched, with bytes so far and in all (0 = not known).
	Package string `json:"package,omitempty"`
	Done    int64  `json:"done,omitempty"`
	Total   int64  `json:"total,omitempty"`
	// Totals of the whole request so far.
	PackagesDone  int   `json:"packages_done,omitempty"`
	PackagesTotal int   `json:"packages_total,omitempty"`
	BytesDone     int64 `json:"bytes_done,omitempty"`
	BytesTotal    int64 `json:"bytes_total,omitempty"`
	// Environment and Platform for link and published.
	Environment string `json:"environment,omitempty"`
	Platform    string `json:"platform,omitempty"`
	// New: this request makes it (plan and published of one environment).
	New bool `json:"new,omitempty"`
	// Text is one line for people.
	Text string `json:"text,omitempty"`
}

// PrepareResult is what a Prepare ended with.
type PrepareResult struct {
	LockDigest   string        `json:"lock_digest"`
	Environments []Environment `json:"environments"`
	// Skipped: one line per environment and platform that was wanted but is not
	// in the lock.
	Skipped []string `json:"skipped,omitempty"`
	// Packages that were there already, and that were fetched.
	PackagesKept int   `json:"packages_kept"`
	PackagesNew  int   `json:"packages_new"`
	BytesFetched int64 `json:"bytes_fetched"`
	// Seconds it took.
	Seconds float64 `json:"seconds"`
	// Notes for the user.
	Notes []string `json:"notes,omitempty"`
	// Private: only the caller's group can read what was made.
	Private bool `json:"private,omitempty"`
	// DryRun of a request that asked for one.
	DryRun *DryRun `json:"dry_run,omitempty"`
}

// Environment is one published environment of one platform.
type Environment struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Platform   string `json:"platform"`
	LockDigest string `json:"lock_digest"`
	Prefix     string `json:"prefix"`
	TreeDigest string `json:"tree_digest"`
	Packages   int    `json:"packages"`
	Files      int    `json:"files"`
	Bytes      int64  `json:"bytes"`
	// Deliveries are the forms in which it is published: tree, image; ImageBytes is the
	// size of its image.
	Deliveries []string `json:"deliveries,omitempty"`
	ImageBytes int64    `json:"image_bytes,omitempty"`
	// Cost of making it; nil = not noted.
	Cost *Cost `json:"cost,omitempty"`
	// New: this request made it. Only in a PrepareResult.
	New bool `json:"new,omitempty"`
	// Created, RFC 3339.
	Created string `json:"created,omitempty"`
	// Group is the only one that may read it; nil = everybody may, or it is in a store
	// of the user's own.
	Group *int `json:"group,omitempty"`
}

// EnvironmentDetail is Environment with what Inspect adds.
type EnvironmentDetail struct {
	// Platforms for which the id is published.
	Platforms []PlatformDetail `json:"platforms"`
	ID        string           `json:"id"`
}

// PlatformDetail is the content of one platform of an environment.
type PlatformDetail struct {
	Environment
	PackageList    []Package `json:"package_list"`
	Conflicts      []string  `json:"conflicts,omitempty"`
	SkippedScripts []string  `json:"skipped_scripts,omitempty"`
	// Scripts that were run; Degraded: one of them failed.
	Scripts  []Script `json:"scripts,omitempty"`
	Degraded bool     `json:"degraded,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	// Image tells of the image; nil = there is none.
	Image *Image `json:"image,omitempty"`
	// ByteCode tells of the compiled files; nil = there is no python.
	ByteCode *ByteCode `json:"byte_code,omitempty"`
	// SiteBuilds are what the site compiled on its nodes for it.
	SiteBuilds []SiteBuild `json:"site_builds,omitempty"`
	// Needs is what the files ask of a node; nil = NeedsUnknown says why it is not known.
	Needs        *Needs `json:"needs,omitempty"`
	NeedsUnknown string `json:"needs_unknown,omitempty"`
}

// What is told of how an environment was made.
type (
	// Cost is what it took of the store's file system.
	Cost = making.Cost
	// ByteCode counts its compiled files.
	ByteCode = making.ByteCode
	// Script is a link script that was run.
	Script = making.Script
	// Package is a locked package.
	Package = making.Package
	// Image is an environment as one file.
	Image = making.Image
)

// Status of a service.
type Status struct {
	// Store as this host sees it, and the prefix root.
	Store      string `json:"store"`
	PrefixRoot string `json:"prefix_root"`
	// Platforms that the cluster's nodes have (conda subdirs), with node counts.
	Platforms map[string]int `json:"platforms"`
	Version   string         `json:"version"`
	// Interpreters that locks may get which name no Python, and the glibc that
	// wheels may ask for ("" = the default).
	Interpreters []Interpreter `json:"interpreters,omitempty"`
	Glibc        string        `json:"glibc,omitempty"`
	// Serves are the platforms (conda subdirs) that the store has environments for.
	Serves []string `json:"serves,omitempty"`
	// Embedded: no daemon; a store of the user's own.
	Embedded bool `json:"embedded"`
}

// Interpreter is a Python that a service offers.
type Interpreter struct {
	Version      string `json:"version"`
	Platform     string `json:"platform"`
	Kind         string `json:"kind"`
	FreeThreaded bool   `json:"free_threaded,omitempty"`
	// URL and SHA256 of its archive, With those of its further packages; the list's
	// URLs hold no credentials.
	URL    string        `json:"url,omitempty"`
	SHA256 string        `json:"sha256,omitempty"`
	With   []FileToFetch `json:"with,omitempty"`
}

// FileToFetch is an archive that the site lists.
type FileToFetch struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`
}

// Error is an error as the API carries it. Code is the exit code of design 9.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// AboutLock: the lock is at fault; a client puts its path before the message.
	AboutLock bool `json:"about_lock,omitempty"`
}

func (e *Error) Error() string { return e.Message }
