package onnx

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// An AttrType is an AttributeProto.AttributeType.
type AttrType int32

const (
	AttrFloat         AttrType = 1
	AttrInt           AttrType = 2
	AttrString        AttrType = 3
	AttrTensor        AttrType = 4
	AttrGraph         AttrType = 5
	AttrFloats        AttrType = 6
	AttrInts          AttrType = 7
	AttrStrings       AttrType = 8
	AttrTensors       AttrType = 9
	AttrGraphs        AttrType = 10
	AttrSparseTensor  AttrType = 11
	AttrSparseTensors AttrType = 12
	AttrTypeProto     AttrType = 13
	AttrTypeProtos    AttrType = 14
)

// attrForms gives each type's name and the field of AttributeProto that holds its value.
var attrForms = [...]struct {
	name  string
	field protowire.Number
}{
	AttrFloat: {"float", 2}, AttrInt: {"int", 3}, AttrString: {"string", 4}, AttrTensor: {"tensor", 5},
	AttrGraph: {"graph", 6}, AttrFloats: {"list of floats", 7}, AttrInts: {"list of ints", 8},
	AttrStrings: {"list of strings", 9}, AttrTensors: {"list of tensors", 10}, AttrGraphs: {"list of graphs", 11},
	AttrSparseTensor: {"sparse tensor", 22}, AttrSparseTensors: {"list of sparse tensors", 23},
	AttrTypeProto: {"type", 14}, AttrTypeProtos: {"list of types", 15},
}

// String names the type in messages.
func (t AttrType) String() string {
	if t < 1 || int(t) >= len(attrForms) {
		return fmt.Sprintf("attribute type %d", int32(t))
	}
	return attrForms[t].name
}

// An Attr is a decoded AttributeProto. In a function body it may, instead of holding a value, name in Ref the
// parameter of the function that it takes its value from.
type Attr struct {
	Name, Ref string
	Type      AttrType
	value     any // by Type: float32, int64, string, *Tensor, *Graph, *SparseTensor, *Type, or a slice of these
}

// attrValue returns the value of a if its type is want.
func attrValue[T any](a *Attr, want AttrType) (v T, err error) {
	if a.Ref != "" {
		return v, fmt.Errorf("attribute %q takes its value from parameter %q of a function that is not expanded", a.Name, a.Ref)
	}
	if a.Type != want {
		return v, fmt.Errorf("attribute %q is of type %s, not %s", a.Name, a.Type, want)
	}
	return a.value.(T), nil
}

// The following return the value of an attribute that has to be of that type, and otherwise an error.

func (a *Attr) Float() (float32, error)        { return attrValue[float32](a, AttrFloat) }
func (a *Attr) Int() (int64, error)            { return attrValue[int64](a, AttrInt) }
func (a *Attr) Str() (string, error)           { return attrValue[string](a, AttrString) }
func (a *Attr) Tensor() (*Tensor, error)       { return attrValue[*Tensor](a, AttrTensor) }
func (a *Attr) Graph() (*Graph, error)         { return attrValue[*Graph](a, AttrGraph) }
func (a *Attr) Floats() ([]float32, error)     { return attrValue[[]float32](a, AttrFloats) }
func (a *Attr) Ints() ([]int64, error)         { return attrValue[[]int64](a, AttrInts) }
func (a *Attr) Strs() ([]string, error)        { return attrValue[[]string](a, AttrStrings) }
func (a *Attr) Tensors() ([]*Tensor, error)    { return attrValue[[]*Tensor](a, AttrTensors) }
func (a *Attr) Sparse() (*SparseTensor, error) { return attrValue[*SparseTensor](a, AttrSparseTensor) }

// graphs lists the graphs that the attribute holds.
func (a *Attr) graphs() []*Graph {
	switch v := a.value.(type) {
	case *Graph:
		return []*Graph{v}
	case []*Graph:
		return v
	}
	return nil
}

// Attr returns the node's attribute of that name, or nil.
func (n *Node) Attr(name string) *Attr {
	for i := range n.Attrs {
		if n.Attrs[i].Name == name {
			return &n.Attrs[i]
		}
	}
	return nil
}

// attrOr returns what get finds in the attribute of that name, or absent where the node has none.
func attrOr[T any](n *Node, name string, absent T, get func(*Attr) (T, error)) (T, error) {
	a := n.Attr(name)
	if a == nil {
		return absent, nil
	}
	v, err := get(a)
	if err != nil {
		return v, fmt.Errorf("%s: %w", n.Label(), err)
	}
	return v, nil
}

// The following return an attribute's value, or the value for its absence; for tensors, graphs and lists that is nil.
// The error is that of an attribute of another type.

func (n *Node) Float(name string, absent float32) (float32, error) {
	return attrOr(n, name, absent, (*Attr).Float)
}
func (n *Node) Int(name string, absent int64) (int64, error) {
	return attrOr(n, name, absent, (*Attr).Int)
}
func (n *Node) Str(name, absent string) (string, error) { return attrOr(n, name, absent, (*Attr).Str) }
func (n *Node) Tensor(name string) (*Tensor, error)     { return attrOr(n, name, nil, (*Attr).Tensor) }
func (n *Node) Graph(name string) (*Graph, error)       { return attrOr(n, name, nil, (*Attr).Graph) }
func (n *Node) Floats(name string) ([]float32, error)   { return attrOr(n, name, nil, (*Attr).Floats) }
func (n *Node) Ints(name string) ([]int64, error)       { return attrOr(n, name, nil, (*Attr).Ints) }
func (n *Node) Strs(name string) ([]string, error)      { return attrOr(n, name, nil, (*Attr).Strs) }

// attrs decodes a node's attributes or a function's defaults. Their names are unique.
func (d *decoder) attrs(msg []byte, num protowire.Number) ([]Attr, error) {
	list, err := repeated(d, msg, num, "attribute", d.attr)
	if err != nil || len(list) < 2 {
		return list, err
	}
	if err := d.room.take(len(list) * mapEntrySize); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(list))
	for _, a := range list {
		if seen[a.Name] {
			return nil, fmt.Errorf("attribute %q is given twice", a.Name)
		}
		seen[a.Name] = true
	}
	return list, nil
}

func (d *decoder) attr(msg []byte, a *Attr) error {
	c, err := count(msg)
	if err != nil {
		return err
	}
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			a.Name = s.text()
		case 20:
			a.Type = AttrType(s.int())
		case 21:
			a.Ref = s.text()
		}
	}
	switch {
	case s.err != nil:
		return s.err
	case a.Name == "":
		return fmt.Errorf("it has no name")
	case a.Type == 0 && a.Ref == "":
		a.Type = typeFromFields(c)
	}
	if a.Ref != "" {
		return nil
	}
	if a.Type < 1 || int(a.Type) >= len(attrForms) {
		return fmt.Errorf("attribute %q has the unknown type %d", a.Name, int32(a.Type))
	}
	if a.value, err = d.attrValue(msg, a.Type, c); err != nil {
		return fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return nil
}

// typeFromFields finds the type of an attribute of IR version 1, which has no type field: the field that is there.
func typeFromFields(c tally) AttrType {
	for t := AttrFloat; int(t) < len(attrForms); t++ {
		if c[attrForms[t].field] > 0 {
			return t
		}
	}
	return 0
}

// attrValue decodes the value of an attribute of type t. A missing number or string is zero or empty, which is how
// writers in proto3 style say it.
func (d *decoder) attrValue(msg []byte, t AttrType, c tally) (any, error) {
	num := attrForms[t].field
	switch t {
	case AttrFloat, AttrInt, AttrString:
		return d.scalarValue(msg, t)
	case AttrFloats:
		raw, err := fixedBytes(d.room, msg, num, 4)
		if err != nil {
			return nil, err
		}
		v, err := reserve[float32](d.room, len(raw)/4)
		for i := range v {
			bits, _ := protowire.ConsumeFixed32(raw[4*i:])
			v[i] = math.Float32frombits(bits)
		}
		return v, err
	case AttrInts:
		return varints(d.room, msg, num)
	case AttrStrings:
		return d.texts(msg, num)
	case AttrTensors:
		return d.tensors(msg, num)
	case AttrGraphs:
		all, err := repeated(d, msg, num, "graph", d.graph)
		return pointers(d.room, all, err)
	case AttrSparseTensors:
		return d.sparseTensors(msg, num)
	case AttrTypeProtos:
		all, err := repeated(d, msg, num, "type", d.typeProto)
		return pointers(d.room, all, err)
	}
	if c[num] != 1 {
		return nil, fmt.Errorf("it is a %s and holds %d of them", t, c[num])
	}
	switch t {
	case AttrTensor:
		return oneOf(d, msg, num, "tensor", d.tensor)
	case AttrGraph:
		return oneOf(d, msg, num, "graph", d.graph)
	case AttrSparseTensor:
		return oneOf(d, msg, num, "sparse tensor", d.sparseTensor)
	default:
		return oneOf(d, msg, num, "type", d.typeProto)
	}
}

// oneOf decodes the only occurrence of a message field.
func oneOf[T any](d *decoder, msg []byte, num protowire.Number, what string, one func([]byte, *T) error) (*T, error) {
	list, err := repeated(d, msg, num, what, one)
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

func (d *decoder) scalarValue(msg []byte, t AttrType) (any, error) {
	var f float32
	var i int64
	var str string
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 2:
			f = s.float()
		case 3:
			i = s.int()
		case 4:
			str = s.text()
		}
	}
	switch t {
	case AttrFloat:
		return f, s.err
	case AttrInt:
		return i, s.err
	default:
		return str, s.err
	}
}
