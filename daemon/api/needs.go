package api

// Needs is what the files of an environment ask of a node. Paths are below the prefix;
// Package is "name version", "" = no package has the file.
type Needs struct {
	// Glibc is the least version of the node's C library; nil = no file needs one.
	Glibc *NeedsFloor `json:"glibc,omitempty"`
	// Page is the largest page size that all files can be loaded with.
	Page *NeedsPage `json:"page,omitempty"`
	// Libraries that the node must have.
	Libraries []NeedsLibrary `json:"libraries,omitempty"`
	// Runtime are versions of the C++ library (GLIBCXX_3.4.32) that the node must have.
	Runtime []NeedsFloor `json:"runtime,omitempty"`
	// Copies of libraries of which a process may have one.
	Copies []NeedsCopies `json:"copies,omitempty"`
	// Foreign files are for another machine, Broken ones could not be loaded.
	Foreign []NeedsFile `json:"foreign,omitempty"`
	Broken  []NeedsFile `json:"broken,omitempty"`
	// CUDA code by file.
	CUDA []NeedsCUDA `json:"cuda,omitempty"`
	// Modules are files that are opened at run time.
	Modules []NeedsModule `json:"modules,omitempty"`
}

// NeedsFloor is the least version of something, and the file that sets it.
type NeedsFloor struct {
	Version string `json:"version"`
	File    string `json:"file"`
	Package string `json:"package,omitempty"`
}

// NeedsPage is a page size in bytes, and the file that sets it.
type NeedsPage struct {
	Size    int    `json:"size"`
	File    string `json:"file"`
	Package string `json:"package,omitempty"`
}

// NeedsLibrary is a library, with the first of Files that need it. Version is the
// highest that they need, "" = any. Module: programs start without; only what they open at
// run time needs it.
type NeedsLibrary struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	File    string `json:"file"`
	Files   int    `json:"files"`
	Package string `json:"package,omitempty"`
	Module  bool   `json:"module,omitempty"`
}

// NeedsCopies are copies of one library. By is a file on whose loader path are two, and
// Program the one that passes that path on.
type NeedsCopies struct {
	Library string   `json:"library"`
	Files   []string `json:"files"`
	By      string   `json:"by,omitempty"`
	Program string   `json:"program,omitempty"`
}

// NeedsFile is a file and what is odd about it: the machine that it is for, or why it
// could not be loaded.
type NeedsFile struct {
	File string `json:"file"`
	What string `json:"what"`
}

// NeedsCUDA is the CUDA code of a file: sm_90 runs on GPUs of that compute capability,
// compute_90 is compiled by the driver. Problem: not all of it could be read.
type NeedsCUDA struct {
	File    string   `json:"file"`
	Code    []string `json:"code,omitempty"`
	Problem string   `json:"problem,omitempty"`
	Package string   `json:"package,omitempty"`
}

// NeedsModule is a file that Of (UCX, libfabric …) opens, and the other names that it has.
type NeedsModule struct {
	Of      string   `json:"of"`
	Path    string   `json:"path"`
	Links   []string `json:"links,omitempty"`
	Package string   `json:"package,omitempty"`
}
