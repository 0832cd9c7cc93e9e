package paddle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/types"
)

// The JSON form of a program (PaddlePaddle 3, paddle/fluid/pir/serialize_deserialize). Operands and results are numbers, parameters are operations,
// and lists of values are values. It is translated to the older form.
type (
	pirFile struct {
		Base struct {
			Magic   string `json:"magic"`
			Version int    `json:"version"`
		} `json:"base_code"`
		Program struct {
			Regions []pirRegion `json:"regions"`
		} `json:"program"`
	}
	pirRegion struct {
		Blocks []struct {
			Ops []pirOp `json:"ops"`
		} `json:"blocks"`
	}
	pirOp struct {
		ID      string          `json:"#"`
		In      []pirValue      `json:"I"`
		Out     json.RawMessage `json:"O"` // one value of a parameter, a list of others
		Attrs   json.RawMessage `json:"A"`
		Regions []pirRegion     `json:"regions"`
	}
	// A pirValue has its number under one of two names, by version.
	pirValue struct {
		ID   *int    `json:"%"`
		Old  *int    `json:"#"`
		Type pirType `json:"TT"`
	}
	pirType struct {
		ID   string            `json:"#"`
		Data []json.RawMessage `json:"D"`
	}
	pirAttr struct {
		Name string `json:"N"`
		Type pirAny `json:"AT"`
	}
	// A pirAny is an attribute's value, or an element of one. Floats that JSON cannot hold are words.
	pirAny struct {
		ID   string          `json:"#"`
		Data json.RawMessage `json:"D"`
		Void string          `json:"VD"`
	}
)

const maxProgram = 256 << 20

func readJSON(text []byte) (*program, error) {
	if len(text) > maxProgram {
		return nil, fmt.Errorf("a program of %d bytes; up to %d are read", len(text), maxProgram)
	}
	var f pirFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("the program: %w", err)
	}
	if f.Base.Magic != "pir" || len(f.Program.Regions) != 1 || len(f.Program.Regions[0].Blocks) != 1 {
		return nil, errors.New("the program is not one of PIR with one block")
	}
	r := pirReader{p: &program{vars: map[string]variable{}, producer: fmt.Sprintf("paddle 3 (PIR %d)", f.Base.Version)}, names: map[int]string{}, lists: map[int][]string{}}
	for i := range f.Program.Regions[0].Blocks[0].Ops {
		op := &f.Program.Regions[0].Blocks[0].Ops[i]
		if err := r.op(op); err != nil {
			return nil, fmt.Errorf("operation %d (%.60s): %w", i, op.ID, err)
		}
	}
	return r.p, nil
}

type pirReader struct {
	p     *program
	names map[int]string   // of values
	lists map[int][]string // names of the elements of values that are lists
}

func (v pirValue) number() int {
	switch {
	case v.ID != nil:
		return *v.ID
	case v.Old != nil:
		return *v.Old
	}
	return 0
}

// dialects are the prefixes of operations, which files have by number.
var dialects = map[string]string{"0": "builtin", "1": "pd_op", "2": "cf", "3": "custom_op", "4": "dist_op"}

func (r *pirReader) op(op *pirOp) error {
	if op.ID == "p" {
		return r.parameter(op)
	}
	var out []pirValue
	if len(op.Out) > 0 {
		if err := json.Unmarshal(op.Out, &out); err != nil {
			return err
		}
	}
	attrs, err := pirAttributes(op.Attrs)
	if err != nil {
		return err
	}
	dialect, kind, ok := strings.Cut(op.ID, ".")
	if !ok {
		return errors.New("it has no dialect")
	}
	if name := dialects[dialect]; name != "" {
		dialect = name
	}
	if dialect != "pd_op" {
		kind = dialect + "." + kind
	}
	kind = strings.TrimSuffix(kind, "_") // in place, which says nothing here
	if len(op.Regions) > 0 {
		kind += " (control flow)"
	}
	in := make([][]string, len(op.In))
	for k, v := range op.In {
		if list, ok := r.lists[v.number()]; ok {
			in[k] = list
		} else if name := r.names[v.number()]; name != "" {
			in[k] = []string{name}
		} else if v.number() != 0 {
			return fmt.Errorf("operand %d is the value %d, which no operation before gives", k, v.number())
		}
	}
	switch kind {
	case "data", "feed":
		name, err := attrs.Str("name")
		if err != nil || len(out) != 1 {
			return errors.Join(errors.New("an input without name or value"), err)
		}
		r.define(out[0], name)
		r.p.inputs = append(r.p.inputs, name)
	case "fetch", "builtin.shadow_output":
		if len(in) != 1 || len(in[0]) != 1 {
			return errors.New("an output of other than one value")
		}
		name := in[0][0]
		for _, attr := range []string{"name", "output_name"} {
			if text, err := attrs.Str(attr); attrs[attr] != nil && err == nil {
				name = text
			}
		}
		r.p.outputs = append(r.p.outputs, port{in[0][0], name})
	case "builtin.combine":
		list := slices.Concat(in...)
		if len(out) != 1 || len(list) != len(in) {
			return errors.New("a list of other than values")
		}
		r.lists[out[0].number()] = list
	case "builtin.split", "builtin.slice":
		return r.take(in, out, attrs)
	default:
		r.translate(kind, in, out, attrs)
	}
	return nil
}

// parameter reads a parameter, whose attributes have places instead of names; the last is its own.
func (r *pirReader) parameter(op *pirOp) error {
	var out pirValue
	var attrs []any
	if err := errors.Join(json.Unmarshal(op.Out, &out), json.Unmarshal(op.Attrs, &attrs)); err != nil {
		return err
	}
	if len(attrs) == 0 {
		return errors.New("a parameter without a name")
	}
	name, ok := attrs[len(attrs)-1].(string)
	if !ok || name == "" {
		return errors.New("a parameter without a name")
	}
	r.define(out, name)
	v := r.p.vars[name]
	v.parameter = true
	r.p.vars[name] = v
	return nil
}

// take gives elements of a list their names.
func (r *pirReader) take(in [][]string, out []pirValue, attrs frontend.Values) error {
	first := 0
	if attrs["index"] != nil {
		v, err := attrs.Int("index")
		if err != nil {
			return err
		}
		first = int(v)
	}
	if len(in) != 1 || first < 0 || first+len(out) > len(in[0]) {
		return errors.New("it takes more than the list has")
	}
	for k, v := range out {
		r.names[v.number()] = in[0][first+k]
	}
	return nil
}

// define gives a value a name and its type, where that is one of tensors.
func (r *pirReader) define(v pirValue, name string) {
	r.names[v.number()] = name
	if t, ok := v.Type.tensor(); ok {
		r.p.vars[name] = variable{Tensor: t, typed: true}
	}
}

// pirTypes are the element types by name.
var pirTypes = map[string]types.DType{"t_bool": types.Bool, "t_i8": types.I8, "t_ui8": types.U8, "t_i16": types.I16, "t_i32": types.I32, "t_i64": types.I64,
	"t_f16": types.F16, "t_bf16": types.BF16, "t_f32": types.F32, "t_f64": types.F64}

func (t pirType) tensor() (types.Tensor, bool) {
	if !strings.HasSuffix(t.ID, "t_dtensor") || len(t.Data) < 2 {
		return types.Tensor{}, false
	}
	var of pirType
	var dims []int64
	if json.Unmarshal(t.Data[0], &of) != nil || json.Unmarshal(t.Data[1], &dims) != nil {
		return types.Tensor{}, false
	}
	_, name, _ := strings.Cut(of.ID, ".")
	d, ok := pirTypes[name]
	out := types.Tensor{DType: d, Shape: []int{}}
	for _, n := range dims {
		if n < -1 || n > types.MaxElements {
			return out, false
		}
		out.Shape = append(out.Shape, int(n))
	}
	return out, ok
}

// translate gives operands and results the slots of the older form. A result that is a list has a name for each element.
func (r *pirReader) translate(kind string, in [][]string, out []pirValue, attrs frontend.Values) {
	t, known := pirTable[kind]
	if !known {
		t = pirRow{op: kind, in: x}
	}
	op := operation{kind: t.op, attrs: attrs}
	for old, now := range t.renamed {
		if v, ok := attrs[old]; ok {
			delete(attrs, old)
			if now != "" {
				attrs[now] = v
			}
		}
	}
	for name, v := range t.also {
		attrs[name] = v
	}
	for k, names := range in {
		name := fmt.Sprintf("operand %d", k)
		if k < len(t.in) {
			name = t.in[k]
		}
		op.in = append(op.in, slot{name, names})
	}
	results := t.out
	if results == nil {
		results = resultsOf(t.op)
	}
	for k, v := range out {
		names := []string{fmt.Sprintf("%d", v.number())}
		if strings.HasSuffix(v.Type.ID, "t_vec") {
			names = names[:0]
			for i := range v.Type.Data {
				names = append(names, fmt.Sprintf("%d.%d", v.number(), i))
			}
			r.lists[v.number()] = names
		} else {
			r.define(v, names[0])
		}
		if k < len(results) {
			op.out = append(op.out, slot{results[k], names})
		}
	}
	r.p.ops = append(r.p.ops, op)
}
