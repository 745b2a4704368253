package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// Rule is one row of a site's table: for which nodes it is, and what is taken
// there first. Rows of a site come before those of the default table, and a row
// with the key of a default one replaces it.
type Rule struct {
	// Key identifies the row in messages and for replacing it.
	Key string `json:"key" yaml:"key" mapstructure:"key"`

	// GPU: nodes with (true) or without (false) a usable GPU; nil = all.
	GPU *bool `json:"gpu,omitempty" yaml:"gpu" mapstructure:"gpu"`
	// Network: nodes whose fabric (else Ethernet) is one of these, by the names of
	// facts.Network.Kind; nil = all.
	Network []string `json:"network,omitempty" yaml:"network" mapstructure:"network"`
	// Partition: jobs that run in one of these; nil = all.
	Partition []string `json:"partition,omitempty" yaml:"partition" mapstructure:"partition"`
	// Architecture: nodes with one of these conda subdirs; nil = all.
	Architecture []string `json:"architecture,omitempty" yaml:"architecture" mapstructure:"architecture"`
	// Mixed: the row is for jobs whose nodes would disagree on the family, if all of
	// them match; nothing preferred = such a job is refused.
	Mixed bool `json:"mixed,omitempty" yaml:"mixed" mapstructure:"mixed"`

	// Prefer: what to take, the first that fits. See parsePhrase for the forms.
	Prefer []string `json:"prefer,omitempty" yaml:"prefer" mapstructure:"prefer"`
	// Set: variables for the tasks on such nodes, where the user has not set them.
	Set []RuleSetting `json:"set,omitempty" yaml:"set" mapstructure:"set"`

	phrases []phrase
	// site: it is the site's, not of the default table.
	site bool
}

// RuleSetting is a variable that a row sets.
type RuleSetting struct {
	Name  string `json:"name" yaml:"name" mapstructure:"name"`
	Value string `json:"value" yaml:"value" mapstructure:"value"`
}

// Rules are a site's rows over the default table, checked. The zero value is the
// default table alone.
type Rules struct{ set *ruleSet }

type ruleSet struct {
	rows   []*Rule // by key
	cuda   *cuda.Table
	digest string
}

// rulesVersion is raised when rows of the same text come to mean something else.
const rulesVersion = 1

// DefaultRules is the table that holds where a site says nothing.
func DefaultRules() []Rule {
	yes, no := true, false
	gpu := func(key string, network string, prefer ...string) Rule {
		return Rule{Key: key, GPU: &yes, Network: []string{network}, Prefer: append(prefer, "with GPU")}
	}
	return []Rule{
		{Key: "no-gpu", GPU: &no, Prefer: []string{"without GPU"}},
		{Key: "gpu", GPU: &yes, Prefer: []string{"with GPU"}},
		gpu("gpu-infiniband", facts.InfiniBand, "UCX with GPU"),
		gpu("gpu-roce", facts.RoCE, "UCX with GPU"),
		gpu("gpu-slingshot-11", facts.Slingshot11, "GASNet-EX with GPU"),
		// GASNet-EX and UCX both drive it: which, is the site's choice.
		gpu("gpu-slingshot-10", facts.Slingshot10),
		gpu("gpu-omni-path", facts.OmniPath, "GASNet-EX with GPU"),
		gpu("gpu-efa", facts.EFA, "UCX with GPU"),
		gpu("gpu-ethernet", facts.Ethernet, "UCX with GPU"),
		{Key: "mixed", Mixed: true},
	}
}

var defaultRules = sync.OnceValue(func() *ruleSet {
	r, err := NewRules(nil)
	if err != nil {
		panic(err) // the table is a constant, and a test reads it
	}
	return r.set
})

func (r Rules) get() *ruleSet {
	if r.set == nil {
		return defaultRules()
	}
	return r.set
}

// NewRules checks a site's rows and lays them over the default table. The error is
// of class ErrRules: a row that says what is not known, two rows with one key, or
// two that contradict each other.
func NewRules(site []Rule) (Rules, error) {
	rows := make([]*Rule, 0, len(site)+16)
	keys := map[string]bool{}
	for i := range site {
		row := site[i].clone()
		row.site = true
		keys[row.Key] = true
		rows = append(rows, row)
	}
	for _, r := range DefaultRules() {
		if !keys[r.Key] {
			rows = append(rows, &r)
		}
	}
	return layRules(rows)
}

// layRules checks rows, which it keeps, and makes rules of them.
func layRules(rows []*Rule) (Rules, error) {
	keys := map[string]bool{}
	for i, row := range rows {
		if err := row.check(); err != nil {
			return Rules{}, fmt.Errorf("%w: row %d: %w", ErrRules, i+1, err)
		}
		if keys[row.Key] {
			return Rules{}, fmt.Errorf("%w: two rows have the key %s; next: give each its own", ErrRules, row.Key)
		}
		keys[row.Key] = true
	}
	slices.SortFunc(rows, func(a, b *Rule) int { return strings.Compare(a.Key, b.Key) })
	if err := contradiction(rows); err != nil {
		return Rules{}, err
	}
	return (&ruleSet{rows: rows}).sealed()
}

// sealed are rules with the digest of all that they say.
func (s *ruleSet) sealed() (Rules, error) {
	canonical, err := s.canonical()
	if err != nil {
		return Rules{}, fmt.Errorf("%w: %w", ErrRules, err)
	}
	sum := sha256.Sum256(canonical)
	s.digest = hex.EncodeToString(sum[:16])
	return Rules{s}, nil
}

// WithCUDA are the rules with a site's own table of what drivers and GPUs are good for;
// nil = the program's. It is part of what the rules' digest stands for, so that who
// submits and every node judge by one.
func (r Rules) WithCUDA(t *cuda.Table) (Rules, error) {
	return (&ruleSet{rows: r.get().rows, cuda: t}).sealed()
}

// table by which drivers and GPUs are judged.
func (s *ruleSet) table() *cuda.Table {
	if s.cuda != nil {
		return s.cuda
	}
	return cuda.Default()
}

// CUDA is the site's table; nil = the program's own counts.
func (r Rules) CUDA() *cuda.Table { return r.get().cuda }

// Digest identifies the rules: 32 hex digits over Canonical.
func (r Rules) Digest() string { return r.get().digest }

// Canonical JSON of all rows that count, the default ones included; LoadRules
// reads it.
func (r Rules) Canonical() ([]byte, error) { return r.get().canonical() }

// Table returns all rows by key.
func (r Rules) Table() []Rule {
	var out []Rule
	for _, row := range r.get().rows {
		out = append(out, *row.clone())
	}
	return out
}

type canonicalRules struct {
	Version int     `json:"version"`
	Site    []*Rule `json:"site"`
	Default []*Rule `json:"default"`
	// CUDA is the text of the site's table.
	CUDA       string `json:"cuda,omitempty"`
	CUDAOrigin string `json:"cuda_origin,omitempty"`
}

func (s *ruleSet) canonical() ([]byte, error) {
	c := canonicalRules{Version: rulesVersion, Site: []*Rule{}, Default: []*Rule{}}
	for _, r := range s.rows {
		if r.site {
			c.Site = append(c.Site, r)
		} else {
			c.Default = append(c.Default, r)
		}
	}
	if s.cuda != nil {
		c.CUDA, c.CUDAOrigin = s.cuda.Text, s.cuda.Origin
	}
	return json.Marshal(c)
}

func (r *Rule) clone() *Rule {
	c := *r
	if r.GPU != nil {
		gpu := *r.GPU
		c.GPU = &gpu
	}
	c.Network, c.Partition = slices.Clone(r.Network), slices.Clone(r.Partition)
	c.Architecture, c.Prefer = slices.Clone(r.Architecture), slices.Clone(r.Prefer)
	c.Set, c.phrases = slices.Clone(r.Set), slices.Clone(r.phrases)
	return &c
}
