package lathe

import "lathe/internal/pass"

// Offload says who computes a node of a model that was compiled with external code generators.
type Offload struct {
	Operator  string          // Relay's name
	Nodes     []string        // of the model
	Generator string          // the external code generator's name; "": the compiler's own kernels
	Composite string          // the pattern of the generator that the node is a part of, as in dnnl.conv2d_relu; "" for none
	Number    int             // of the composite, from 1 on; 0 for none
	Symbol    string          // of the region
	Refusals  []OffloadReason // why generators do not take it, where Generator is ""
}

// OffloadReason is why an external code generator does not take a node.
type OffloadReason = pass.Refusal

// Offloads tells who computes which node, in the order in which they run; nil without external code generators.
func (p *Package) Offloads() []Offload {
	var list []Offload
	for _, o := range p.res.Offloads {
		list = append(list, Offload(o))
	}
	return list
}
