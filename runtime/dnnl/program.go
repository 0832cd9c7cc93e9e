// Package dnnl runs regions of a network by oneDNN, whose library libdnnl.so.2 it opens by name where the system has one. What a package
// holds of a region is a Program: primitives over tensors, and the constants.
package dnnl

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// A Program says what a region computes: steps, each of which writes one tensor, from inputs to outputs. All numbers are float32.
type Program struct {
	Tensors         []Tensor
	Steps           []Step
	Inputs, Outputs []int // tensors
	data            []byte
}

// A Tensor is a value of a program: dense and in row-major order where it is an input, an output or a constant, elsewhere as the
// primitives like it.
type Tensor struct {
	Shape  []int64
	Const  bool  `json:",omitempty"`
	Offset int64 `json:",omitempty"` // of a constant, in the bytes behind the program
}

// A Step is a primitive. Which fields count depends on its kind.
type Step struct {
	Kind     string // of Kinds
	Operands []int
	Result   int
	// Windows: of convolutions and poolings. Dilation 1 is none.
	Kernel, Strides, Dilation, Before, After []int64 `json:",omitempty"`
	Groups                                   int64   `json:",omitempty"`
	// IncludePadding: of averages.
	IncludePadding bool `json:",omitempty"`
	// Axis: of softmax, log_softmax and concat.
	Axis int `json:",omitempty"`
	// TransposeA, TransposeB: of matmul.
	TransposeA, TransposeB bool `json:",omitempty"`
	// Function and its parameters: of eltwise and binary.
	Function    string  `json:",omitempty"`
	Alpha, Beta float32 `json:",omitempty"`
	// Bias says that the operand behind the weights is one.
	Bias bool `json:",omitempty"`
	// Post are computed on the sums before they are stored. The operand of a sum stands behind the others.
	Post []Post `json:",omitempty"`
}

// A Post is a function, or "sum": the last operand is added.
type Post struct {
	Function    string
	Alpha, Beta float32 `json:",omitempty"`
}

// Kinds of steps, and how many operands they have at least.
var Kinds = map[string]int{
	"convolution": 2, "inner_product": 2, "matmul": 2, "max_pool": 1, "avg_pool": 1, "softmax": 1, "log_softmax": 1, "eltwise": 1, "binary": 2,
	"reshape": 1, "concat": 1,
}

const (
	magic     = "lathe-dnnl 1\n"
	alignment = 64
	maxRank   = 12
	maxHeader = 64 << 20
	maxBytes  = 1 << 40
)

// Marshal writes the program with the bytes of its constants.
func (p *Program) Marshal(data []byte) ([]byte, error) {
	header, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b := binary.LittleEndian.AppendUint64([]byte(magic+"\x00\x00\x00"), uint64(len(header)))
	b = append(b, header...)
	b = append(b, make([]byte, -len(b)&(alignment-1))...)
	return append(b, data...), nil
}

// Parse reads and checks a program. Constants stay in b.
func Parse(b []byte) (*Program, error) {
	const begin = len(magic) + 3
	if len(b) < begin+8 || string(b[:len(magic)]) != magic {
		return nil, errors.New("it is no program for oneDNN")
	}
	size := binary.LittleEndian.Uint64(b[begin:])
	if size > maxHeader || size > uint64(len(b)-begin-8) {
		return nil, errors.New("it is truncated")
	}
	p := &Program{}
	d := json.NewDecoder(bytes.NewReader(b[begin+8 : begin+8+int(size)]))
	d.DisallowUnknownFields()
	if err := d.Decode(p); err != nil {
		return nil, fmt.Errorf("its program: %w", err)
	}
	at := begin + 8 + int(size)
	at += -at & (alignment - 1)
	p.data = b[min(at, len(b)):]
	return p, p.check()
}

// bytes of a tensor.
func (t Tensor) bytes() int64 {
	n := int64(4)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func (p *Program) check() error {
	for i, t := range p.Tensors {
		if len(t.Shape) > maxRank {
			return fmt.Errorf("tensor %d has %d axes", i, len(t.Shape))
		}
		n := int64(4)
		for _, d := range t.Shape {
			if d < 1 || d > maxBytes/n {
				return fmt.Errorf("tensor %d has shape %v", i, t.Shape)
			}
			n *= d
		}
		if t.Const && (t.Offset < 0 || t.Offset%alignment != 0 || t.Offset > int64(len(p.data)) || n > int64(len(p.data))-t.Offset) {
			return fmt.Errorf("constant %d ends beyond the file", i)
		}
	}
	made := make([]bool, len(p.Tensors))
	for i, t := range p.Tensors {
		made[i] = t.Const
	}
	for _, v := range p.Inputs {
		if v < 0 || v >= len(made) || made[v] {
			return fmt.Errorf("input %d is no tensor, or one already", v)
		}
		made[v] = true
	}
	for i, s := range p.Steps {
		if err := p.checkStep(s, made); err != nil {
			return fmt.Errorf("step %d (%s): %w", i, s.Kind, err)
		}
		made[s.Result] = true
	}
	for i, v := range p.Outputs {
		if v < 0 || v >= len(made) || !made[v] || p.Tensors[v].Const || slices.Contains(p.Outputs[:i], v) || slices.Contains(p.Inputs, v) {
			return fmt.Errorf("output %d is no result of a step, or twice", v)
		}
	}
	return nil
}

func (p *Program) checkStep(s Step, made []bool) error {
	least, ok := Kinds[s.Kind]
	want := least
	if s.Bias {
		want++
	}
	for _, post := range s.Post {
		if post.Function == "sum" {
			want++
		} else if functions[post.Function] == 0 {
			return fmt.Errorf("no function %q", post.Function)
		}
	}
	switch {
	case !ok:
		return errors.New("there is no such kind")
	case len(s.Operands) < want || s.Kind != "concat" && len(s.Operands) != want:
		return fmt.Errorf("%d operands instead of %d", len(s.Operands), want)
	case s.Result < 0 || s.Result >= len(made) || made[s.Result]:
		return fmt.Errorf("result %d is no tensor, or computed already", s.Result)
	case s.Kind == "eltwise" && functions[s.Function] == 0, s.Kind == "binary" && binaries[s.Function] == 0:
		return fmt.Errorf("no function %q", s.Function)
	}
	for _, v := range s.Operands {
		if v < 0 || v >= len(made) || !made[v] {
			return fmt.Errorf("operand %d is not computed", v)
		}
	}
	return p.checkShapes(s)
}

// checkShapes refuses windows, axes and shapes that do not fit each other, where oneDNN would not say so itself.
func (p *Program) checkShapes(s Step) error {
	x, y := p.Tensors[s.Operands[0]], p.Tensors[s.Result]
	spatial := len(x.Shape) - 2
	window := func(list ...[]int64) error {
		for _, l := range list {
			if spatial < 1 || spatial > 3 || len(l) != spatial {
				return fmt.Errorf("a window of %d axes on a tensor of shape %v", len(l), x.Shape)
			}
			for _, n := range l {
				if n < 0 || n > 1<<30 {
					return fmt.Errorf("a window with %d", n)
				}
			}
		}
		return nil
	}
	switch s.Kind {
	case "convolution":
		if s.Groups < 1 || len(p.Tensors[s.Operands[1]].Shape) != len(x.Shape) || p.Tensors[s.Operands[1]].Shape[0]%s.Groups != 0 {
			return fmt.Errorf("%d groups on weights of shape %v", s.Groups, p.Tensors[s.Operands[1]].Shape)
		}
		return window(s.Strides, s.Dilation, s.Before, s.After)
	case "max_pool", "avg_pool":
		return window(s.Kernel, s.Strides, s.Dilation, s.Before, s.After)
	case "reshape":
		if x.bytes() != y.bytes() {
			return fmt.Errorf("shape %v becomes %v", x.Shape, y.Shape)
		}
	case "softmax", "log_softmax", "concat":
		if s.Axis < 0 || s.Axis >= len(x.Shape) {
			return fmt.Errorf("axis %d of shape %v", s.Axis, x.Shape)
		}
	}
	for _, post := range s.Post {
		if post.Function == "sum" && !slices.Equal(p.Tensors[s.Operands[len(s.Operands)-1]].Shape, y.Shape) {
			return fmt.Errorf("%v is added to %v", p.Tensors[s.Operands[len(s.Operands)-1]].Shape, y.Shape)
		}
	}
	if s.Kind != "concat" {
		return nil
	}
	for _, v := range s.Operands {
		if len(p.Tensors[v].Shape) != len(y.Shape) {
			return fmt.Errorf("a tensor of shape %v is joined to one of %v", p.Tensors[v].Shape, y.Shape)
		}
	}
	return nil
}
