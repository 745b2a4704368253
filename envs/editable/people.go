package editable

import (
	"strings"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// people adds authors or maintainers: those with an address as a list of
// mailboxes, the others by their names.
func (r *reader) people(key, header string) {
	list := r.is(tomltree.Array, "project", key)
	if list == nil {
		return
	}
	var names, boxes []string
	for _, item := range list.Items {
		if item.Kind != tomltree.Table {
			r.wrong(item, []string{"project", key}, "an array of tables")
			return
		}
		var person [2]string
		for i, k := range []string{"name", "email"} {
			if v := item.Get(k); v != nil {
				if v.Kind != tomltree.String {
					r.wrong(v, []string{"project", key, k}, "a text")
					return
				}
				person[i] = v.Text
			}
		}
		switch {
		case person[1] == "":
			names = append(names, person[0])
		case person[0] == "":
			boxes = append(boxes, person[1])
		default:
			boxes = append(boxes, mailbox(person[0])+" <"+person[1]+">")
		}
	}
	r.add(header, strings.Join(names, ", "))
	r.add(header+"-email", strings.Join(boxes, ", "))
}

// mailbox is a name as it stands before an address.
func mailbox(name string) string {
	if !strings.ContainsAny(name, `()<>@,:;".[]\`) {
		return name
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name) + `"`
}
