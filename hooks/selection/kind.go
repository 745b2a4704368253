package selection

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// KindOf is the kind of a node with these facts. env overrides virtual packages
// (facts.Virtuals); nil overrides nothing. Neither devices' names, their number
// and order nor rates count, and of the kernel only what __linux says.
func KindOf(f *facts.Facts, env func(string) (string, bool)) Kind {
	k := Kind{
		Subdir:    f.Platform,
		Virtuals:  facts.Virtuals(f, env),
		Ancestors: facts.OverrideAncestors(f.CPU.Ancestors, env),
		PageSize:  f.PageSize,
		Networks:  f.ActiveNetworks(),
	}
	if f.GPU != nil {
		k.GPU, k.Driver = true, f.GPU.Driver
		for _, m := range f.GPU.Models {
			k.Models = append(k.Models, shortModel(m.Name))
		}
		slices.Sort(k.Models)
		k.Models = slices.Compact(k.Models)
	}
	return k.Sealed()
}

// Sealed is the kind with the digest and the label of its other fields.
func (k Kind) Sealed() Kind {
	k.Digest, k.Label = "", ""
	b, err := json.Marshal(k)
	if err != nil { // strings, numbers and lists of them: it cannot fail
		panic(fmt.Sprintf("selection: a kind as JSON: %v", err))
	}
	sum := sha256.Sum256(b)
	k.Digest = hex.EncodeToString(sum[:8])
	k.Label = k.label()
	return k
}

// people's words for subdirs and networks.
var (
	subdirLabels  = map[string]string{"linux-64": "x86-64", "linux-aarch64": "aarch64"}
	networkLabels = map[string]string{
		facts.InfiniBand: "InfiniBand", facts.RoCE: "RoCE", facts.EFA: "EFA", facts.Slingshot10: "Slingshot-10",
		facts.Slingshot11: "Slingshot-11", facts.OmniPath: "Omni-Path", facts.Ethernet: "Ethernet",
	}
)

// NetworkLabel is people's word for a kind of network (facts.Network.Kind).
func NetworkLabel(kind string) string {
	if l, ok := networkLabels[kind]; ok {
		return l
	}
	return kind
}

// unserved says why a kind without a Subdir gets nothing.
func (k *Kind) unserved() string {
	if k.Assumed {
		return "has no architecture that hpcenv serves, or was never up (a feature x86_64 or aarch64 in slurm.conf says which)"
	}
	return "hpcenv does not serve this machine"
}

// label: architecture, GPUs, fabric (Ethernet only if there is no other).
func (k Kind) label() string {
	words := []string{subdirLabels[k.Subdir]}
	if words[0] == "" {
		words[0] = "unknown machine"
		if k.Subdir != "" {
			words[0] = k.Subdir
		}
	}
	switch {
	case len(k.Models) > 0:
		words = append(words, strings.Join(k.Models, "+"))
	case k.GPU:
		words = append(words, "GPU")
	}
	var nets []string
	for _, n := range k.Networks {
		if n != facts.Ethernet || len(k.Networks) == 1 {
			nets = append(nets, NetworkLabel(n))
		}
	}
	if len(nets) == 0 && !k.Assumed {
		nets = []string{"no network"}
	}
	if len(nets) > 0 {
		words = append(words, strings.Join(nets, "+"))
	}
	return strings.Join(words, " ")
}

// shortModel is what people call a GPU: "NVIDIA H100 80GB HBM3" is an H100,
// "NVIDIA A100-SXM4-40GB" an A100, "NVIDIA GeForce RTX 3090" an RTX 3090.
func shortModel(name string) string {
	words := strings.Fields(strings.ReplaceAll(name, "-", " "))
	for len(words) > 1 && slices.Contains([]string{"NVIDIA", "AMD", "Tesla", "Quadro", "GeForce"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return "GPU"
	}
	n := 1
	for n < len(words) && slices.Contains([]string{"RTX", "GTX", "TITAN", "PRO", "Instinct"}, words[n-1]) {
		n++
	}
	return strings.Join(words[:n], " ")
}

// Distinct is the label of a kind among the kinds of these rows that have the same
// label, with what tells it from them: "x86-64 H100 InfiniBand, driver 520.61.05".
func (k *Kind) Distinct(rows []Row) string {
	said := func(k *Kind) []string {
		out := []string{"driver " + k.Driver, "", fmt.Sprintf("pages of %d KiB", k.PageSize>>10), strings.Join(k.Ancestors[:min(1, len(k.Ancestors))], "")}
		if k.Driver == "" {
			out[0] = ""
		}
		for _, v := range k.Virtuals {
			if v.Name == "__glibc" {
				out[1] = "glibc " + v.Version
			}
		}
		return append(out, "kind "+k.Digest[:min(6, len(k.Digest))])
	}
	own, same := said(k), []*Kind{}
	for i := range rows {
		if o := &rows[i].Kind; o.Label == k.Label && o.Digest != k.Digest {
			same = append(same, o)
		}
	}
	text := k.Label
	for i := 0; i < len(own) && len(same) > 0; i++ {
		left := slices.DeleteFunc(slices.Clone(same), func(o *Kind) bool { return said(o)[i] != own[i] })
		if len(left) < len(same) && own[i] != "" {
			text += ", " + own[i]
			same = left
		}
	}
	return text
}
