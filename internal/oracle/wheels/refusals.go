package wheels

import "github.com/hpcenv/hpcenv/internal/oracle"

// RefusalsUV is every wheel that uv installs and hpcenv does not.
var RefusalsUV = []oracle.Refusal{}

// RefusalsPip is every wheel that pip installs and hpcenv does not.
var RefusalsPip = []oracle.Refusal{}
