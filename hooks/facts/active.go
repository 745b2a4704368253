package facts

// RecordPath is where a node keeps its facts unless its plugin is told another run
// directory.
const RecordPath = "/run/hpcenv-node/" + RecordFile

// ActiveNetworks are the kinds of network (NetworkKinds) of which the node has an active
// one. Which device is the fastest is the node's business: the order of fabrics is fixed,
// so that a link that trained to a lower rate makes no other kind of node.
func (f *Facts) ActiveNetworks() (kinds []string) {
	for _, kind := range NetworkKinds() {
		for _, n := range f.Networks {
			if n.Active && n.Kind == kind {
				kinds = append(kinds, kind)
				break
			}
		}
	}
	return kinds
}
