package wheels

import "github.com/hpcenv/hpcenv/internal/oracle"

const changed = "METADATA was changed after RECORD was written; a content that is not what RECORD says is an error"

// Refusals is every wheel that uv or pip install and hpcenv does not.
var Refusals = []oracle.Refusal{
	{Case: `maturin-1\.4\.0-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `maturin-2\.0\.0-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `tqdm-4\.66\.1-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
	{Case: `license\.dist-0\.[12]-.*`, Who: "hpcenv", Says: `METADATA is not what RECORD says`, Shared: true, Reason: changed},
}
