package project

// Editable tells by normalized name which Python packages of an environment the
// manifest wants used from their source trees (true), and which as copies (false).
// Those that come from no path are not in it.
func (p *Project) Editable(env string) (map[string]bool, error) {
	features, err := p.featuresOf(env)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, f := range features {
		all := []*tables{&f.base}
		for i := range f.targets {
			all = append(all, &f.targets[i].tables)
		}
		for _, t := range all {
			for _, r := range t.python {
				if r.Path != "" {
					out[r.Name] = out[r.Name] || r.Editable
				}
			}
		}
	}
	return out, nil
}
