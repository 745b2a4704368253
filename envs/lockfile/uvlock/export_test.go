package uvlock

import (
	"maps"
	"slices"
)

// ExtrasAndGroups of the project itself, for tests.
func (l *Lock) ExtrasAndGroups() (extras, groups []string) {
	for _, e := range l.allMembers() {
		extras, groups = append(extras, e.offeredExtras...), append(groups, e.offeredGroups...)
	}
	groups = slices.AppendSeq(groups, maps.Keys(l.groups))
	return extras, groups
}
