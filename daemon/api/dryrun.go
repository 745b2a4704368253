package api

// DryRun is what a prepare would do and take of the store's file system.
type DryRun struct {
	// Fetch are the packages that are not in the store, the largest first, and
	// FetchBytes what is known of their sizes.
	Fetch      []Fetch `json:"fetch"`
	FetchBytes int64   `json:"fetch_bytes"`
	// Inodes and Bytes on the store's file system in all.
	Inodes int   `json:"inodes"`
	Bytes  int64 `json:"bytes"`
	// Estimated: packages are not in the store, and what they hold is a guess by
	// the size of their archives; or Python sources are yet to be compiled.
	Estimated    bool                `json:"estimated"`
	Environments []DryRunEnvironment `json:"environments"`
}

// Fetch is a package to fetch. Size is that of its archive; 0 = not known.
type Fetch struct {
	Package string `json:"package"`
	SHA256  string `json:"sha256"`
	URL     string `json:"url"`
	Size    int64  `json:"size"`
}

// DryRunEnvironment is one environment, to be made (New) or there.
type DryRunEnvironment struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Platform string `json:"platform"`
	New      bool   `json:"new"`
	// Delivery is how a new one is published: tree, image or both; "" = tree. Inodes and
	// Bytes are what that takes; the size of an image is a guess.
	Delivery string `json:"delivery,omitempty"`
	Inodes   int    `json:"inodes"`
	Bytes    int64  `json:"bytes"`
	// Estimated: not all its packages are in the store (conflicts and scripts are
	// not known then), or Python sources are yet to be compiled.
	Estimated      bool     `json:"estimated"`
	Conflicts      []string `json:"conflicts,omitempty"`
	SkippedScripts []string `json:"skipped_scripts,omitempty"`
}
