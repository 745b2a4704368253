package wheels

import "github.com/hpcenv/hpcenv/internal/oracle"

const changed = "METADATA was changed after RECORD was written; a content that is not what RECORD says is an error"

// RefusalsUV is every wheel that uv installs and hpcenv does not.
var RefusalsUV = append([]oracle.Refusal{
	{Case: `cases/record-wrong`, Who: "hpcenv", Says: `is not what RECORD says`, Reason: "a content that is not what RECORD says is an error"},
	{Case: `cases/record-up`, Who: "hpcenv", Says: `leaves the place`, Reason: "a row that points out of the wheel is no accident"},
	{Case: `cases/data-other`, Who: "hpcenv", Says: `data of another package`, Reason: "uv leaves it in site-packages, pip spreads it"},
	{Case: `cases/(up|absolute)`, Who: "hpcenv", Says: `refused as unsafe`, Reason: "members that lead out of the wheel: uv leaves them out"},
	{Case: `cases/backslash`, Who: "hpcenv", Says: `holds a backslash`, Reason: "a directory to some programs, a name to others"},
	{Case: `cases/link`, Who: "hpcenv", Says: `symbolic link`, Reason: "wheels have no links; uv writes the link's text into a file"},
	{Case: `cases/before`, Who: "hpcenv", Says: `does not begin with a ZIP member`, Reason: "the file may be another archive to another program"},
	{Case: `cases/two-contents`, Who: "hpcenv", Says: `the two differ`, Reason: "which of two contents counts, programs do not agree on"},
}, refusals...)

// RefusalsPip is every wheel that pip installs and hpcenv does not.
var RefusalsPip = refusals

// refusals are those of both.
var refusals = []oracle.Refusal{
	{Case: `maturin-1\.4\.0-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `maturin-2\.0\.0-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `tqdm-4\.66\.1-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `license\.dist-0\.[12]-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
}
