package preflight

import (
	"context"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// Variables of Realm and Legate that name a file, and GASNet-EX's default.
const (
	gexVariable       = "REALM_GASNETEX_WRAPPER"
	gexDefault        = "librealm_gex_wrapper.so"
	mpiVariable       = "LEGATE_MPI_WRAPPER"
	bootstrapVariable = "REALM_UCP_BOOTSTRAP_PLUGIN"
	bootstrapMode     = "REALM_UCP_BOOTSTRAP_MODE"
)

// realm: programs of the environment run on Realm, as Legate's do.
func (in *Input) realm() bool {
	if in.Needs == nil {
		return false
	}
	return in.Needs.Stack.Family == stack.GASNet || slices.ContainsFunc([]string{"Realm", "Legate", "GASNet-EX"}, in.opens)
}

// opens: the environment has modules of that program.
func (in *Input) opens(of string) bool {
	for i := range in.Needs.Modules {
		if in.Needs.Modules[i].Of == of {
			return true
		}
	}
	return false
}

// gasnet: Realm finds the library that was built for the site's network.
func gasnet(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil || in.Needs.Stack.Family != stack.GASNet {
		return nil, err
	}
	f := Finding{ID: "gasnet", Level: Unfit, Act: Administrator, Packages: packages(in.Needs.Stack.Package),
		Next: "the administrator has the wrapper built for this kind of node (a site build of realm-gex-wrapper in hpcenvd's configuration); or take an environment of the lock with UCX"}
	file, set := in.lookup(gexVariable)
	if set && file == "" {
		f.Evidence = gexVariable + " is empty: GASNet-EX has not been built for the site's network"
		return []Finding{in.alone(in.settable(f))}, nil
	}
	by := gexVariable + "=" + file
	if !set {
		file, by = gexDefault, gexVariable+" is not set"
	}
	v, err := p.space.Judge(file)
	switch {
	case err != nil:
		return nil, err
	case v.Loads:
		return []Finding{{ID: "gasnet", Level: Fits, Evidence: "GASNet-EX's wrapper " + in.short(file) + " loads", File: in.short(file)}}, nil
	}
	f.Evidence = by + ", and " + in.absentOr(v, file)
	return []Finding{in.alone(in.settable(f))}, nil
}

// absentOr says that a file is not there, or what keeps it from loading.
func (in *Input) absentOr(v loader.Verdict, file string) string {
	if v.Problem == loader.NoLibrary && len(v.Chain) == 0 {
		return in.short(file) + " does not exist on " + in.name()
	}
	return in.lack(v, "")
}

// mpiWrapper: the site's MPI wrapper that the user named for Legate is there.
func mpiWrapper(_ context.Context, in *Input) ([]Finding, error) {
	file, _ := in.lookup(mpiVariable)
	p, err := in.start()
	if file == "" || p == nil || p.space == nil || err != nil || !in.realm() {
		return nil, err // empty means the default, as Legate has it
	}
	return p.named("mpi-wrapper", mpiVariable, file,
		"unset it, so that Legate takes the wrapper that comes with it, or name one that was built for the site's MPI (a site build of legate-mpi-wrapper)")
}

// bootstrap: the plugin through which Realm's processes find one another is there.
// Without, every process runs the whole program by itself.
func bootstrap(_ context.Context, in *Input) ([]Finding, error) {
	file, _ := in.lookup(bootstrapVariable)
	mode, _ := in.lookup(bootstrapMode)
	p, err := in.start()
	if file == "" || !strings.EqualFold(mode, "plugin") || p == nil || p.space == nil || err != nil || !in.realm() {
		return nil, err // with other modes Realm does not look at it
	}
	return p.named("bootstrap", bootstrapVariable, file,
		"name a plugin that is there, or unset it and "+bootstrapMode+", so that Realm starts over MPI")
}

// named is the finding on a file that a variable names: the program stops, or worse,
// without.
func (p *process) named(id, variable, file, next string) ([]Finding, error) {
	v, err := p.space.Judge(file)
	switch {
	case err != nil:
		return nil, err
	case v.Loads:
		return []Finding{{ID: id, Level: Fits, Evidence: variable + " names " + p.in.short(file) + ", which loads", File: p.in.short(file)}}, nil
	}
	return []Finding{p.in.settable(Finding{ID: id, Level: Unfit, Act: User, Evidence: variable + "=" + file + ", and " + p.in.absentOr(v, file), Next: next})}, nil
}
