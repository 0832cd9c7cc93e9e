// Package ops defines the operators: what each means, target-independently. One operator is one file, a family whose
// members differ by one expression is one file with a table. How operators are computed fast is the business of
// package impl; which model format uses them, of the frontends.
//
// Attributes are resolved: axes count from 0, shapes and sizes are numbers, lists have one element per axis.
package ops

import (
	"slices"

	"lathe/internal/op"
)

// All lists every operator. A test checks it against the definitions of this package.
var All = slices.Concat(elementwiseOps, reduceOps, nnOps, moveOps, indexOps, qnnOps)

var byName = func() map[string]*op.Def {
	m := make(map[string]*op.Def, len(All))
	for _, d := range All {
		m[d.Name] = d
	}
	return m
}()

// Lookup finds an operator by name, such as "nn.conv2d".
func Lookup(name string) (*op.Def, bool) {
	d, ok := byName[name]
	return d, ok
}
