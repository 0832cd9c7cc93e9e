package torch

import (
	"embed"
	"path"
	"strings"
	"sync"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Decompositions are operators written in the language of TorchScript: what becomes an operator of Relay with the arguments in other places, or
// a composition of others. Each function is a row; several of one name are its overloads, and a class holds those of a namespace. Besides the
// operators of torch, code in there has those of Relay, as in relay.nn.softmax(x, axis=1), and what decompositionFunctions lists, as in
// lathe.axis(dim, x).
//
//go:embed decompositions/*.py
var decompositions embed.FS

// decomposedRows are the rows of decompositions.
var decomposedRows = sync.OnceValue(func() (rows []row) {
	files, err := decompositions.ReadDir("decompositions")
	for _, f := range files {
		name := path.Join("decompositions", f.Name())
		src, _ := decompositions.ReadFile(name)
		u, failed := parseUnit(string(src), name, strings.TrimSuffix(f.Name(), ".py"), true)
		if failed != nil {
			err = failed
			break
		}
		for _, d := range u.defined {
			rows = append(rows, rowOf(d))
		}
	}
	if err != nil {
		panic(err) // a test parses them
	}
	return rows
})

// annotated are the kinds of parameters by their annotations.
var annotated = map[string]byte{"Tensor": 'T', "List[Tensor]": 'L', "int": 'i', "List[int]": 'I', "number": 'n', "bool": 'b', "str": 's'}

// rowOf makes a row of a function. A parameter without a default has to be given.
func rowOf(d definition) row {
	r := row{names: d.names(), convert: func(c *call) any { return c.decompose(d.function) }}
	for _, p := range d.function.params {
		r.params = append(r.params, param{name: p.name, kind: annotated[written(p.of)], needed: p.absent == nil, named: p.named})
	}
	return r
}

// written is a type as code has it.
func written(of expression) string {
	if at, ok := of.(*indexExpr); ok {
		return written(at.of) + "[" + written(at.at) + "]"
	}
	return dotted(of)
}

// decompose runs a function of decompositions. Nodes and errors are those of the operator that it decomposes.
func (c *call) decompose(fn *function) value {
	m := c.machine
	f := &frame{fn: fn, vars: c.args}
	m.decomposing++
	defer func() { m.decomposing-- }() // a loop that cannot be computed now is tried in another way
	for _, p := range fn.params {
		if _, ok := f.vars[p.name]; !ok {
			f.vars[p.name] = m.eval(f, p.absent)
		}
	}
	m.run(f, fn.body)
	return f.result
}

// relay applies an operator of Relay to tensors, numbers and lists of these; what has a name is an attribute.
func (m *machine) relay(name string, args []value, names []string) value {
	d, ok := ops.Lookup(name)
	if !ok {
		fail("there is no operator %s of Relay", name)
	}
	var in []*graph.Value
	plain := len(args) - len(names)
	for _, v := range args[:plain] {
		parts, ok := items(v)
		if !ok {
			parts = []value{v}
		}
		for _, p := range parts {
			switch x := p.(type) {
			case nil:
			case *tensor:
				in = append(in, m.get(x))
			default:
				n, _ := number(x)
				in = append(in, like(in[0], n))
			}
		}
	}
	var attrs any = op.None{}
	if d.NewAttrs != nil {
		at, attributes := d.NewAttrs()
		for i, name := range names {
			v := m.attributeOf(args[plain+i])
			if v == nil {
				continue
			}
			if err := graph.SetAttr(at, name, v); err != nil {
				fail("%s: %w", d.Name, err)
			}
		}
		attrs = attributes()
	}
	out := m.Results(d, attrs, in...)
	if len(out) == 1 {
		return m.fresh(out[0])
	}
	return m.wrap(out)
}

// attributeOf is a value as an attribute of an operator.
func (m *machine) attributeOf(v value) any {
	if t, ok := v.(*tensor); ok {
		return m.known(t, "an argument")[0]
	}
	parts, ok := items(v)
	if !ok {
		return v
	}
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = m.attributeOf(p)
	}
	return out
}

// decompositionFunctions are what decompositions have besides operators.
var decompositionFunctions = map[string]func(c *call) any{
	"axis(dim, x)":   func(c *call) any { return int64(c.axis("dim", 0, c.rank(c.t("x")))) },
	"axes(dims, x)":  func(c *call) any { return ints(c.axes("dims", c.rank(c.t("x")))) },
	"real(x)":        func(c *call) any { return c.float("x") },
	"indices(x)":     func(c *call) any { return c.indices("x") },
	"summed(x)":      func(c *call) any { return c.summed(c.x("x")) },
	"cast(x, to)":    func(c *call) any { return c.Cast(c.x("x"), c.dtype("to", c.x("x").Type.DType)) },
	"like(x, y)":     func(c *call) any { return c.operand(c.args["x"], c.x("y").Type.DType) },
	"promoted(x, y)": func(c *call) any { x, y := c.both("x", "y"); return []*graph.Value{x, y} },
	"some(dims, x)": func(c *call) any {
		if list := c.ints("dims"); len(list) > 0 && c.rank(c.t("x")) > 0 {
			return ints(c.axes("dims", c.rank(c.t("x"))))
		}
		return nil
	},
	"scaled(x, f)":  func(c *call) any { return c.Scaled(c.x("x"), c.num("f", 1)) },
	"plus(y, bias)": func(c *call) any { return c.plusBias(c.x("y"), "bias") },
	"ints(x)":       func(c *call) any { return ints(c.ints("x")) },
	"truth(x)":      func(c *call) any { return c.Cast(c.x("x"), types.Bool) },
	"gelu(x)":       func(c *call) any { return c.Gelu(c.x("x")) },
	"gelu_tanh(x)":  func(c *call) any { return c.GeluTanh(c.x("x")) },
	"matmul(x, y)":  func(c *call) any { return c.NumpyMatmul(c.x("x"), c.x("y")) },
	"dense(x, w)":   func(c *call) any { return c.dense(c.x("x"), c.x("w")) },
	"lp_norm(x, p, keepdim, axes)": func(c *call) any {
		return c.LpNorm(c.x("x"), c.num("p", 2), c.bool("keepdim", false), c.ints("axes")...)
	},
	"log_sum_exp(x, keepdim, axes)": func(c *call) any { return c.LogSumExp(c.x("x"), c.bool("keepdim", false), c.ints("axes")...) },
	"per_axis(list, n, absent)":     func(c *call) any { return ints(c.perAxis("list", c.int("n", 1), c.int("absent", 0))) },
	"note(text)":                    func(c *call) any { c.Note("%s in %s %s", c.place.op, c.place.path, c.str("text", "")); return nil },
	"refuse(text)":                  func(c *call) any { fail("%s", c.str("text", "")); return nil },
}

// decompositionRows are the rows of decompositionFunctions, which no other code can apply.
var decompositionRows = sync.OnceValue(func() map[string]row {
	rows := map[string]row{}
	for signature, f := range decompositionFunctions {
		name, params, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
		rows[name] = sig(name, strings.ReplaceAll(params, ",", ""), f)
	}
	return rows
})

// decompositionFunction applies one of decompositionFunctions.
func (m *machine) decompositionFunction(name string, args []value) value {
	r, ok := decompositionRows()[name]
	if rows := m.table.rows["lathe."+name]; rows != nil {
		r, ok = rows[0], true
	}
	bound, fits := r.bind(args, nil)
	if !ok || !fits {
		fail("there is no function %s of decompositions that fits", name)
	}
	return m.wrap(r.convert(&call{machine: m, name: name, args: bound}))
}
