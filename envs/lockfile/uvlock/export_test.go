package uvlock

// ExtrasAndGroups of the project itself, for tests.
func (l *Lock) ExtrasAndGroups() (extras, groups []string) {
	for _, e := range l.allMembers() {
		extras, groups = append(extras, e.offeredExtras...), append(groups, e.offeredGroups...)
	}
	for _, g := range l.groups {
		groups = append(groups, g.name)
	}
	return extras, groups
}
