package api

// Verification is what the published trees and images of an environment are, and
// what they should be.
type Verification struct {
	ID        string             `json:"id"`
	Same      bool               `json:"same"`
	Platforms []VerifiedPlatform `json:"platforms"`
}

// VerifiedPlatform is the tree, or the image, of one platform.
type VerifiedPlatform struct {
	Platform    string `json:"platform"`
	Environment string `json:"environment"`
	// Delivery is tree or image, and Tree the directory or file that was read.
	Delivery string `json:"delivery"`
	Tree     string `json:"tree"`
	// Same: it is what it should be, as far as is known.
	Same bool `json:"same"`
	// TreeDigest of what was read; MetaDigest as noted when it was made;
	// PlanDigest as lock and packages have it, empty where NoPlan says why not or
	// where Unknown files have content that only a compiler could tell (byte-code
	// of sources that take their prefix apart): for those MetaDigest alone speaks.
	TreeDigest string `json:"tree_digest"`
	MetaDigest string `json:"meta_digest"`
	PlanDigest string `json:"plan_digest,omitempty"`
	Unknown    int    `json:"unknown,omitempty"`
	NoPlan     string `json:"no_plan,omitempty"`
	// Differences from the plan, and in who may read and write, sorted by path;
	// Damage to the pool and to the environment's description.
	Differences []Difference `json:"differences"`
	Damage      []string     `json:"damage,omitempty"`
}

// Difference is a path that is not as it should be.
type Difference struct {
	Path string `json:"path"`
	What string `json:"what"`
}
