package lathe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/fault"
	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/excerpt"
	"lathe/internal/types"
)

// Model is a model file that has been read.
type Model struct {
	file   string
	read   *frontend.Model // nil for a graph
	opts   LoadOptions
	source bundle.Source
	first  *graph.Graph // the import of Load, until a compilation takes it
	after  string       // the pass that made a dumped graph
	err    error        // why the model cannot be imported
	// What the import of Load said.
	notes   []string
	control []ControlFlow
	// What the graph says of its numbers, or is known of those of a graph that was made of another model.
	said        struct{ inputs, outputs map[string]bundle.Meaning }
	matmulNBits bool // SaveONNX writes weights in blocks as MatMulNBits
}

// unread lists the formats that tvmc has names for and Lathe does not read, with the extensions they are guessed by.
var unread = []struct {
	name string
	ext  []string
}{
	{"relay", []string{".relay"}},
}

// graphFormat is the compiler's own: a graph that LATHE_DEBUG has dumped, in a file with the extension graphExt.
const (
	graphFormat = "lathe-graph"
	graphExt    = ".graph"
)

// ModelFormats lists the names that LoadOptions.Format may have, tvmc's among them which are not supported yet.
func ModelFormats() []string {
	names := []string{graphFormat}
	for _, f := range formats.Table {
		names = append(names, f.Name)
	}
	for _, f := range unread {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Load reads a model file. A model with operators that Lathe does not support is read too, so that it can be inspected;
// compiling it gives the error.
func Load(path string, o LoadOptions) (*Model, error) {
	return LoadContext(context.Background(), path, o)
}

// LoadContext is Load that ends when ctx does.
func LoadContext(ctx context.Context, path string, o LoadOptions) (m *Model, err error) {
	if notes := o.Notes; notes != nil {
		o.Notes = func(s string) { notes(excerpt.Message(s)) }
	}
	err = fault.Guard(func() error {
		m, err = load(ctx, path, o)
		return err
	})
	if err != nil {
		return nil, excerpt.Error(err)
	}
	return m, nil
}

func load(ctx context.Context, path string, o LoadOptions) (*Model, error) {
	format, err := formatOf(path, o.Format)
	if err != nil {
		return nil, err
	}
	sum, err := hashFile(ctx, path)
	if err != nil {
		return nil, err
	}
	m := &Model{file: path, opts: o, source: bundle.Source{File: filepath.Base(path), SHA256: sum}}
	if format == nil && o.Weights != "" {
		return nil, fmt.Errorf("%s: a graph holds its weights: give none", path)
	}
	if format == nil && len(o.Inputs)+len(o.Outputs) > 0 {
		return nil, fmt.Errorf("%s: a graph has fixed inputs and outputs; name others when the model it comes from is compiled", path)
	}
	if format == nil {
		m.first, m.after, err = compile.ReadGraph(path)
		if err == nil && len(o.Shapes)+len(o.Sizes)+len(o.Fix) > 0 {
			err = fmt.Errorf("%s: a graph has fixed shapes and inputs; give them when the model it comes from is compiled", path)
		}
		return m, err
	}
	if m.read, err = format.Open(path, o.weights()); err != nil {
		return nil, err
	}
	if err := o.set(format, m.read); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.read.Close())
	}
	if err := m.cut(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), m.read.Close())
	}
	m.opts = o.named(m.read.Graph.Inputs)
	notes := func(text string) {
		m.notes = append(m.notes, text)
		if o.Notes != nil {
			o.Notes(text)
		}
	}
	err = fault.Guard(func() (err error) { m.first, err = m.importGraph(ctx, notes); return err })
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	m.err = excerpt.Error(err)
	if err == nil {
		m.said.inputs, m.said.outputs = graphMeanings(m.first)
	}
	return m, nil
}

// cut gives the model other inputs and outputs, where the options name some.
func (m *Model) cut(ctx context.Context) error {
	o := m.opts.named(m.read.Graph.Inputs)
	imp, err := o.importing(nil)
	if err != nil {
		return err
	}
	imp.Context = ctx
	return fault.Guard(func() error { return m.read.Cut(o.Inputs, o.Outputs, imp) })
}

// weights says where the weights are.
func (o *LoadOptions) weights() frontend.Weights {
	if o.Weights == RandomWeights {
		return frontend.Weights{MadeUp: true}
	}
	return frontend.Weights{Path: o.Weights}
}

// formatOf is the format that is asked for, or that the file is of; nil is the compiler's own.
func formatOf(path, asked string) (*frontend.Format, error) {
	if asked == graphFormat || asked == "" && strings.ToLower(filepath.Ext(path)) == graphExt {
		return nil, nil
	}
	if asked != "" {
		if f := formats.Named(asked); f != nil {
			return f, nil
		}
		return nil, fmt.Errorf("%s: model format %s is not supported yet: convert the model to ONNX", path, asked)
	}
	f, err := formats.Of(path)
	if f != nil || err != nil {
		return f, err
	}
	for _, f := range unread {
		if slices.Contains(f.ext, strings.ToLower(filepath.Ext(path))) {
			return nil, fmt.Errorf("%s: model format %s is not supported yet: convert the model to ONNX", path, f.name)
		}
	}
	return nil, formats.Unknown(path)
}

// FormatOptions lists the choices that models of some formats leave to the user.
func FormatOptions() []FormatOption {
	var list []FormatOption
	for _, f := range formats.Table {
		for _, o := range f.Options {
			if i := slices.IndexFunc(list, func(have FormatOption) bool { return have.Name == o.Name }); i >= 0 {
				list[i].Format += " " + f.Name
				continue
			}
			list = append(list, FormatOption{o.Name, o.Doc, f.Name, o.Values})
		}
	}
	return list
}

// set gives a model the options of its format.
func (o LoadOptions) set(format *frontend.Format, m *frontend.Model) error {
	for _, name := range slices.Sorted(maps.Keys(o.FormatOptions)) {
		value := o.FormatOptions[name]
		i := slices.IndexFunc(format.Options, func(f frontend.Option) bool { return f.Name == name })
		switch {
		case i < 0:
			return fmt.Errorf("option %s is not for models of the format %s (leave it out)", name, format.Name)
		case !slices.Contains(format.Options[i].Values, value):
			return fmt.Errorf("option %s: %q is none of %s", name, value, strings.Join(format.Options[i].Values, ", "))
		}
		m.Set(name, value)
	}
	return nil
}

// named gives inputs that options know by another name of theirs their own.
func (o LoadOptions) named(inputs []frontend.Info) LoadOptions {
	o.Shapes, o.Fix = maps.Clone(o.Shapes), maps.Clone(o.Fix)
	for _, in := range inputs {
		for _, name := range in.Aliases {
			own := slices.ContainsFunc(inputs, func(v frontend.Info) bool { return v.Name == name })
			if shape, ok := o.Shapes[name]; ok && !own {
				delete(o.Shapes, name)
				o.Shapes[in.Name] = shape
			}
			if value, ok := o.Fix[name]; ok && !own {
				delete(o.Fix, name)
				o.Fix[in.Name] = value
			}
		}
	}
	return o
}

// hashFile is the SHA-256 of a file, or of the names and bytes of all files in a folder.
func hashFile(ctx context.Context, path string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if file != path {
			name, err := filepath.Rel(path, file)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%s\x00", filepath.ToSlash(name))
		}
		return copyFile(ctx, h, file)
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyFile writes the bytes of a file to w.
func copyFile(ctx context.Context, w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		n, err := io.CopyN(w, f, 64<<20)
		if err == nil {
			err = ctx.Err()
		}
		if n < 64<<20 && err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (m *Model) importGraph(ctx context.Context, notes func(string)) (*graph.Graph, error) {
	o, err := m.opts.importing(notes)
	if err != nil {
		return nil, err
	}
	seen := map[ControlFlow]bool{}
	o.Control = func(node, operator, becomes string) {
		c := ControlFlow{node, operator, becomes}
		if !seen[c] && len(m.control) < maxControl {
			seen[c] = true
			m.control = append(m.control, c)
		}
	}
	o.Context = ctx
	return frontend.Import(m.read, o)
}

// maxControl bounds what is kept about control flow, of which unrolled loops may have any amount.
const maxControl = 200

// importing is the options of the import.
func (o *LoadOptions) importing(notes func(string)) (frontend.Options, error) {
	imp := frontend.Options{Shapes: o.Shapes, Sizes: o.Sizes, Values: map[string]*tensor.Tensor{}, LoopBound: o.LoopBound, Notes: notes}
	for name, t := range o.Fix {
		d, err := types.ParseDType(t.DType)
		if err != nil {
			return imp, fmt.Errorf("input %q: the value it is fixed to: %w", name, err)
		}
		shape := append([]int{}, t.Shape...)
		if err := types.Of(d, shape...).Check(); err != nil {
			return imp, fmt.Errorf("input %q: the value it is fixed to: %w", name, err)
		}
		v, err := tensor.Wrap(d, shape, t.Data)
		if err != nil {
			return imp, fmt.Errorf("input %q: the value it is fixed to: %w", name, err)
		}
		imp.Values[name] = v
	}
	return imp, nil
}

// graph returns a graph that the caller may change.
func (m *Model) graph() (*graph.Graph, error) {
	if m.err != nil {
		return nil, m.err
	}
	return m.first.Clone(), nil
}

// Files lists the files that the model was read from: its own, and those of external data.
func (m *Model) Files() []string {
	files := []string{m.file}
	if m.read != nil {
		files = append(files, m.read.Files()...)
	}
	return files
}

// Err tells why the model cannot be compiled, or nil.
func (m *Model) Err() error { return m.err }

// Inputs returns the model's inputs in order: as they will be compiled, or as the file has them when it cannot be
// imported; dimensions it leaves open are -1 then.
func (m *Model) Inputs() []Tensor {
	if m.first != nil {
		return tensors(m.first.Inputs)
	}
	return fileTensors(m.read.Graph.Inputs)
}

// Outputs returns the model's outputs in order, like Inputs.
func (m *Model) Outputs() []Tensor {
	if m.first != nil {
		return tensors(m.first.Outputs)
	}
	return fileTensors(m.read.Graph.Outputs)
}

func tensors(vs []*graph.Value) []Tensor {
	var list []Tensor
	for _, v := range vs {
		list = append(list, Tensor{Name: v.Name, DType: v.Type.DType.String(), Shape: v.Type.Shape})
	}
	return list
}

func fileTensors(vs []frontend.Info) []Tensor {
	var list []Tensor
	for _, v := range vs {
		t := Tensor{Name: v.Name, DType: v.Spelt}
		for _, d := range v.Dims {
			t.Shape = append(t.Shape, int(d.Value))
		}
		list = append(list, t)
	}
	return list
}

// Operators counts the operators of the model file by name, those in bodies of control flow included, sorted by name. It
// tells which Lathe does not support: those without a converter, those that read what is no tensor, and the one that the
// import ended at.
func (m *Model) Operators() []OpCount {
	if m.read == nil {
		return graphOperators(m.first)
	}
	reasons := map[string]string{}
	for _, u := range frontend.Unsupported(m.read) {
		reasons[u.Op] = "not supported yet"
	}
	kinds := map[string]string{}
	for _, in := range m.read.Graph.Inputs {
		if in.Kind != "" {
			kinds[in.Name] = in.Kind
		}
	}
	counts := map[string]int{}
	var count func(g *frontend.Graph)
	count = func(g *frontend.Graph) {
		for _, n := range g.Nodes {
			counts[n.Qualified()]++
			for _, in := range n.In {
				if kind, ok := kinds[in]; ok && reasons[n.Qualified()] == "" {
					reasons[n.Qualified()] = fmt.Sprintf("not supported: it reads %s, which is %s", in, kind)
				}
			}
			for _, body := range n.Sub {
				count(body)
			}
		}
	}
	count(m.read.Graph)
	if op := frontend.Refused(m.err); op != "" && reasons[op] == "" {
		reasons[op] = "refused, see below"
	}
	return sortedCounts(counts, reasons)
}

// graphOperators counts the operators of a graph and of the groups in it, all of which are supported.
func graphOperators(g *graph.Graph) []OpCount {
	counts := map[string]int{}
	var count func(g *graph.Graph)
	count = func(g *graph.Graph) {
		for _, n := range g.Nodes {
			if len(n.Sub) == 0 {
				counts[n.Op.Name]++
			}
			for _, s := range n.Sub {
				count(s)
			}
		}
	}
	count(g)
	return sortedCounts(counts, nil)
}

func sortedCounts(counts map[string]int, reasons map[string]string) []OpCount {
	var list []OpCount
	for name, n := range counts {
		list = append(list, OpCount{Name: name, Count: n, Supported: reasons[name] == "", Reason: reasons[name]})
	}
	slices.SortFunc(list, func(a, b OpCount) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// meanings are what the file says of the numbers of inputs and outputs, by name.
func (m *Model) meanings() (inputs, outputs map[string]bundle.Meaning) {
	if m.read == nil {
		return m.said.inputs, m.said.outputs
	}
	said := func(list []frontend.Info, found map[string]bundle.Meaning) map[string]bundle.Meaning {
		by := map[string]bundle.Meaning{}
		for _, v := range list {
			b := bundle.Meaning(v.Meaning)
			if f, ok := found[v.Name]; ok && b.Scale == 0 {
				b.Scale, b.Zero = f.Scale, f.Zero
			}
			by[v.Name] = b
		}
		return by
	}
	return said(m.read.Graph.Inputs, m.said.inputs), said(m.read.Graph.Outputs, m.said.outputs)
}

// Parameters counts the model's constant tensors and their elements.
func (m *Model) Parameters() (tensors int, elements int64) {
	if m.read == nil {
		for _, c := range m.first.Constants() {
			tensors++
			elements += int64(c.Const.Len())
		}
		return tensors, elements
	}
	for _, p := range m.read.Graph.Params {
		tensors++
		elements += p.Elements
	}
	return tensors, elements
}
