package oracle

// Refusals is every input that only one of the two installs.
var Refusals = []Refusal{
	{
		Case: `corpus/conda__conda.*\|zlib-1\.2\.11-h7b6447c_3\.tar\.bz2`, Who: "rattler", Says: `could not open source file`, Shared: true,
		Reason: "paths.json says link, the archive has files; installed as the archive has it, and reported",
	},
	{
		Case: `corpus/.*\|(info-only|symlink-test|zip64-test)-1\.0\.0-0\.conda`, Who: "rattler", Says: `info/files`, Shared: true,
		Reason: "neither info/paths.json nor info/files: all that the archive has is linked, and reported",
	},
}
