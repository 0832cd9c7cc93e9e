package frontend

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"lathe/internal/dim"
	"lathe/internal/tool/spelling"
)

// A Symbol is a size that the model's inputs leave open under a name.
type Symbol struct {
	Name  string
	Size  int
	Given bool // by the options, or it follows from what they give; else the size is 1 because there has to be one
}

// Shapes are the shapes to import the inputs with.
type Shapes struct {
	Symbols []Symbol // in the order the inputs show them
	inputs  map[string][]int
	exprs   map[string]*dim.Expr // what the texts of declared shapes mean
	open    []openAxis           // axes without a name that nobody gives
	real    []Info
}

// Of is the shape of an input, nil where nothing says it.
func (s *Shapes) Of(input string) []int { return s.inputs[input] }

// openAxis is an axis of an input.
type openAxis struct {
	input string
	axis  int
}

// notGiven is how messages say where a size of 1 comes from.
const notGiven = "not given, so 1"

// ShapesOf finds the shapes of the inputs from what the model declares and the options give. Equal names are equal sizes,
// over all inputs; what is neither given nor follows is 1.
func ShapesOf(g *Graph, o Options) (*Shapes, error) {
	s := &Shapes{inputs: map[string][]int{}}
	for _, in := range g.Inputs {
		_, shaped := o.Shapes[in.Name]
		if _, fixed := o.Values[in.Name]; shaped || fixed || !in.Optional {
			s.real = append(s.real, in)
		}
	}
	if err := checkNames(s.real, o); err != nil {
		return nil, err
	}
	s.exprs = dim.Read(declaredTexts(g))
	equations, err := s.equations(o)
	if err != nil {
		return nil, err
	}
	found, err := dim.Solve(equations)
	if err != nil {
		return nil, err
	}
	if found, err = settle(found, equations); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, in := range s.real {
		for _, d := range in.Dims {
			for _, name := range s.symbolsOf(d) {
				if seen[name] {
					continue
				}
				seen[name] = true
				if _, ok := found.Sizes[name]; !ok {
					found.Sizes[name], found.Where[name] = 1, notGiven
				}
				s.Symbols = append(s.Symbols, Symbol{name, found.Sizes[name], found.Where[name] != notGiven})
			}
		}
	}
	for _, in := range s.real {
		if s.inputs[in.Name] != nil || !in.Ranked {
			continue
		}
		if err := s.declared(in, found.Sizes); err != nil {
			return nil, fmt.Errorf("input %q: %w", in.Name, err)
		}
	}
	return s, nil
}

// declaredTexts are the texts in the declared shapes of inputs, outputs and other values.
func declaredTexts(g *Graph) []string {
	return textsOf(textsOf(textsOf(nil, g.Inputs), g.Outputs), g.Values)
}

func textsOf(texts []string, infos []Info) []string {
	for _, v := range infos {
		for _, d := range v.Dims {
			texts = append(texts, d.Param)
		}
	}
	return texts
}

// symbolsOf are the names in a declared size.
func (s *Shapes) symbolsOf(d Dim) []string {
	if e := s.exprs[d.Param]; e != nil && !d.Known() {
		return e.Symbols()
	}
	return nil
}

// equations are what the options say about the sizes of names. The shapes that they give are noted.
func (s *Shapes) equations(o Options) ([]dim.Equation, error) {
	var list []dim.Equation
	known := map[string]bool{}
	for _, in := range s.real {
		for _, d := range in.Dims {
			for _, name := range s.symbolsOf(d) {
				known[name] = true
			}
		}
		shape, given := o.Shapes[in.Name]
		if v := o.Values[in.Name]; v != nil && (len(v.Shape) > 0 || in.Ranked && len(in.Dims) == 0) {
			if given && !slices.Equal(shape, v.Shape) {
				return nil, fmt.Errorf("input %q: its value has the shape %s, and the shape %s is given", in.Name, ShapeText(v.Shape), ShapeText(shape))
			}
			shape, given = v.Shape, true
		}
		if !given {
			continue
		}
		if in.Ranked && len(shape) != len(in.Dims) {
			return nil, fmt.Errorf("input %q: shape %s has %s, the model's %s has %d", in.Name, ShapeText(shape), spelling.Count(len(shape), "dimension"), dimsText(in.Dims), len(in.Dims))
		}
		s.inputs[in.Name] = append([]int{}, shape...)
		for i, d := range in.Dims {
			if e := s.exprs[d.Param]; e != nil && !d.Known() {
				list = append(list, dim.Equation{Expr: e, Size: shape[i], Where: fmt.Sprintf("input %q %s", in.Name, ShapeText(shape))})
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(o.Sizes)) {
		e := s.exprs[text]
		if e == nil {
			var err error
			if e, err = dim.Parse(text); err != nil {
				e = dim.Name(text)
			}
		}
		for _, name := range e.Symbols() {
			if !known[name] {
				return nil, fmt.Errorf("no input has a size %q%s; %s", name, spelling.Hint(name, slices.Sorted(maps.Keys(known))), sizesText(known))
			}
		}
		list = append(list, dim.Equation{Expr: e, Size: o.Sizes[text], Where: fmt.Sprintf("the given %s=%d", text, o.Sizes[text])})
	}
	return list, nil
}

// maxSettled bounds how many names that stand in equations with several unknowns are taken as 1 one after the other.
const maxSettled = 64

// settle takes names as 1 that stand in equations which do not give them, one at a time, so that the others follow.
func settle(found *dim.Solution, equations []dim.Equation) (*dim.Solution, error) {
	given := equations
	for range maxSettled {
		name, of := firstOpen(found, equations)
		if name == "" {
			return found, nil
		}
		equations = append(slices.Clip(equations), dim.Equation{Expr: dim.Name(name), Size: 1, Where: notGiven})
		next, err := dim.Solve(equations)
		if err != nil {
			return nil, fmt.Errorf("%s is %d by %s, from which %s does not follow: give it too, as in --input-shapes '%s=%d'",
				of.Expr, of.Size, of.Where, name, name, fitting(of, name, found.Sizes))
		}
		found = next
	}
	return nil, fmt.Errorf("the shapes that are given leave more than %s open: give sizes by name (there are %s)", spelling.Count(maxSettled, "size"), spelling.Count(len(given), "statement"))
}

// firstOpen is a name without a size in an equation, and that equation.
func firstOpen(found *dim.Solution, equations []dim.Equation) (string, dim.Equation) {
	for _, q := range equations {
		for _, name := range q.Expr.Symbols() {
			if _, ok := found.Sizes[name]; !ok {
				return name, q
			}
		}
	}
	return "", dim.Equation{}
}

// fitting is a size that makes an equation true, or 2.
func fitting(q dim.Equation, name string, sizes map[string]int) int {
	try := maps.Clone(sizes)
	for n := range 1 << 12 {
		try[name] = n
		if got, err := q.Expr.Eval(try); err == nil && got == q.Size {
			return n
		}
	}
	return 2
}

// declared evaluates the shape of an input that the options do not give.
func (s *Shapes) declared(in Info, sizes map[string]int) error {
	shape := make([]int, len(in.Dims))
	for i, d := range in.Dims {
		e := s.exprs[d.Param]
		switch {
		case d.Known():
			shape[i] = int(d.Value)
		case e == nil:
			shape[i] = 1
			s.open = append(s.open, openAxis{in.Name, i})
		default:
			n, err := e.Eval(sizes)
			if err != nil {
				return err
			}
			shape[i] = n
		}
	}
	s.inputs[in.Name] = shape
	return nil
}

// checkNames reports options for inputs that the model does not have.
func checkNames(real []Info, o Options) error {
	var names []string
	for _, in := range real {
		names = append(names, in.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Shapes)) {
		if !slices.Contains(names, name) {
			return noInput(name, names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Values)) {
		if slices.Contains(names, name) {
			continue
		}
		err := noInput(name, names)
		if slices.ContainsFunc(real, func(in Info) bool {
			return slices.ContainsFunc(in.Dims, func(d Dim) bool { return d.Param == name })
		}) {
			err = fmt.Errorf("%w; %s is a size: --input-shapes %s=N sets it", err, name, name)
		}
		return err
	}
	return nil
}

func noInput(name string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("the model has no input %q; it has none", name)
	}
	return errors.New("the model has no input " + fmt.Sprintf("%q", name) + spelling.Hint(name, names) + "; its inputs are " + quoteAll(names))
}
