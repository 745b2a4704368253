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
	{
		Case: `cases/(other-type|link-as-file)`, Who: "rattler", Says: `bin/[al]`,
		Reason: "paths.json and the archive disagree on what is a link; installed as the archive has it, and reported",
	},
	{
		Case: `cases/directory`, Who: "rattler", Says: `neither a regular file nor a symlink`,
		Reason: "this rattler cannot install directories that paths.json lists; the standard has them",
	},
	{
		Case: `cases/entry-point-extras`, Who: "rattler", Says: `dotted identifier`,
		Reason: "extras behind an entry point's function are dropped, as conda does",
	},
	{
		Case: `cases/perl-long`, Who: "hpcenv", Says: `first line .* prefix cannot be used`,
		Reason: "too long an interpreter line of another program than python: never through env, which finds whatever is first in PATH",
	},
	{
		Case: `cases/newer-paths`, Who: "hpcenv", Says: `paths_version is 2`,
		Reason: "a paths.json of a version that is not known means who knows what",
	},
}
