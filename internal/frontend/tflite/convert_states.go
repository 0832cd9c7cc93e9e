package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
)

// stateRows are the operators on resources, whose handles states has taken away.
var stateRows = []row{
	{"CALL_ONCE", none}, {"VAR_HANDLE", one(variable)}, {"READ_VARIABLE", one(variable)}, {"ASSIGN_VARIABLE", one(variable)},
}

func none(*call) values { return nil }

// variable is the value that is read or assigned.
func variable(c *call) *graph.Value {
	c.Ignore("container", "shared_name")
	if len(c.In) != 1 || c.In[0] == nil {
		compose.Fail("a variable in the body of control flow, or of no graph, is not supported")
	}
	return c.In[0]
}
