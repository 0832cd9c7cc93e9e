package torch

import (
	"fmt"
	"math/big"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/container/pickle"
	"lathe/internal/graph"
)

// A loader makes values of what a pickle describes, those that stand several times once.
type loader struct {
	*machine
	folder string // of the storages
	made   map[any]value
	consts map[string]*graph.Value
	depth  int
	states *states // nil: nobody asks for the model's attributes
}

// maxObjects bounds how deep pickled objects nest.
const maxObjects = 500

// load makes a value. path is that of attributes from the model.
func (l *loader) load(v any, path string) value {
	l.step()
	if l.depth++; l.depth > maxObjects {
		fail("the model's objects are nested more than %d deep", maxObjects)
	}
	defer func() { l.depth-- }()
	switch x := v.(type) {
	case nil, bool, int64, float64, string:
		return x
	case *big.Int:
		fail("the integer %v does not fit in 64 bits", x)
	case []byte:
		return string(x)
	case pickle.Tuple:
		out := make(tuple, len(x))
		for i, item := range x {
			out[i] = l.load(item, fmt.Sprintf("%s.%d", path, i))
		}
		return out
	case *pickle.List:
		return l.list(x, x.Items, path)
	case *pickle.Dict:
		if d, ok := l.made[x]; ok {
			return d
		}
		d := &dict{}
		l.made[x] = d
		for i, k := range x.Keys {
			d.keys = append(d.keys, l.load(k, path))
			d.values = append(d.values, l.load(x.Values[i], join(path, fmt.Sprint(k))))
		}
		return d
	case *pickle.Object:
		if o, ok := l.made[x]; ok {
			return o
		}
		return l.object(x, path)
	case pickle.Global:
		return reference{x.String()}
	}
	fail("a value %T in the pickle, which is not supported", v)
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (l *loader) list(key any, items []any, path string) value {
	if have, ok := l.made[key]; ok {
		return have
	}
	out := &list{}
	l.made[key] = out
	for i, item := range items {
		out.items = append(out.items, l.load(item, fmt.Sprintf("%s.%d", path, i)))
	}
	return out
}

// object makes a tensor, a list of a type, packed parameters or an instance of a class of the code.
func (l *loader) object(o *pickle.Object, path string) value {
	g, ok := o.Func.(pickle.Global)
	if !ok {
		fail("an object that no class makes")
	}
	if isTensor(o) {
		t := l.tensor(o)
		l.made[o] = t
		return t
	}
	name := g.String()
	switch {
	case g.Module == "torch.jit._pickle" && len(o.Args) > 0: // build_intlist(items), restore_type_tag(value, type)
		return l.load(o.Args[0], path)
	case name == "collections.OrderedDict":
		d := &dict{}
		l.made[o] = d
		for i, k := range o.Pairs.Keys {
			d.set(l.load(k, path), l.load(o.Pairs.Values[i], path))
		}
		return d
	case name == "torch.device":
		return "cpu"
	case strings.HasPrefix(name, "__torch__.torch.classes."):
		p := l.pack(strings.TrimPrefix(name, "__torch__.torch.classes."), l.load(o.State, path))
		l.made[o] = p
		return p
	}
	c := l.code.class(name)
	if c == nil {
		fail("the model has an object of class %s, whose code is not in the archive", name)
	}
	return l.instance(o, c, path)
}

// instance makes an object of a class: its state are its attributes, or what its __setstate__ is given.
func (l *loader) instance(o *pickle.Object, c *class, path string) value {
	out := &object{class: c, path: path, attrs: map[string]value{}}
	l.made[o] = out
	if fn := c.methods["__setstate__"]; fn != nil && o.State != nil {
		state := l.load(o.State, path)
		if _, ok := state.(*dict); !ok || len(fn.params) > 1 {
			before := l.region
			l.region = 0
			l.call(fn, out, []value{state}, nil)
			l.region = before
			return out
		}
	}
	state, ok := o.State.(*pickle.Dict)
	if !ok {
		if o.State == nil {
			return out
		}
		fail("the state of an object of class %s is %T instead of a dictionary", c.name, o.State)
	}
	for i, k := range state.Keys {
		name, ok := k.(string)
		if !ok {
			fail("an attribute of class %s without a name", c.name)
		}
		out.attrs[name] = l.load(state.Values[i], join(path, name))
		if l.states != nil {
			l.states.saw(l.machine, out, name)
		}
	}
	return out
}

// tensor makes a constant. Equal parts of a storage are the same constant.
func (l *loader) tensor(o *pickle.Object) value {
	s, err := storedTensor(o, l.storage)
	if err != nil {
		fail("%w", err)
	}
	t := &tensor{strided: !s.contiguous(), quant: s.quant}
	key := fmt.Sprintf("%s/%s %d %v %v %v", l.folder, s.key, s.dtype, s.offset, s.shape, s.strides)
	if t.v = l.consts[key]; t.v == nil {
		t.v = compose.Const(s.tensor())
		l.consts[key] = t.v
	}
	return t
}

func (l *loader) storage(key string) ([]byte, error) {
	return l.code.archive.read(l.folder + "/" + key)
}
