package lockfile

import "fmt"

// Relock is the command that writes a lock of this format anew, as messages have it.
func (f Format) Relock() string {
	switch f {
	case FormatCondaLock:
		return "`conda-lock lock`"
	case FormatExplicit:
		return "`conda list --explicit --sha256`"
	case FormatUV:
		return "`uv lock`"
	case FormatPylock:
		return "what wrote the pylock.toml (`uv export`, `pip lock`)"
	}
	return "`pixi lock`"
}

// AddPlatform is what gives a lock of this format packages for a further conda
// subdir, as messages have it.
func (f Format) AddPlatform(subdir string) string {
	switch f {
	case FormatCondaLock:
		return fmt.Sprintf("lock for it, too: `conda-lock lock` with `-p %s` beside the other platforms", subdir)
	case FormatExplicit:
		return fmt.Sprintf("such a list is for one platform: `conda list --explicit --sha256` on a host of %s makes one for it", subdir)
	case FormatUV, FormatPylock:
		return fmt.Sprintf("lock with wheels for %s, too (%s)", subdir, f.Relock())
	}
	return fmt.Sprintf("add %s to `platforms` in the project's manifest and run `pixi lock`", subdir)
}

// FormatOf is Detect, or what a file of this name would be where the bytes are not
// known or do not tell.
func FormatOf(name string, data []byte) Format {
	if f, err := Detect(data); err == nil {
		return f
	}
	for _, f := range []Format{FormatCondaLock, FormatUV, FormatPylock} {
		if name == f.String() {
			return f
		}
	}
	return FormatPixi
}
