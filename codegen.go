package lathe

import (
	"lathe/internal/byoc"
	"lathe/internal/byoc/plugin"
	"lathe/internal/pass"
)

// Codegen is an external code generator that is part of a program. It sees what one that is a program of its own does (docs/codegen.md): networks
// and regions as ONNX files, whose nodes it claims by their names there.
//
//	Name, Doc string
//	Options   []string // names, of options that the target may give
//	Claim     func(ctx context.Context, model []byte, options map[string]string) (taken []CodegenClaim, refused map[string]string, err error)
//	Compile   func(ctx context.Context, region []byte, symbol, target string, options map[string]string) (CodegenModule, error)
type Codegen = plugin.Inside

// CodegenClaim is nodes that a generator takes for one, or, without the name of a composite, nodes that it takes one by one.
type CodegenClaim = plugin.Claim

// CodegenModule is what a generator makes of a region:
//
//	Kind       string // blob, object or ir; c for target c
//	Bytes      []byte
//	Runtime    string // of a blob: the name of the run-time module that loads it
//	WhenFaster bool   // it runs only where that takes less time than the package's own steps
//	Cycles     int64  // expected of a run; 0: unknown
//	Notes      []string
type CodegenModule = byoc.Module

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
