package tflite

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// An option is one field of a table of options.
type option struct {
	slot   int
	kind   string
	absent int
}

// schema gives the options of each operator by name.
var schema = func() map[string]map[string]option {
	all := map[string]map[string]option{}
	for op, text := range optionTexts {
		all[op] = map[string]option{}
		for slot, field := range strings.Split(text, ", ") {
			parts := strings.Fields(field)
			o := option{slot: slot, kind: parts[1]}
			if len(parts) > 2 {
				o.absent, _ = strconv.Atoi(parts[2])
			}
			all[op][parts[0]] = o
		}
	}
	return all
}()

// order lists the options of each operator in the order of their slots.
var order = func() map[string][]string {
	all := map[string][]string{}
	for op, text := range optionTexts {
		for _, field := range strings.Split(text, ", ") {
			all[op] = append(all[op], strings.Fields(field)[0])
		}
	}
	return all
}()

// attributes are an operator's options. Those whose value is the schema's default count as absent.
type attributes struct {
	op      *operator
	graphs  map[int]*frontend.Graph
	options *options // of the model
}

func (a attributes) field(name string) option { return schema[a.op.name][name] }

// optionNames are the options that the operator can have. One that the file only names has none.
func (o *operator) optionNames() []string {
	if o.custom {
		return nil
	}
	return order[o.name]
}

// number is an option as an integer; floats are given by their bits.
func (a attributes) number(o option) int {
	t := a.op.options
	switch o.kind {
	case "i8", "bool":
		return t.i8(o.slot, o.absent)
	case "f32":
		return int(math.Float32bits(t.f32(o.slot)))
	default:
		return t.i32(o.slot, o.absent)
	}
}

func (a attributes) Names() []string {
	var names []string
	for _, name := range a.op.optionNames() {
		o := a.field(name)
		switch o.kind {
		case "ints", "floats", "str":
			if !a.op.options.has(o.slot) {
				continue
			}
		case "graph":
		default:
			if a.number(o) == o.absent {
				continue
			}
		}
		names = append(names, name)
	}
	return names
}

func (a attributes) Int(name string) (int64, error) { return int64(a.number(a.field(name))), nil }

func (a attributes) Bool(name string) (bool, error) { return a.number(a.field(name)) != 0, nil }

func (a attributes) Float(name string) (float64, error) {
	return float64(a.op.options.f32(a.field(name).slot)), a.op.options.err
}

func (a attributes) Ints(name string) ([]int64, error) {
	list := a.op.options.ints(a.field(name).slot)
	out := make([]int64, len(list))
	for i, n := range list {
		out[i] = int64(n)
	}
	return out, a.op.options.err
}

func (a attributes) Floats(name string) ([]float64, error) {
	list := a.op.options.floats(a.field(name).slot)
	out := make([]float64, len(list))
	for i, f := range list {
		out[i] = float64(f)
	}
	return out, a.op.options.err
}

func (a attributes) Str(name string) (string, error) {
	return a.op.options.str(a.field(name).slot), a.op.options.err
}

func (a attributes) Strs(name string) ([]string, error) {
	return nil, fmt.Errorf("option %q is no list of strings", name)
}

func (a attributes) Tensor(name string) (*tensor.Tensor, error) {
	return nil, fmt.Errorf("option %q is no tensor", name)
}

func (a attributes) DType(name string) (types.DType, error) {
	return elemType(a.number(a.field(name))).dtype()
}

func (a attributes) Graph(name string) (*frontend.Graph, error) {
	g := a.graphs[a.number(a.field(name))]
	if g == nil {
		return nil, fmt.Errorf("option %q names no sub-graph of the model", name)
	}
	return g, nil
}
