package lockfile

// The shape of version 5. Frozen: a later version gets a file of its own.
//
// Environments say in which indexes and places (`find-links`) Python packages
// were looked for; all else is as in version 4.

type v5Lock struct{ *v4Lock }

func readV5(root *value) (*v5Lock, error) {
	d := &decoder{}
	lock, err := readV4With(d, root, func(owner string, env *value) sources { return readSources(d, owner, env) })
	return &v5Lock{lock}, err
}
