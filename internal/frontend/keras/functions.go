package keras

import (
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// A function is an operation of Keras 3 (keras.ops) or of TensorFlow, as functional models hold them where they were applied to values like layers.
type function struct {
	// names are those of Keras 3, as classes, and of TensorFlow behind "tf:", each with its parameters in their order. Those with * are
	// lists of values; THEIRS=OURS is how the row calls a parameter.
	keras, tensorflow string
	convert           func(c *call) *graph.Value
}

// functions are the names of parameters by function.
var functions = signatures()

// A signature is one of the functions' names with its parameters.
func eachSignature(visit func(name string, parameters []string, f function)) {
	for _, f := range functionTable {
		for _, side := range []struct{ prefix, text string }{{kerasFunction, f.keras}, {tensorflowFunction, f.tensorflow}} {
			for spelling := range strings.SplitSeq(side.text, ";") {
				if words := strings.Fields(spelling); len(words) > 0 {
					visit(side.prefix+words[0], words[1:], f)
				}
			}
		}
	}
}

func signatures() map[string][]string {
	list := map[string][]string{}
	eachSignature(func(name string, parameters []string, _ function) {
		theirs := make([]string, len(parameters))
		for i, p := range parameters {
			theirs[i], _, _ = strings.Cut(p, "=")
			if strings.HasSuffix(p, "*") && !strings.HasSuffix(theirs[i], "*") {
				theirs[i] += "*"
			}
		}
		list[name] = theirs
	})
	list[kerasFunction+"Split"] = []string{"x", "indices_or_sections", "axis"}
	list[tensorflowFunction+"split"] = []string{"value", "num_or_size_splits", "axis"}
	list[tensorflowFunction+"unstack"] = []string{"value", "num", "axis"}
	return list
}

// functionRows are the rows of the table.
func functionRows() (rows []row) {
	eachSignature(func(name string, parameters []string, f function) {
		rows = append(rows, row{name, func(c *call) values {
			c.rename(parameters)
			y := f.convert(c)
			c.Ignore("dtype", "name", "layer")
			return values{y}
		}})
	})
	return append(rows, row{kerasFunction + "Split", splitFunction}, row{tensorflowFunction + "split", splitFunction}, row{tensorflowFunction + "unstack", unstackFunction})
}

// rename gives arguments the names that rows know them by.
func (c *call) rename(parameters []string) {
	for _, p := range parameters {
		theirs, ours, other := strings.Cut(strings.ReplaceAll(p, "*", ""), "=")
		if !other || theirs == ours {
			continue
		}
		if a, ok := c.named[theirs]; ok {
			c.named[ours] = a
		}
		if v, ok := c.Values[theirs]; ok {
			c.Values[ours] = v
			c.Ignore(theirs)
		}
	}
}

// x is the argument of a name: a value, or numbers of the type of the first value.
func (c *call) x(name string) *graph.Value {
	if a, ok := c.named[name]; ok {
		return c.X(a.first)
	}
	c.Ignore(name)
	v, ok := c.Values[name]
	if !ok || v == nil {
		compose.Fail("argument %q is missing", name)
	}
	d := types.F32
	if len(c.In) > 0 {
		d = c.X(0).Type.DType
	}
	if _, truth := v.(bool); truth {
		d = types.Bool
	} else if f, ok := v.(float64); ok && d.IsInt() && f != float64(int64(f)) {
		d = types.F32
	}
	return c.array(v, d)
}

// list is the argument of a name that is a list of values.
func (c *call) list(name string) values {
	a, ok := c.named[name]
	if !ok {
		compose.Fail("argument %q is no list of values", name)
	}
	return c.All()[a.first : a.first+a.n]
}

// pair are two arguments of one type: that of floats where they differ.
func (c *call) pair(a, b string) (x, y *graph.Value) {
	x, y = c.x(a), c.x(b)
	p, q := x.Type.DType, y.Type.DType
	switch {
	case p == q:
	case p.IsFloat() && !q.IsFloat() || p.IsInt() && q == types.Bool || p.IsFloat() == q.IsFloat() && p.Size() > q.Size():
		y = c.Cast(y, p)
	default:
		x = c.Cast(x, q)
	}
	return x, y
}
