package frontend

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// Weights say where the weights are of a model whose format keeps them in a file of their own.
type Weights struct {
	Path   string // "": where the format looks for them
	MadeUp bool   // they are nowhere: see MadeUp
}

// Open reads the model at path, with weights that w names.
func (f *Format) Open(path string, w Weights) (*Model, error) {
	if f.ReadWith != nil {
		return f.ReadWith(path, w)
	}
	if w != (Weights{}) {
		return nil, fmt.Errorf("read %s: weights are given, but files of the format %s hold their own", path, f.Name)
	}
	return f.Read(path)
}

// A NoWeightsError says by what rule weights were looked for and not found.
type NoWeightsError struct{ Rule string }

func (e *NoWeightsError) Error() string {
	return "its weights are missing: " + e.Rule + " (--weights FILE names them; --weights random makes values up, with which it can be compiled, run and timed)"
}

// NoWeights is the error of a format that does not find the weights of a model.
func NoWeights(rule string, args ...any) error { return &NoWeightsError{fmt.Sprintf(rule, args...)} }

// locate is the file of weights: what w names, or what find finds. With a NoWeightsError the model can be read all the same.
func (w Weights) locate(path string, find func(path string) (string, error)) (string, error) {
	switch {
	case w.MadeUp:
		return "", &NoWeightsError{}
	case w.Path != "":
		return w.Path, nil
	}
	return find(path)
}

// Without makes m, whose weights are missing, a model that tells so when it is imported or, where they are to be made up, notes it.
func (w Weights) Without(m *Model, missing *NoWeightsError) {
	if !w.MadeUp {
		m.Err = missing
		return
	}
	m.Notes = append(m.Notes, "weights are made up (--weights random): times are those of the network, results mean nothing")
}

// ReadWithWeights reads a model that is a text at path with weights in another file, which w names or find finds. The weights stay mapped
// until the model is closed; of the text nothing may be kept. read gets nil for weights that are missing, for which it makes up
// params; the model can be looked at then, and imported only where w says so. An error is about the file that is at fault.
func ReadWithWeights(path string, w Weights, find func(path string) (string, error), read func(text, weights []byte) (*Model, error)) (*Model, error) {
	text, err := Map(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer Unmap(text)
	file, err := w.locate(path, find)
	missing, isMissing := errors.AsType[*NoWeightsError](err)
	if isMissing {
		m, err := read(text, nil)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		w.Without(m, missing)
		return m, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	weights, err := Map(file)
	if err != nil {
		return nil, fmt.Errorf("read %s, the weights of %s: %w", file, path, err)
	}
	if weights == nil {
		weights = []byte{}
	}
	m, err := read(text, weights)
	if err != nil {
		if _, alone := read(text, nil); alone == nil {
			path = fmt.Sprintf("%s, the weights of %s", file, path)
		}
		return nil, fmt.Errorf("read %s: %w", path, errors.Join(err, Unmap(weights)))
	}
	m.Files = func() []string { return []string{file} }
	m.Close = func() error { return Unmap(weights) }
	return m, nil
}

// MadeUp is a param for weights that are missing. Floats depend on its name and shape alone, and keep the scale of what goes
// through a network: those of two and more axes have the variance 2/n of He et al., "Delving Deep into Rectifiers" (2015), n
// being the elements behind the first axis. Vectors are within [0.5, 1.5): they may be variances or scales. Integers are 0.
func MadeUp(name string, t types.Tensor) Param {
	t.Shape = slices.Clone(t.Shape)
	p := Param{Name: name, Value: func(b *compose.Builder) (v *graph.Value, err error) {
		err = compose.Try(func() { v = madeUp(b, name, t) })
		return v, err
	}}
	if t.Check() == nil {
		p.Elements, p.Bytes = int64(t.Elements()), int64(t.Bytes())
	}
	return p
}

// MadeUp is a value of float32 like that of the param.
func (c *Call) MadeUp(name string, shape ...int) *graph.Value {
	return madeUp(c.Builder, name, types.Of(types.F32, shape...))
}

func madeUp(b *compose.Builder, name string, t types.Tensor) *graph.Value {
	x := b.Zeros(t.DType, t.Shape...)
	if !t.DType.IsFloat() {
		return compose.Const(x)
	}
	h := fnv.New64a()
	fmt.Fprint(h, name, t.Shape)
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	center, half := 1.0, 0.5
	if len(t.Shape) > 1 {
		center, half = 0, math.Sqrt(6/float64(max(1, types.Count(t.Shape[1:]))))
	}
	for i := range x.Len() {
		x.SetFloat(i, center+half*(2*r.Float64()-1))
	}
	return compose.Const(x)
}
