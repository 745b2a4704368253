// Package bundle writes and reads environments of a lock as one file, for hosts
// without a network.
//
// Enters, to write: a lock, the project's files beside it, which environments for
// which platforms, and a way to open an archive. Leaves: a tar file. Enters, to
// read: such a file, or one that pixi-pack made. Leaves: a lock, what it is to be
// prepared for, and the archives by sha256. What a store is, this package does not
// know.
//
// The layout is pixi-pack's, version 1, so that pixi-unpack, conda and mamba read
// the first environment and platform of it without hpcenv:
//
//	pixi-pack.json                   version and platform
//	environment.yml                  every package of it, for conda env create
//	channel/<subdir>/repodata.json   a conda channel,
//	channel/<subdir>/<archive>       and its archives
//	pypi/<wheel>                     wheels
//
// A pack is one environment for one platform: pixi-unpack installs whatever lies in
// channel/. What hpcenv adds lies where pixi-unpack does not look:
//
//	hpcenv/bundle.json               version, environments and platforms, archives
//	hpcenv/project/…                 the lock as it was, the manifest, its scripts
//	hpcenv/archives/<sha256>.<ext>   what only further environments or platforms
//	                                 need, the Python that compiles for another
//	                                 platform, and Pythons that are no conda
//	                                 packages
//	hpcenv/interpreters.yaml         of a lock that names no Python: those that its
//	                                 environments got, as sites list them
//
// A lock that names no Python (uv.lock, pylock.toml) gets one that a site lists. Where
// that is of conda packages, they lie in channel/, and the pack is one like any other.
// An archive of python-build-standalone has no place in pixi-pack's layout: it lies
// with the further archives, the first environment can then be made by hpcenv alone,
// and environment.yml asks for a python that no channel has. Where a bundle is loaded
// the site must list the same Pythons (Bundle.Fits).
//
// Local source trees (editable projects) are in no bundle: they are used where they
// lie. Plan.Trees and Bundle.Trees name them.
//
// The lock's own bytes give an environment the id that it has everywhere. A pack
// of pixi-pack has no lock; one is derived from its channel (derive.go), always the
// same for the same pack.
//
//	layout.go    names, versions, the small files
//	plan.go      what a bundle of a lock holds
//	pythons.go   locks that name no Python
//	repodata.go  the channel's index, environment.yml
//	write.go     the tar; archives are verified while they are written
//	tree.go      the members of a tar or of a folder, by name
//	open.go      what a bundle is: ours
//	pack.go      or pixi-pack's
//	derive.go    the lock of a pack that has none
//
// The same lock and project files give the same bytes.
package bundle
