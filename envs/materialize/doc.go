// Package materialize makes prefixes.
//
// Enters: locked packages with their manifests from the store, and the path that
// the prefix will have. Leaves: a published tree and its Meta.
//
//   - ID names an environment by all that decides the bytes of its prefixes.
//   - NewPlan decides, without any I/O, every path of a prefix: where packages
//     put it, who owns it where several want it, how its placeholder is replaced.
//   - Plan.Execute writes what was decided into a directory, and TreeDigest says
//     what a directory holds; for one plan the two always agree.
//   - Materialize does all of it once, however many ask, and publishes.
//
// The rules of placing, replacing and owning are rattler's (the library below
// pixi), so that a prefix is the one that pixi would make, file by file. It
// differs on purpose in this: files that lose a conflict are reported, not kept
// under __clobbers__; a script whose interpreter line becomes too long never goes
// through env; records name no cache; conda-meta/frozen and EXTERNALLY-MANAGED say
// that the prefix is not to be changed; hpcenv-overlay.pth lets the prefix's Python
// find a user's own project (package editable) where activation names one.
//
// Wheels are installed after the conda packages, as package wheel places them; a
// path that both have is the wheel's, and a conflict that is reported. A conda
// record lists what is the package's own in the prefix.
package materialize
