// Package modeltest compiles models, runs them and compares with the outputs that others computed.
package modeltest

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/tool/npz"
	"lathe/internal/types"
)

// Arrays are what a model gets for its inputs, or has to answer, in the order of the file that they come from.
type Arrays []Array

// An Array has the name of an input or an output, or one that whoever computed it gave it.
type Array struct {
	Name string
	*tensor.Tensor
}

// Read reads an archive of numpy with arrays named in:NAME and out:NAME. A "|" in a name stands for "/", which archives take for
// a folder.
func Read(t testing.TB, file string) (in, out Arrays) {
	t.Helper()
	list, err := npz.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		d, err := types.ParseDType(a.DType)
		if err != nil {
			t.Fatalf("%s: %q: %v", file, a.Name, err)
		}
		x, err := tensor.Wrap(d, a.Shape, a.Data)
		if err != nil {
			t.Fatalf("%s: %q: %v", file, a.Name, err)
		}
		role, name, _ := strings.Cut(strings.ReplaceAll(a.Name, "|", "/"), ":")
		switch role {
		case "in":
			in = append(in, Array{name, x})
		case "out":
			out = append(out, Array{name, x})
		default:
			t.Fatalf("%s: %q is neither in:NAME nor out:NAME", file, a.Name)
		}
	}
	return in, out
}

// Of returns the arrays for names of a model: those of these names, or all in order where none has one of them and there are as many.
func (a Arrays) Of(t testing.TB, names []string) []*tensor.Tensor {
	t.Helper()
	var list []*tensor.Tensor
	var missing []string
	for _, name := range names {
		if i := slices.IndexFunc(a, func(x Array) bool { return x.Name == name }); i >= 0 {
			list = append(list, a[i].Tensor)
		} else {
			missing = append(missing, name)
		}
	}
	switch {
	case missing == nil:
		return list
	case list != nil || len(a) != len(names):
		t.Fatalf("no arrays for %q among %q", missing, a.names())
	}
	for _, x := range a {
		list = append(list, x.Tensor)
	}
	return list
}

func (a Arrays) names() (list []string) {
	for _, x := range a {
		list = append(list, x.Name)
	}
	return list
}
