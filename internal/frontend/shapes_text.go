package frontend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/dim"
	"lathe/internal/tool/spelling"
)

func sizesText(known map[string]bool) string {
	if len(known) == 0 {
		return "the inputs leave none open by name"
	}
	return "the inputs' are " + quoteAll(slices.Sorted(maps.Keys(known)))
}

// Note says which sizes are 1 since nobody gives them, and what to type to give others; "" when there are none.
func (s *Shapes) Note() string {
	var what []string
	for _, x := range s.Symbols {
		if !x.Given {
			what = append(what, x.Name)
		}
	}
	for _, a := range s.open {
		what = append(what, fmt.Sprintf("%s[%d]", a.input, a.axis))
	}
	if len(what) == 0 {
		return ""
	}
	are := "are"
	if len(what) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s %s not given and taken as 1 (set with --input-shapes '%s')", spelling.First(what, 8, ", "), are, s.Line())
}

// Line is a value of --input-shapes that says all sizes which the model leaves open, as they are: by name where the command
// line can name them.
func (s *Shapes) Line() string { return s.lineOf(s.open) }

// lineOf is Line, where the axes in open have no name.
func (s *Shapes) lineOf(open []openAxis) string {
	var parts []string
	whole, shows := map[string]bool{}, map[string]string{}
	for _, in := range slices.Backward(s.real) {
		for _, d := range in.Dims {
			for _, name := range s.symbolsOf(d) {
				shows[name] = in.Name
			}
		}
	}
	for _, x := range s.Symbols {
		if !strings.ContainsAny(x.Name, " \t\n,;=[]'") {
			parts = append(parts, fmt.Sprintf("%s=%d", x.Name, x.Size))
			continue
		}
		whole[shows[x.Name]] = true
	}
	for _, a := range open {
		whole[a.input] = true
	}
	for _, in := range s.real {
		if whole[in.Name] {
			parts = append(parts, in.Name+":"+ShapeText(s.inputs[in.Name]))
		}
	}
	return strings.Join(parts, " ")
}

// Text prints the sizes of a declared shape with the names that it leaves open: batch 3 2*seq ?. Without shapes, texts are
// as they stand in the file.
func (s *Shapes) Text(v Info) []string {
	if s == nil {
		s = &Shapes{exprs: dim.Read(textsOf(nil, []Info{v}))}
	}
	parts := make([]string, len(v.Dims))
	for i, d := range v.Dims {
		switch {
		case d.Known():
			parts[i] = fmt.Sprint(d.Value)
		case s.exprs[d.Param] != nil:
			parts[i] = s.exprs[d.Param].String()
		default:
			parts[i] = "?"
		}
	}
	return parts
}

// checkOutput compares the names in the declared shape of an output with what its operators give, -1 where the data decide.
// A declaration is a hint that tools leave behind: what differs is worth a note.
func (s *Shapes) checkOutput(o Info, shape []int) string {
	sizes := map[string]int{}
	for _, x := range s.Symbols {
		sizes[x.Name] = x.Size
	}
	for i := 0; len(o.Dims) == len(shape) && i < len(shape); i++ {
		e := s.exprs[o.Dims[i].Param]
		if o.Dims[i].Known() || e == nil || shape[i] < 0 {
			continue
		}
		if n, err := e.Eval(sizes); err == nil && n != shape[i] {
			return fmt.Sprintf("output %s: %s is %d where the model computes %d, so what it declares is not right", o.Name, e, n, shape[i])
		}
	}
	return ""
}

// ShapeText prints a shape: [1,3,224,224].
func ShapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(append([]int{}, shape...)), " ", ",")
}
