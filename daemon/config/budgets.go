package config

import "fmt"

// Budget is one entry of Budgets: what a user, or all whose primary group it is together,
// may have. What is zero or empty is not bounded.
type Budget struct {
	// User by name or number, or "*", which is everybody who has no entry of their own.
	// Group likewise, without "*". One of them is set.
	User  string `mapstructure:"user"`
	Group string `mapstructure:"group"`
	// MaxGB (10^9 bytes) and MaxInodes of the environments that they asked for.
	MaxGB     float64 `mapstructure:"max_gb"`
	MaxInodes int64   `mapstructure:"max_inodes"`
	// Prepares that may work at one time; others wait.
	Prepares int `mapstructure:"prepares"`
	// Channels that their locks may name, as beginnings of URLs.
	Channels []string `mapstructure:"channels"`
}

// budgetKeys are what an entry may have.
var budgetKeys = []string{"user", "group", "max_gb", "max_inodes", "prepares", "channels"}

// checkBudgets refuses entries that are for nobody, or for somebody twice.
func (c *Config) checkBudgets() error {
	seen := map[string]int{}
	for i, b := range c.Budgets {
		at := fmt.Sprintf("budgets, entry %d", i+1)
		who := "user " + b.User
		switch {
		case (b.User == "") == (b.Group == ""):
			return c.places.bad(at, "needs either a user or a group")
		case b.Group == "*":
			return c.places.bad(at, "a group is named; user: \"*\" is everybody, each with a budget of their own")
		case b.User == "":
			who = "group " + b.Group
		}
		if before, twice := seen[who]; twice {
			return c.places.bad(at, "%s has entry %d already", who, before)
		}
		seen[who] = i + 1
	}
	return nil
}
