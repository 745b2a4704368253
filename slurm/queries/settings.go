package queries

import "context"

// Settings are values of Slurm's configuration as slurmctld prints it (`scontrol show
// config`), by name; one that this release does not have is absent, one that is not set
// is "". slurmctld must answer. Errors are of class ErrNoSlurm or ErrSlurm.
func (c Client) Settings(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := c.scontrol(ctx, "show", "config")
	if err != nil {
		return nil, err
	}
	return ParseSettings(out, names...), nil
}

// ParseSettings reads the output of `scontrol show config`.
func ParseSettings(out []byte, names ...string) map[string]string {
	found := map[string]string{}
	for _, name := range names {
		if value, ok := configValue(out, name); ok {
			if value == "(null)" {
				value = ""
			}
			found[name] = value
		}
	}
	return found
}
