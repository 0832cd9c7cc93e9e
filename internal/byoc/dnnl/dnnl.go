// Package dnnl gives regions of float32 networks to oneDNN, TVM's generator of this name. What it makes of a region is a program of
// primitives with the constants, which package runtime/dnnl runs by the library of the machine that the package is opened on.
package dnnl

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/isa"
	"lathe/internal/target"
	"lathe/internal/types"
	"lathe/runtime/dnnl"
)

// Codegen is the generator.
var Codegen = byoc.Codegen{
	Name: dnnl.Name, Doc: "oneDNN, by the library libdnnl.so.2 of the machine that runs the package",
	Options:  []target.OptionInfo{{Name: "select", Type: target.Text, Doc: "faster: regions with a convolution, a product or a softmax that cut no kernel of the compiler's own, where they run faster so, which the runtime finds out when it opens the package (default); all: every region"}},
	Fits:     fits,
	Patterns: patterns,
	Supports: supports,
	Whole:    whenFaster,
	Pays:     pays,
	Compile:  compile,
}

// fits refuses machines that the library is not called on.
func fits(t *target.Target, o byoc.Options) error {
	if t.IsSource() || t.ISA().Object != isa.ELF || t.PointerBits() != 64 {
		return errors.New("its library is called on 64-bit machines with Linux only (leave it out of the target)")
	}
	switch v := o.Value("select"); v {
	case "", "all", "faster":
		return nil
	default:
		return fmt.Errorf("option -select=%s: must be faster or all", v)
	}
}

// whenFaster reports whether regions are run only where that takes less time than the steps of the compiler's own.
func whenFaster(o byoc.Options) bool { return o.Value("select") != "all" }

// anchors are the operators that carry the work of a region.
var anchors = []string{"nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense", "nn.matmul", "nn.softmax", "nn.log_softmax"}

// pays refuses regions that only move data or compute functions of elements: the call and the change of order cost more than they save.
func pays(r byoc.Region, o byoc.Options) error {
	if !whenFaster(o) {
		return nil
	}
	var has func(g *graph.Graph) bool
	has = func(g *graph.Graph) bool {
		return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool {
			return slices.Contains(anchors, n.Op.Name) || slices.ContainsFunc(n.Sub, has)
		})
	}
	if !has(r.Graph) {
		return errors.New("the region has no convolution, product or softmax (-select=all takes it)")
	}
	return nil
}

// posts are functions that a product computes on its sums.
var posts = []string{"nn.relu", "clip", "sigmoid", "tanh"}

// patterns are products with what follows them, as TVM has them for oneDNN.
func patterns(byoc.Options) []byoc.Pattern {
	conv := byoc.OneOf([]string{"nn.conv1d", "nn.conv2d", "nn.conv3d"}, byoc.Any(), byoc.Any())
	biased := byoc.Either(byoc.Op("add", conv, byoc.Const()), conv)
	dense := byoc.OneOf([]string{"nn.dense", "nn.matmul"}, byoc.Any(), byoc.Any())
	list := []byoc.Pattern{
		{Name: "conv_bias_sum", Root: byoc.Op("add", biased, byoc.Any()).Optional(posts...), Check: checkProduct},
		{Name: "conv_bias", Root: biased.Optional(posts...), Check: checkProduct},
		{Name: "dense_bias", Root: byoc.Either(byoc.Op("add", dense, byoc.Const()), dense).Optional(posts...), Check: checkProduct},
	}
	return list
}

// checkProduct refuses composites that one primitive does not compute.
func checkProduct(nodes []*graph.Node) error {
	_, err := productOf(nodes)
	return err
}

// float32s refuses tensors of other types.
func float32s(n *graph.Node) error {
	for _, list := range [][]*graph.Value{n.In, n.Out} {
		for _, v := range list {
			if v.Type.DType != types.F32 {
				return fmt.Errorf("a tensor of %s; float32 is supported", v.Type.DType)
			}
			if v.Type.Elements() == 0 {
				return errors.New("a tensor has no elements")
			}
			if r := v.Type.Rank(); r > 6 {
				return fmt.Errorf("a tensor of %d dimensions", r)
			}
		}
	}
	return nil
}

func supports(n *graph.Node, _ byoc.Options) error {
	if err := float32s(n); err != nil {
		return err
	}
	if row, ok := rows[n.Op.Name]; ok {
		_, err := row(n)
		return err
	}
	return errors.New("oneDNN has no primitive for it here")
}
