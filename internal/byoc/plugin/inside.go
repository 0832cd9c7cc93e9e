package plugin

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/export/onnx"
	"lathe/internal/graph"
)

// Inside is a generator that is part of this program, and sees what one that is a program of its own does: networks as ONNX files.
type Inside struct {
	Name, Doc string
	Options   []string // names
	// Claim names the nodes that the generator takes, those of a composite together, and says why it does not take others.
	Claim func(ctx context.Context, model []byte, options map[string]string) (taken []Claim, refused map[string]string, err error)
	// Compile generates the code of a region for a target.
	Compile func(ctx context.Context, region []byte, symbol, target string, options map[string]string) (byoc.Module, error)
}

// A Claim is nodes that a generator takes for one, or, without the name of a composite, nodes that it takes one by one.
type Claim struct {
	Composite string
	Nodes     []string
}

// Codegen checks the generator as one that is a program is checked.
func (p Inside) Codegen() (*byoc.Codegen, error) {
	if p.Claim == nil || p.Compile == nil {
		return nil, errors.New("external code generator " + p.Name + ": it needs the functions Claim and Compile")
	}
	h := hello{Protocol: Version, Name: p.Name, Doc: p.Doc}
	for _, name := range p.Options {
		h.Options = append(h.Options, optionInfo{Name: name})
	}
	c, err := (&generator{name: p.Name}).codegen(h)
	if err != nil {
		return nil, err
	}
	c.Claim = func(ctx context.Context, g *graph.Graph, o byoc.Options) (byoc.Claims, error) {
		b, err := file(g)
		if err != nil {
			return byoc.Claims{}, err
		}
		taken, refused, err := p.Claim(ctx, b, options(o))
		if err != nil {
			return byoc.Claims{}, err
		}
		var a claims
		for _, one := range taken {
			a.Claims = append(a.Claims, struct {
				Composite string   `json:"composite"`
				Nodes     []string `json:"nodes"`
			}{one.Composite, one.Nodes})
		}
		for name, why := range refused {
			a.Refused = append(a.Refused, struct {
				Node   string `json:"node"`
				Reason string `json:"reason"`
			}{name, why})
		}
		return a.nodes(g)
	}
	c.Compile = func(ctx context.Context, r byoc.Region, o byoc.Options) (byoc.Module, error) {
		b, err := file(r.Graph)
		if err != nil {
			return byoc.Module{}, err
		}
		text := ""
		if r.Target != nil {
			text = r.Target.Bare()
		}
		m, err := p.Compile(ctx, b, r.Symbol, text, options(o))
		if err != nil {
			return byoc.Module{}, err
		}
		return m, checkModule(m.Kind, m.Runtime, m.Cycles)
	}
	return c, nil
}

// file is g as ONNX. The name of a node in it begins with the node's number.
func file(g *graph.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := onnx.Write(&b, named(g), onnx.Options{Producer: "lathe"})
	return b.Bytes(), err
}

// Among finds a generator by name.
func Among(list []Inside, name string) (*byoc.Codegen, error) {
	i := slices.IndexFunc(list, func(p Inside) bool { return p.Name == name })
	if i < 0 {
		return nil, nil
	}
	return list[i].Codegen()
}
