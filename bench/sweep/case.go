// Package sweep is a table of small models, an operator or a block each in the shapes of real networks of all kinds, and the
// report of how fast they are beside a peer.
package sweep

import (
	"fmt"
	"regexp"
	"strings"

	"lathe/bench/model"
)

// A Case is one small model. Its name is unique in its family.
type Case struct {
	Name  string
	Build func(b *model.Builder)
}

// A Family is a group of cases with one report line of its own.
type Family struct {
	Name  string
	Cases []Case
	// Kind says how close outputs are to the peer's.
	Kind Kind
}

// A Kind is what a family computes with.
type Kind struct {
	Name      string
	Tolerance float64 // the greatest relative L2 distance of an output of floats
	Integers  bool    // integers have the tolerance too; else they are equal
}

// The kinds. The zero Kind is float32's.
var (
	single     = Kind{Name: "float32", Tolerance: 1e-4}                                  // sums in another order
	unplanned  = Kind{Name: "float32 of any network", Tolerance: 1e-3}                   // a norm of nearly equal numbers enlarges what was rounded before
	unplanned8 = Kind{Name: "quantised of any network", Tolerance: 0.25, Integers: true} // ties that round otherwise, and whatever follows of them
	float16    = Kind{Name: "float16", Tolerance: 5e-3}                                  // a few units of the last place
	quantised  = Kind{Name: "quantised", Tolerance: 5e-2, Integers: true}                // ties that round otherwise
)

// Families are all, in the order they run in.
var Families = []Family{
	{Name: "conv1d", Cases: conv1d},
	{Name: "conv2d", Cases: conv2d},
	{Name: "conv3d", Cases: conv3d},
	{Name: "depthwise", Cases: depthwise},
	{Name: "grouped", Cases: grouped},
	{Name: "convT", Cases: convTranspose},
	{Name: "epilogue", Cases: epilogue},
	{Name: "block", Cases: block},
	{Name: "gemm", Cases: gemm},
	{Name: "stack", Cases: stack},
	{Name: "einsum", Cases: einsum},
	{Name: "attention", Cases: attention},
	{Name: "rnn", Cases: rnn},
	{Name: "control", Cases: control},
	{Name: "softmax", Cases: softmax},
	{Name: "norm", Cases: norm},
	{Name: "reduce", Cases: reduce},
	{Name: "act", Cases: act},
	{Name: "elementwise", Cases: elementwise},
	{Name: "repeated", Cases: repeated},
	{Name: "rare", Cases: rare},
	{Name: "narrow", Cases: narrow},
	{Name: "pool", Cases: pool},
	{Name: "resize", Cases: resize},
	{Name: "transpose", Cases: transpose},
	{Name: "move", Cases: move},
	{Name: "index", Cases: index},
	{Name: "nbits", Cases: nBitsCases},
	{Name: "int8", Cases: int8Cases, Kind: quantised},
	{Name: "fp16", Cases: fp16, Kind: float16},
}

// FullName is the name of a case among all.
func (f Family) FullName(c Case) string { return f.Name + "/" + c.Name }

// Select returns those of all families with the cases that text chooses: "1" or nothing all, a family's name its cases, anything
// else is a regular expression that full names match somewhere.
func Select(all []Family, text string) ([]Family, error) {
	fits := func(string) bool { return true }
	if text != "" && text != "1" {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("sweep: %w", err)
		}
		fits = pattern.MatchString
		for _, f := range all {
			if f.Name == text {
				fits = func(name string) bool { return strings.HasPrefix(name, text+"/") }
			}
		}
	}
	var list []Family
	for _, f := range all {
		chosen := f
		chosen.Cases = nil
		for _, c := range f.Cases {
			if fits(f.FullName(c)) {
				chosen.Cases = append(chosen.Cases, c)
			}
		}
		if chosen.Cases != nil {
			list = append(list, chosen)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("sweep: no case is named like %q (families: %s)", text, strings.Join(familyNames(), ", "))
	}
	return list, nil
}

func familyNames() (names []string) {
	for _, f := range Families {
		names = append(names, f.Name)
	}
	return names
}

type shape = []int

// row is a case whose result is the model's output.
func row(name string, build func(b *model.Builder) model.Value) Case {
	return Case{name, func(b *model.Builder) { b.Output(build(b)) }}
}

// op is a case of one operator of float32 on inputs of the given shapes.
func op(name, operator string, shapes []shape, attrs ...model.Attr) Case {
	return row(name, func(b *model.Builder) model.Value { return b.Op(operator, inputs(b, shapes), attrs...) })
}

func inputs(b *model.Builder, shapes []shape) (list []model.Value) {
	for _, s := range shapes {
		list = append(list, b.Input(s...))
	}
	return list
}

// on is the operands of op.
func on(shapes ...shape) []shape { return shapes }

var at = model.At
