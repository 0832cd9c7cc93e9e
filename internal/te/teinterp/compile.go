package teinterp

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A scalar holds a value of any compute type: floats in f, integers and Bool in i (U64 as the int64 of the same bits).
type scalar struct {
	i int64
	f float64
}

// code computes an expression from the values of the variables, by slot.
type code func(env []scalar) scalar

type compiler struct {
	slots  map[*expr.Var]int // index into the environment
	values map[*te.Stage]*tensor.Tensor
}

func (c *compiler) slot(v *expr.Var) int {
	n, ok := c.slots[v]
	if !ok {
		n = len(c.slots)
		c.slots[v] = n
	}
	return n
}

// compile checks the types of e and turns it into a closure.
func (c *compiler) compile(e expr.Expr) (code, error) {
	switch e := e.(type) {
	case *expr.Int, *expr.Float:
		v := constant(e)
		return func([]scalar) scalar { return v }, nil
	case *expr.Var:
		n, ok := c.slots[e]
		if !ok {
			return nil, fmt.Errorf("unbound variable %s", e.Name)
		}
		return func(env []scalar) scalar { return env[n] }, nil
	case *expr.Load:
		return c.load(e)
	case *expr.Let:
		return c.let(e)
	}
	args, err := c.all(expr.Children(e)...)
	if err != nil {
		return nil, err
	}
	switch e := e.(type) {
	case *expr.Binary:
		t := e.A.DType()
		if t != e.B.DType() {
			return nil, fmt.Errorf("%s of %s and %s", e.Op, t, e.B.DType())
		}
		a, b, op := args[0], args[1], e.Op
		if t == types.Bool && (op == expr.OpAnd || op == expr.OpOr) {
			decides := int64(0) // the value of A that makes B irrelevant
			if op == expr.OpOr {
				decides = 1
			}
			return func(env []scalar) scalar {
				if x := a(env); x.i == decides {
					return x
				}
				return b(env)
			}, nil
		}
		return func(env []scalar) scalar { return binary(op, t, a(env), b(env)) }, nil
	case *expr.Unary:
		a, fn, t := args[0], e.Fn, e.A.DType()
		return func(env []scalar) scalar { return unary(fn, t, a(env)) }, nil
	case *expr.Select:
		if e.Cond.DType() != types.Bool || e.A.DType() != e.B.DType() {
			return nil, fmt.Errorf("select by %s of %s and %s", e.Cond.DType(), e.A.DType(), e.B.DType())
		}
		return func(env []scalar) scalar {
			if args[0](env).i != 0 {
				return args[1](env)
			}
			return args[2](env)
		}, nil
	case *expr.Cast:
		a, from, to := args[0], e.A.DType(), e.To
		if to != to.Compute() {
			return nil, fmt.Errorf("cast to storage type %s", to)
		}
		return func(env []scalar) scalar { return cast(to, from, a(env)) }, nil
	case *expr.Bits:
		a, from, to := args[0], e.A.DType(), e.To
		if from.Size() != to.Size() {
			return nil, fmt.Errorf("bits of %s as %s", from, to)
		}
		return func(env []scalar) scalar { return reinterpret(to, from, a(env)) }, nil
	}
	return nil, fmt.Errorf("unknown expression %T", e)
}

func (c *compiler) all(es ...expr.Expr) ([]code, error) {
	codes := make([]code, len(es))
	for i, e := range es {
		var err error
		if codes[i], err = c.compile(e); err != nil {
			return nil, err
		}
	}
	return codes, nil
}

func (c *compiler) load(e *expr.Load) (code, error) {
	from, ok := e.From.(*te.Stage)
	if !ok {
		return nil, fmt.Errorf("load from %s, which is no stage", e.From.Label())
	}
	v, shape := c.values[from], from.Type.Shape
	if len(e.Index) != len(shape) {
		return nil, fmt.Errorf("%d indices into %s %s", len(e.Index), from.Name, from.Type)
	}
	index, err := c.all(e.Index...)
	if err != nil {
		return nil, err
	}
	for _, x := range e.Index {
		if x.DType() != types.I64 {
			return nil, fmt.Errorf("index %s of type %s", expr.String(x), x.DType())
		}
	}
	return func(env []scalar) scalar {
		at := 0
		for k, x := range index {
			i := x(env).i
			if i < 0 || i >= int64(shape[k]) {
				panic(fault{fmt.Errorf("%s: index %d is %d, outside [0,%d)", expr.String(e), k, i, shape[k])})
			}
			at = at*shape[k] + int(i)
		}
		return fetch(v, at)
	}, nil
}

func (c *compiler) let(e *expr.Let) (code, error) {
	value, err := c.compile(e.Value)
	if err != nil {
		return nil, err
	}
	if e.Value.DType() != e.Var.Type {
		return nil, fmt.Errorf("let %s of type %s = %s", e.Var.Name, e.Var.Type, e.Value.DType())
	}
	n := c.slot(e.Var)
	body, err := c.compile(e.Body)
	if err != nil {
		return nil, err
	}
	return func(env []scalar) scalar {
		env[n] = value(env)
		return body(env)
	}, nil
}

func constant(e expr.Expr) scalar {
	if i, ok := e.(*expr.Int); ok {
		return narrow(i.Type, scalar{i: i.V})
	}
	f := e.(*expr.Float)
	return narrow(f.Type, scalar{f: f.V})
}

func fetch(t *tensor.Tensor, i int) scalar {
	if t.DType.IsFloat() {
		return scalar{f: t.Float(i)}
	}
	return scalar{i: t.Int(i)}
}

func store(t *tensor.Tensor, i int, v scalar) {
	if t.DType.IsFloat() {
		t.SetFloat(i, v.f)
	} else {
		t.SetInt(i, v.i)
	}
}

// narrow brings the result of an operation into the range of type t: F32 rounds, integers wrap.
func narrow(t types.DType, v scalar) scalar {
	switch t {
	case types.F32:
		v.f = float64(float32(v.f))
	case types.F64, types.I64, types.U64:
	case types.Bool:
		v.i &= 1
	default:
		shift := 64 - t.Bits()
		if t.IsSigned() {
			v.i = v.i << shift >> shift
		} else {
			v.i = int64(uint64(v.i) << shift >> shift)
		}
	}
	return v
}

func cast(to, from types.DType, v scalar) scalar {
	switch {
	case to == types.Bool && from.IsFloat():
		return truth(v.f != 0)
	case to == types.Bool:
		return truth(v.i != 0)
	case from.IsFloat() && to.IsFloat():
		return narrow(to, v)
	case from.IsFloat():
		return scalar{i: saturate(to, v.f)}
	case to == types.F32 && from == types.U64:
		return scalar{f: float64(float32(uint64(v.i)))}
	case to == types.F32:
		return scalar{f: float64(float32(v.i))}
	case to == types.F64 && from == types.U64:
		return scalar{f: float64(uint64(v.i))}
	case to == types.F64:
		return scalar{f: float64(v.i)}
	}
	return narrow(to, v)
}

// saturate truncates toward zero and clamps to the range of an integer type; NaN gives 0.
func saturate(to types.DType, f float64) int64 {
	t := tensor.New(to, 1)
	t.SetFloat(0, f)
	return t.Int(0)
}

func reinterpret(to, from types.DType, v scalar) scalar {
	raw := uint64(v.i)
	switch from {
	case types.F32:
		raw = uint64(math.Float32bits(float32(v.f)))
	case types.F64:
		raw = math.Float64bits(v.f)
	}
	switch to {
	case types.F32:
		return scalar{f: float64(math.Float32frombits(uint32(raw)))}
	case types.F64:
		return scalar{f: math.Float64frombits(raw)}
	}
	return narrow(to, scalar{i: int64(raw)})
}

func truth(b bool) scalar {
	if b {
		return scalar{i: 1}
	}
	return scalar{}
}
