package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

var controlRows = []row{{"IF", ifElse}, {"WHILE", while}}

func ifElse(c *call) values {
	return c.Branch(c.X(0), "then_subgraph_index", "else_subgraph_index", c.In[1:])
}

// while runs the body as long as the condition, a graph too, holds of the values it carries.
func while(c *call) values {
	condition, body := c.Body("cond_subgraph_index"), c.Body("body_subgraph_index")
	goes := func(carried values) *graph.Value {
		out := c.Inline(condition, carried)
		if len(out) != 1 {
			compose.Fail("the condition gives %d results", len(out))
		}
		return out[0]
	}
	carried := c.All()
	if len(body.Outputs) != len(carried) {
		compose.Fail("the body gives %d results of %d", len(body.Outputs), len(carried))
	}
	return c.RunLoop(frontend.Loop{Condition: goes(carried), Carried: carried, Body: func(in []*graph.Value) []*graph.Value {
		out := c.Inline(body, in[2:])
		return append(values{goes(out)}, out...)
	}})
}
