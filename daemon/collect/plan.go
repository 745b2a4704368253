package collect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/cache/index"
	"github.com/hpcenv/hpcenv/daemon/leases"
)

// Policy is what the administrator wants of the store; zero values switch a rule off.
type Policy struct {
	// MaxBytes and MaxInodes of all environments together. Above one of them the least
	// valuable go until both are below LowMark.
	MaxBytes, MaxInodes int64
	// LowMark is the share of the budget that a collection stops at; 0 = 0.9.
	LowMark float64
	// KeepUsed: what was used so recently stays, whatever the budget.
	KeepUsed time.Duration
	// UnusedAfter: what was not used for so long goes, whatever the budget.
	UnusedAfter time.Duration
}

// Item is an environment of a platform that goes.
type Item struct {
	index.Key
	Name       string
	LockDigest string
	Bytes      int64
	Inodes     int64
	LastUse    time.Time
	Why        string
}

// Kept is an environment of a platform that stays, and why.
type Kept struct {
	index.Key
	Name    string
	Bytes   int64
	Inodes  int64
	LastUse time.Time
	Why     string
}

// Plan is what a collection does.
type Plan struct {
	// Items go, in this order; Kept stay.
	Items []Item
	Kept  []Kept
	// Bytes and Inodes of all environments now, and of those that stay.
	Bytes, Inodes         int64
	BytesLeft, InodesLeft int64
	// Over says that the budget is exceeded though all goes that may; "" = it is not.
	Over string
}

// Worth orders environments: those with the greatest go first. It is the days since the
// last use times the share of the budget (or, without one, the gigabytes and ten thousands
// of inodes) that the environment takes. Making one again costs about as much time per
// byte for all, so size stands on both sides of that and is left out.
func (p *Policy) Worth(e *index.Environment, now time.Time) float64 {
	days := max(now.Sub(e.LastUse).Hours()/24, 0.01)
	bytes, inodes := float64(e.Bytes)/1e9, float64(e.Inodes)/1e4
	if p.MaxBytes > 0 {
		bytes = float64(e.Bytes) / float64(p.MaxBytes)
	}
	if p.MaxInodes > 0 {
		inodes = float64(e.Inodes) / float64(p.MaxInodes)
	}
	return days * (bytes + inodes)
}

// NewPlan plans a collection. It asks nobody and changes nothing; the same input gives
// the same plan.
func NewPlan(envs []index.Environment, held *leases.Held, p Policy, now time.Time) *Plan {
	low := p.LowMark
	if low <= 0 || low > 1 {
		low = 0.9
	}
	plan := &Plan{}
	var free []*index.Environment
	for i := range envs {
		e := &envs[i]
		plan.Bytes += e.Bytes
		plan.Inodes += e.Inodes
		switch reasons := held.IDs[e.ID]; {
		case len(reasons) > 0:
			why := reasons[0].Text
			if n := len(reasons) - 1; n > 0 {
				why += fmt.Sprintf(" and %d more", n)
			}
			plan.keep(e, why)
		case p.KeepUsed > 0 && now.Sub(e.LastUse) < p.KeepUsed:
			plan.keep(e, "used within "+days(p.KeepUsed))
		default:
			free = append(free, e)
		}
	}
	plan.BytesLeft, plan.InodesLeft = plan.Bytes, plan.Inodes
	slices.SortFunc(free, func(a, b *index.Environment) int {
		return cmp.Or(cmp.Compare(p.Worth(b, now), p.Worth(a, now)), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Group, b.Group))
	})
	overBytes := func(share float64) bool { return p.MaxBytes > 0 && float64(plan.BytesLeft) > share*float64(p.MaxBytes) }
	overInodes := func(share float64) bool {
		return p.MaxInodes > 0 && float64(plan.InodesLeft) > share*float64(p.MaxInodes)
	}
	// What is too old goes first: it may bring the rest below the budget.
	var young []*index.Environment
	for _, e := range free {
		if idle := now.Sub(e.LastUse); p.UnusedAfter > 0 && idle > p.UnusedAfter {
			plan.remove(e, "not used for "+days(idle))
			continue
		}
		young = append(young, e)
	}
	over := overBytes(1) || overInodes(1)
	for _, e := range young {
		if over && (overBytes(low) || overInodes(low)) {
			plan.remove(e, fmt.Sprintf("the store is above its budget, and this was not used for %s", days(now.Sub(e.LastUse))))
			continue
		}
		why := "nothing needs it, and the store is within its budget"
		if p.MaxBytes == 0 && p.MaxInodes == 0 {
			why = "nothing needs it, and the store has no budget"
		}
		plan.keep(e, why)
	}
	switch {
	case overBytes(1):
		plan.Over = fmt.Sprintf("what is needed takes %d bytes, the budget is %d", plan.BytesLeft, p.MaxBytes)
	case overInodes(1):
		plan.Over = fmt.Sprintf("what is needed takes %d inodes, the budget is %d", plan.InodesLeft, p.MaxInodes)
	}
	return plan
}

func (p *Plan) keep(e *index.Environment, why string) {
	p.Kept = append(p.Kept, Kept{Key: e.Key(), Name: e.Name, Bytes: e.Bytes, Inodes: e.Inodes, LastUse: e.LastUse, Why: why})
}

func (p *Plan) remove(e *index.Environment, why string) {
	p.Items = append(p.Items, Item{Key: e.Key(), Name: e.Name, LockDigest: e.LockDigest, Bytes: e.Bytes, Inodes: e.Inodes, LastUse: e.LastUse, Why: why})
	p.BytesLeft -= e.Bytes
	p.InodesLeft -= e.Inodes
}

// days of a duration for people.
func days(d time.Duration) string {
	switch n := int(d.Hours() / 24); {
	case d < 48*time.Hour:
		return d.Round(time.Minute).String()
	default:
		return fmt.Sprintf("%d days", n)
	}
}
