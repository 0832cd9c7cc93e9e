package evaluate

import (
	"fmt"
	"slices"
)

// refused are the operators that external code generators do not take, each with its reason once: kernels that compute some of their
// nodes count.
func refused(e *evidence) (list []Cause) {
	var texts []string
	nodes := map[string][]string{}
	for _, r := range e.refused {
		text := fmt.Sprintf("%s does not take %s: %s", r.Generator, r.Operator, r.Reason)
		if nodes[text] == nil {
			texts = append(texts, text)
		}
		nodes[text] = append(nodes[text], r.Nodes...)
	}
	for _, text := range texts {
		list = append(list, e.count(text, func(k kernel) bool {
			return slices.ContainsFunc(k.Nodes, func(n string) bool { return slices.Contains(nodes[text], n) })
		})...)
	}
	return list
}
