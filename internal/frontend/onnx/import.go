package onnx

import (
	"fmt"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

// Options say what a model leaves open.
type Options = frontend.Options

// Import turns a model into a graph: see frontend.Import. It expands the model's local functions.
func Import(m *Model, o Options) (*graph.Graph, error) { return frontend.Import(m.Neutral(), o) }

// Unsupported lists the operators of a model that Import does not convert. Calls of local functions are not operators: Expand them first.
func Unsupported(m *Model) []frontend.Missing {
	return frontend.Unsupported(&frontend.Model{Graph: neutral(m.Graph), Table: table})
}

// Format is ONNX.
var Format = frontend.Format{
	Name: "onnx", Doc: "ONNX, with external data", Extensions: []string{".onnx"},
	Identify: func(head []byte, path string) bool { return identify(head) == "" },
	Read: func(path string) (*frontend.Model, error) {
		m, err := ReadFile(path)
		if err != nil {
			return nil, err
		}
		return m.Neutral(), nil
	},
}

// newestOpset is the version of ai.onnx up to which the table has been compared with the operators' history; the
// conformance tests hold cases of all versions up to it.
const newestOpset = 28

// Neutral is the model as all formats have it, with local functions expanded.
func (m *Model) Neutral() *frontend.Model {
	err := Expand(m)
	n := &frontend.Model{Format: "onnx", Graph: neutral(m.Graph), Table: table, Err: err, Files: m.External, Close: m.Close}
	n.About = frontend.About{Form: fmt.Sprintf("ONNX IR %d", m.IRVersion), Producer: m.Producer, Version: m.IRVersion, Opsets: map[string]int{}}
	if m.ProducerVersion != "" {
		n.About.Producer += " " + m.ProducerVersion
	}
	for domain, v := range m.Opsets {
		if domain == "" {
			domain = "ai.onnx"
		}
		n.About.Opsets[domain] = v
	}
	if v := m.Opsets[""]; v > newestOpset {
		n.Notes = append(n.Notes, fmt.Sprintf("the model is written in opset %d of ai.onnx, and opset %d is the newest that Lathe knows: operators are read as of then", v, newestOpset))
	}
	return n
}

func neutral(g *Graph) *frontend.Graph {
	var params []frontend.Param
	for _, t := range g.Initializers {
		params = append(params, frontend.Param{Name: t.Name, Elements: int64(t.Len()), Bytes: int64(len(t.Data)), Value: func(*compose.Builder) (*graph.Value, error) {
			return named(t.Name)(constantOf(t))
		}})
	}
	for _, s := range g.SparseInitializers {
		params = append(params, frontend.Param{Name: s.Name(), Value: func(b *compose.Builder) (v *graph.Value, err error) {
			err = compose.Try(func() { v = dense(b, s) })
			return named(s.Name())(v, err)
		}})
	}
	nodes := make([]*frontend.Node, len(g.Nodes))
	for i, x := range g.Nodes {
		a := attributes{x, map[*Graph]*frontend.Graph{}}
		var bodies []*frontend.Graph
		for _, body := range x.Bodies() {
			a.bodies[body] = neutral(body)
			bodies = append(bodies, a.bodies[body])
		}
		nodes[i] = &frontend.Node{Op: x.OpType, Domain: x.Domain, Name: x.Name, Version: x.Version, In: x.Inputs, Out: x.Outputs, Attrs: a, Sub: bodies}
	}
	return &frontend.Graph{Name: g.Name, Inputs: infos(g.RealInputs()), Outputs: infos(g.Outputs), Values: infos(g.ValueInfo), Params: params, Nodes: nodes}
}

// named puts the name of an initializer into an error.
func named(name string) func(*graph.Value, error) (*graph.Value, error) {
	return func(v *graph.Value, err error) (*graph.Value, error) {
		if err != nil {
			return nil, fmt.Errorf("initializer %q: %w", name, err)
		}
		return v, nil
	}
}

func infos(list []ValueInfo) []frontend.Info {
	out := make([]frontend.Info, len(list))
	for i, v := range list {
		n := frontend.Info{Name: v.Name, Spelt: v.Type.String(), Ranked: v.Ranked, Dims: v.Dims}
		switch {
		case v.Kind != KindTensor:
			n.Kind = v.Kind.String()
		case v.Elem != 0:
			n.DType, n.Err = dtypeFor(v.Elem)
		}
		out[i] = n
	}
	return out
}
