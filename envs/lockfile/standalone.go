package lockfile

// StandalonePython is a Python as one archive with a whole relocatable tree
// (python-build-standalone). No lock names one: a site gives it to locks that name
// no Python.
type StandalonePython struct {
	// Version of CPython, complete; Subdir is the conda subdir it runs on.
	Version, Subdir string
	// FreeThreaded: built without the global interpreter lock.
	FreeThreaded bool
	// URL (http, https, file) of the archive; Local: it is a file's.
	URL   string
	Local bool
	// FileName is the archive's name, which ends in .tar.gz or .tar.zst.
	FileName string
	SHA256   string
}

// Dist is what messages call it.
func (s *StandalonePython) Dist() string { return s.FileName }
