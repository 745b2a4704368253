// Package standalone compares, end to end, what hpcenv makes of an archive of
// python-build-standalone's layout and of wheels with what uv makes of them: `uv
// python install` of the same archive, and `uv pip install --no-deps` on top. The
// archive is a CPython of this host (standalonetest.Real), the wheels are real ones
// that the set-up fetched. It has no code but its test (build tag oracle).
package standalone
