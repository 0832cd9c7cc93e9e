package lathe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"lathe/internal/compile"
	"lathe/internal/compose"
	"lathe/internal/fault"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tool/excerpt"
	"lathe/runtime"
)

// Memory is what a run takes, in bytes.
type Memory = runtime.Memory

// ModelInfo is what Inspect finds out about a model.
type ModelInfo struct {
	File       string         `json:"file"`
	Bytes      int64          `json:"file_bytes"`     // of the model's files, external data included
	Form       string         `json:"form,omitempty"` // format and version
	Producer   string         `json:"producer,omitempty"`
	IRVersion  int64          `json:"ir_version,omitempty"` // of ONNX
	Opsets     map[string]int `json:"opsets,omitempty"`     // version by domain; ai.onnx is ONNX's own
	Inputs     []ModelTensor  `json:"inputs"`
	Outputs    []ModelTensor  `json:"outputs"`
	Sizes      []ModelSize    `json:"sizes,omitempty"` // that inputs leave open by name
	Tensors    int            `json:"tensors"`         // constants
	Parameters int64          `json:"parameters"`      // their elements
	Weights    int64          `json:"weight_bytes"`
	MACs       int64          `json:"macs,omitempty"`   // multiply-adds of products and convolutions
	Memory     *Memory        `json:"memory,omitempty"` // of a run of what Compile makes for this machine; nil when it refuses
	Operators  []OpCount      `json:"operators"`
	Control    []ControlFlow  `json:"control_flow,omitempty"`
	Compiles   bool           `json:"compiles"`
	Refusal    string         `json:"refusal,omitempty"`      // what compiling would say
	Proposal   string         `json:"proposal,omitempty"`     // sizes to try, as --input-shapes takes them
	Next       string         `json:"next_refusal,omitempty"` // what is refused with the sizes of the proposal, "" when nothing is
	Notes      []string       `json:"notes,omitempty"`
}

// ModelTensor is an input or output.
type ModelTensor struct {
	Name     string   `json:"name"`
	DType    string   `json:"dtype"`
	Declared []string `json:"declared"`          // numbers, names and expressions over names; "?" where the file says nothing
	Shape    []int    `json:"shape,omitzero"`    // as it is compiled; nil when the model cannot be imported
	Fixed    bool     `json:"fixed,omitempty"`   // an input that LoadOptions.Fix makes a constant
	ByData   []bool   `json:"by_data,omitempty"` // axes whose size the data decide, at most that of Shape; nil when there is none
	runtime.Meaning
}

// ModelSize is a size that inputs leave open under a name.
type ModelSize struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Given bool   `json:"given"` // or follows from what is given; else it is 1 for want of a size
}

// ControlFlow is an If, Loop or Scan.
type ControlFlow struct {
	Node     string `json:"node"`
	Operator string `json:"operator"`
	Becomes  string `json:"becomes"`
}

// Inspect tells what a model holds and whether it compiles for this machine, with the reason and what to type where it does
// not. It goes through everything that Compile does but the generation of code.
func Inspect(ctx context.Context, m *Model) (info *ModelInfo, err error) {
	err = fault.Guard(func() (err error) { info, err = inspect(ctx, m); return err })
	if err != nil {
		return nil, excerpt.Error(err)
	}
	return info, nil
}

// sizeOf is the number of bytes of files and of all files in folders, each counted once.
func sizeOf(paths []string) int64 {
	sizes := map[string]int64{}
	for _, path := range paths {
		filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			st, err := os.Stat(file)
			if err == nil {
				sizes[filepath.Clean(file)] = st.Size()
			}
			return err
		})
	}
	var sum int64
	for _, n := range sizes {
		sum += n
	}
	return sum
}

func inspect(ctx context.Context, m *Model) (*ModelInfo, error) {
	info := &ModelInfo{File: m.file, Inputs: []ModelTensor{}, Outputs: []ModelTensor{}, Notes: m.notes, Control: m.control}
	info.Bytes = sizeOf(m.Files())
	info.Tensors, info.Parameters = m.Parameters()
	info.Operators = m.Operators()
	if m.read != nil {
		m.describe(info)
	}
	if m.first != nil {
		info.MACs = int64(compile.MACs(m.first))
		for _, c := range m.first.Constants() {
			if m.read == nil {
				info.Weights += int64(c.Const.Size())
			}
		}
		info.Inputs = compiledTensors(info.Inputs, m.first.Inputs, nil)
		extents, err := compose.ExtentsOf(m.first)
		if err != nil {
			return nil, err
		}
		info.Outputs = compiledTensors(info.Outputs, m.first.Outputs, extents)
	}
	memory, err := m.check(ctx, m.first, m.err)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if info.Compiles = err == nil; err != nil {
		info.Refusal = excerpt.Error(err).Error()
	} else {
		info.Memory = memory
	}
	if m.err != nil {
		if err := m.propose(ctx, info); err != nil {
			return nil, err
		}
	}
	return info, ctx.Err()
}

// check goes as far as Compile does before it generates code, and tells what a run would take.
func (m *Model) check(ctx context.Context, g *graph.Graph, err error) (*Memory, error) {
	if err != nil {
		return nil, err
	}
	opts, err := CompileOptions{OptLevel: O3}.resolve()
	if err != nil {
		return nil, err
	}
	opts.After, opts.Debug = m.after, compile.Debug{}
	memory, err := compile.Check(ctx, g.Clone(), opts)
	return &memory, err
}

// propose looks for sizes with which the model compiles, when that may be what is wrong.
func (m *Model) propose(ctx context.Context, info *ModelInfo) error {
	if _, ok := errors.AsType[*frontend.SizeError](m.err); !ok {
		return nil
	}
	o, err := m.opts.importing(nil)
	if err != nil {
		return err
	}
	var p frontend.Proposal
	if err := fault.Guard(func() error { p = frontend.Propose(ctx, m.read, o, m.err); return nil }); err != nil {
		return nil // a panic at sizes that nobody asked for is no answer to what was asked
	}
	info.Proposal = p.Shapes
	if p.Shapes == "" && p.Next != nil {
		info.Proposal, info.Next = p.Further, excerpt.Error(p.Next).Error()
	}
	if p.Graph != nil {
		if _, err := m.check(ctx, p.Graph, nil); err != nil {
			info.Next = excerpt.Error(err).Error()
		}
	}
	return nil
}

// describe fills in what the file says.
func (m *Model) describe(info *ModelInfo) {
	about := m.read.About
	info.Form, info.IRVersion, info.Producer, info.Opsets = about.Form, about.Version, about.Producer, about.Opsets
	for _, p := range m.read.Graph.Params {
		info.Weights += p.Bytes
	}
	o, err := m.opts.importing(nil)
	var shapes *frontend.Shapes
	if err == nil {
		shapes, err = frontend.ShapesOf(m.read.Graph, o)
	}
	if err != nil {
		shapes = nil
	} else {
		for _, s := range shapes.Symbols {
			info.Sizes = append(info.Sizes, ModelSize(s))
		}
	}
	for _, in := range m.read.Graph.Inputs {
		t := declaredTensor(in, shapes)
		_, t.Fixed = m.opts.Fix[in.Name]
		info.Inputs = append(info.Inputs, t)
	}
	for _, out := range m.read.Graph.Outputs {
		info.Outputs = append(info.Outputs, declaredTensor(out, shapes))
	}
}

func declaredTensor(v frontend.Info, shapes *frontend.Shapes) ModelTensor {
	t := ModelTensor{Name: v.Name, DType: v.Spelt, Declared: append([]string{}, shapes.Text(v)...), Meaning: runtime.Meaning(v.Meaning)}
	if !v.Ranked {
		t.Declared = []string{"..."}
	}
	if v.Kind != "" {
		t.Declared = nil
	}
	return t
}

// compiledTensors adds the shapes in which tensors are compiled; where the file says nothing of a tensor, they are all there is.
func compiledTensors(declared []ModelTensor, vs []*graph.Value, extents compose.Extents) []ModelTensor {
	list := slices.Clone(declared)
	for _, v := range vs {
		at := slices.IndexFunc(list, func(t ModelTensor) bool { return t.Name == v.Name })
		if at < 0 {
			at = len(list)
			list = append(list, ModelTensor{Name: v.Name})
		}
		t := &list[at]
		t.DType, t.Shape = v.Type.DType.String(), append([]int{}, v.Type.Shape...)
		for axis, count := range extents[v] {
			if count != nil && t.ByData == nil {
				t.ByData = make([]bool, len(t.Shape))
			}
			if count != nil {
				t.ByData[axis] = true
			}
		}
		if len(t.Declared) != len(t.Shape) || slices.Equal(t.Declared, []string{"..."}) {
			t.Declared = nil
			for _, n := range t.Shape {
				t.Declared = append(t.Declared, strconv.Itoa(n))
			}
		}
	}
	return list
}
