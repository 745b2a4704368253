package requirement

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/cuda"
)

// driver is the oldest driver with which a requirement is met; false = it is over
// something else, or says more than a driver, or the table does not know, or the node's
// driver is not what the verdict comes from.
func (j Judged) driver(n Node) (cuda.Driver, bool) {
	r, v := &j.Requirement, &j.Verdict
	if v.State == Assumed || v.Name != "__cuda" || v.Problem != "" || !n.drives() {
		return cuda.Driver{}, false
	}
	floor, known := r.floor(n.table())
	has, ok := cuda.ParseDriver(n.Driver)
	return floor, known && ok && (has.Compare(floor) < 0) == (v.State == Unmet)
}

// floor is the driver that a requirement over CUDA stands for.
func (r *Requirement) floor(t *cuda.Table) (cuda.Driver, bool) {
	if r.Source == CUDA {
		_, v, err := readCUDA(r.Spec)
		if err != nil {
			return cuda.Driver{}, false
		}
		return t.Floor(v.Major)
	}
	least, simple := strings.CutPrefix(r.needs(), "__cuda >=")
	v, ok := cuda.ParseVersion(least)
	if !simple || !ok {
		return cuda.Driver{}, false
	}
	return t.Native(v)
}

// needsCUDA is the spec of the source CUDA as virtual packages would say it.
func (r *Requirement) needsCUDA(t *cuda.Table) string {
	kind, v, err := readCUDA(r.Spec)
	switch {
	case err != nil:
		return r.Spec
	case kind == driverSpec:
		return fmt.Sprintf("__cuda >=%d", v.Major)
	}
	least, known := t.MinCompute(v.Major)
	if !known {
		return "a GPU that CUDA " + v.String() + " has code for"
	}
	return "__cuda_arch >=" + least.String()
}

// major is the family of a requirement of the source CUDA.
func (r *Requirement) major() int {
	_, v, err := readCUDA(r.Spec)
	if err != nil {
		return 0
	}
	return v.Major
}

// noForward says why cuda-compat, which the environment has, does not help; "" = it has
// none.
func (n *Node) noForward(list []Judged) string {
	for _, j := range list {
		compat := j.Requirement.Compat
		if version, _ := cuda.ParseVersion(compat); compat == "" || j.Verdict.OK() || j.Requirement.Source == CUDA && j.Requirement.major() > version.Major {
			continue
		}
		if a, name := n.table().ForwardGPU(n.GPUs); a == cuda.No {
			return fmt.Sprintf("; cuda-compat %s does not help: forward compatibility is for data-center GPUs, and on %s it ends with error 804", compat, name)
		}
		return fmt.Sprintf("; cuda-compat %s does not run over a driver of this branch", compat)
	}
	return ""
}

// Note says what makes a met requirement of the source CUDA fit, where that has limits:
// minor-version compatibility, or forward compatibility; "" = nothing to say.
func Note(r Requirement, v Verdict, n Node) string {
	kind, asks, err := readCUDA(r.Spec)
	if r.Source != CUDA || err != nil || kind != driverSpec || v.State != Met || v.Found == nil {
		return ""
	}
	serves, ok := cuda.ParseVersion(v.Found.Version)
	if !ok || serves.Compare(asks) >= 0 {
		return ""
	}
	driver := "the driver"
	if n.drives() {
		driver = "driver " + n.Driver
	}
	floor, known := n.table().Floor(asks.Major)
	if d, ok := cuda.ParseDriver(n.Driver); ok && known && n.drives() && d.Compare(floor) < 0 {
		return fmt.Sprintf("%s serves CUDA %s; CUDA %s runs there by forward compatibility, with cuda-compat %s on the loader's path", driver, serves, asks, r.Compat)
	}
	if serves.Major != asks.Major {
		return ""
	}
	return fmt.Sprintf("%s serves CUDA %s; CUDA %s runs there by minor-version compatibility, without what needs a newer driver (PTX of CUDA %s, say)", driver, serves, asks, asks)
}
