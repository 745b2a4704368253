package sitebuild

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/hpcenv/hpcenv/internal/making"
)

// Build is a declaration that applies to an environment on a platform.
type Build struct {
	*Declaration
	// Environment is the id, Prefix where it is on every node.
	Environment, Prefix, Platform string
	Wrapper                       *making.Package
	// Root is the prefix root.
	Root   string
	nodes  Nodes
	script []byte
}

// buildVersion is raised when the same declaration would build something else.
const buildVersion = 1

// scriptDigest is the sha256 of the script; "" = there is none.
func (b *Build) scriptDigest() string {
	if b.script == nil {
		return ""
	}
	sum := sha256.Sum256(b.script)
	return hex.EncodeToString(sum[:])
}

// Digest of all that is known of a build before a node is asked: while it stays the same
// for an environment, nothing is built again.
func (b *Build) Digest() string {
	h := sha256.New()
	for _, s := range []string{strconv.Itoa(buildVersion), b.Environment, b.Platform, b.Wrapper.Name, b.Wrapper.Version, b.Wrapper.SHA256, b.scriptDigest(), string(b.json())} {
		h.Write([]byte(strconv.Itoa(len(s)) + ":" + s)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// key is what the bytes of an overlay depend on. Variables, networks, bounds and how
// nodes are found do not belong to it.
type key struct {
	Version           int      `json:"version"`
	Root              string   `json:"root"`
	Environment       string   `json:"environment"`
	Platform          string   `json:"platform"`
	Name              string   `json:"name"`
	Package           string   `json:"package"`
	PackageVersion    string   `json:"package_version"`
	PackageSHA256     string   `json:"package_sha256"`
	Conduit           string   `json:"conduit"`
	System            string   `json:"system"`
	MPI               string   `json:"mpi"`
	Compiler          string   `json:"compiler"`
	Microarchitecture string   `json:"microarchitecture"`
	Probe             []string `json:"probe"`
	Identity          string   `json:"identity"`
	Script            string   `json:"script"`
	Arguments         []string `json:"arguments"`
	Sources           []Source `json:"sources"`
	Paths             []string `json:"paths"`
}

// OverlayID is the id of what is built where a node answers the probe with identity: 32
// hex digits, as those of environments.
func (b *Build) OverlayID(identity string) string {
	data, err := json.Marshal(key{
		Version: buildVersion, Root: b.Root, Environment: b.Environment, Platform: b.Platform, Name: b.Name, Package: b.Wrapper.Name,
		PackageVersion: b.Wrapper.Version, PackageSHA256: b.Wrapper.SHA256, Conduit: b.Conduit, System: b.System, MPI: b.MPI, Compiler: b.Compiler,
		Microarchitecture: b.Microarchitecture, Probe: b.Probe, Identity: identity, Script: b.scriptDigest(), Arguments: b.Arguments, Sources: b.Sources, Paths: b.Paths,
	})
	if err != nil { // strings and lists of them
		panic(err)
	}
	sum := sha256.Sum256(append([]byte("overlay\x00"), data...))
	return hex.EncodeToString(sum[:16])
}

// Entry is what the record says of a build, in a state.
func (b *Build) Entry(state string) making.SiteBuild {
	e := making.SiteBuild{
		Name: b.Name, Declaration: b.Digest(), State: state, Networks: b.Networks, Variables: b.Variables,
		Package: b.Wrapper.Name, Version: b.Wrapper.Version, SHA256: b.Wrapper.SHA256, Conduit: b.Conduit, System: b.System, MPI: b.MPI,
		Compiler: b.Compiler, Script: b.scriptDigest(),
	}
	for _, s := range b.Sources {
		e.Sources = append(e.Sources, s.SHA256)
	}
	return e
}
