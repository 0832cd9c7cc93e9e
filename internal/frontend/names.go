package frontend

import (
	"fmt"

	"lathe/internal/graph"
)

// An env maps the names of one model graph to values; names it does not have are those of the graph around it.
type env struct {
	around *env
	values map[string]*graph.Value
}

func (e *env) lookup(name string) *graph.Value {
	for ; e != nil; e = e.around {
		if v, ok := e.values[name]; ok {
			return v
		}
	}
	return nil
}

// bind gives a value its name in the model. In the graph it keeps the first name it gets; where another value has that
// name, as in unrolled loops, a number follows.
func (imp *importer) bind(e *env, name string, v *graph.Value) {
	if name == "" {
		return
	}
	e.values[name] = v
	if v.Name == "" && !imp.isList(v) {
		v.Name = imp.fresh(name)
	}
}

func (imp *importer) fresh(name string) string {
	got := name
	for imp.taken[got] {
		imp.uses[name]++
		got = fmt.Sprintf("%s:%d", name, imp.uses[name])
	}
	imp.taken[got] = true
	return got
}
