package compile

import (
	"context"
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/plan"
	"lathe/internal/records"
	"lathe/internal/toolchain"
)

// A Session is a network that is compiled again and again by other decisions on its kernels. It is taken up to its plan of memory once. Its
// methods may not be called at once.
type Session struct {
	job     *job
	network *network
	program *program
	mem     *plan.Plan
	machine *toolchain.Machine
	tasks   []*task
	relief  map[int]choice.Point
	objects map[string]toolchain.Object // of run functions, by text
}

// A Task is a kernel of the network with all steps that compute the same: what a point is for. Kernels inside of loops and branches
// are none.
type Task struct {
	Key     records.Key // without the number of workers
	Kernels []string    // names
	Steps   []TaskStep
	Step    bundle.Step // of the first
}

// A TaskStep is a top-level step of the network's run function that a task computes.
type TaskStep struct {
	Index   int // among the manifest's steps
	Results []bundle.Place
	InPlace []bundle.Place // operands that it writes over
	// Window is the step from which on all up to this one touch so much memory that this one finds its constants where it does in a run.
	// They can be run again with Kept, which some of them write over, as it was before.
	Window int
	Kept   []bundle.Place
	// Near and NearKept are the same for a window after which the cores' own caches hold what they do in a run, and L3 may hold more.
	Near     int
	NearKept []bundle.Place
	// Recent are operands that a core has in its cache when the step begins, the latest last.
	Recent []bundle.Place
}

type task struct {
	Task
	steps []*step
}

// OpenSession takes g, which it changes, to its plan of memory.
func OpenSession(ctx context.Context, g *graph.Graph, o Options) (*Session, error) {
	j, err := newJob(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Session{job: j, objects: map[string]toolchain.Object{}}
	if s.network, s.program, s.mem, err = j.plan(g); err != nil {
		return nil, err
	}
	if s.machine, err = toolchain.Open(toolchain.For(j.Target)); err != nil {
		return nil, err
	}
	s.findTasks()
	return s, nil
}

// findTasks groups the steps by what they compute, in their order.
func (s *Session) findTasks() {
	of := map[string]*task{}
	for i, st := range s.program.steps {
		if st.bodies != nil {
			continue
		}
		t := of[st.key]
		if t == nil {
			t = &task{Task: Task{Key: recordKey(st.kernel, s.job.Target), Step: st.describe()}}
			of[st.key] = t
			s.tasks = append(s.tasks, t)
		}
		t.steps = append(t.steps, st)
		t.Kernels = append(t.Kernels, st.name)
		t.Steps = append(t.Steps, s.taskStep(i, st))
	}
}

func (s *Session) taskStep(i int, st *step) TaskStep {
	at := TaskStep{Index: i, Recent: s.recent(i)}
	at.Window, at.Kept = s.window(i, s.inRun())
	at.Near, at.NearKept = s.window(i, s.emptying())
	for _, v := range st.Out {
		at.Results = append(at.Results, contextPlace(v, s.mem))
	}
	for _, v := range st.In {
		if from := contextPlace(v, s.mem); slices.ContainsFunc(at.Results, from.Overlaps) {
			at.InPlace = append(at.InPlace, from)
		}
	}
	return at
}

// contextPlace is where a value lies in a run context.
func contextPlace(v *graph.Value, mem *plan.Plan) bundle.Place {
	kinds := [...]bundle.PlaceKind{
		plan.Workspace: bundle.InWorkspace, plan.Input: bundle.InInput, plan.Output: bundle.InOutput,
		plan.Constant: bundle.InParam, plan.Symbol: bundle.InSymbols,
	}
	at := mem.Places[v]
	return bundle.Place{Kind: kinds[at.Kind], Index: at.Index, Offset: at.Offset, Bytes: v.Type.Bytes(), DType: v.Type.DType.String()}
}

// Tasks lists the tasks in the order of their first steps.
func (s *Session) Tasks() []Task {
	list := make([]Task, len(s.tasks))
	for i, t := range s.tasks {
		list[i] = t.Task
	}
	return list
}

// Asked are the decisions on the graph, by the name of a node.
func (s *Session) Asked() map[string][]choice.Decision { return s.network.asked }

// Evict is how many bytes a core reads to forget what its cache holds.
func (s *Session) Evict() int { return 2 * s.job.Target.L2 }

// Package compiles the network with points for some of the tasks, by their numbers. The bytes are those that Compile writes by the
// same points in Options.Choices, under the names of the tasks' kernels.
//
// Kernels whose loops spill get other schedules than by the rules: relief, by tasks without a point, says which decisions were taken
// otherwise.
func (s *Session) Package(points map[int]choice.Point) (r *Result, relief map[int]choice.Point, err error) {
	j := *s.job
	j.Choices = map[string]choice.Point{}
	for i, p := range points {
		for _, name := range s.tasks[i].Kernels {
			j.Choices[name] = p
		}
	}
	p, err := phase(&j, "kernels", func() (*program, error) { return build(&j, s.network) })
	if err != nil {
		return nil, nil, err
	}
	mem, err := phase(&j, "memory", func() (*plan.Plan, error) { return place(&j, s.network, p) })
	if err != nil {
		return nil, nil, err
	}
	contents, _, err := j.format.finish(&j, s.network, p, mem)
	if err != nil {
		return nil, nil, err
	}
	relief = map[int]choice.Point{}
	for i, t := range s.tasks {
		if f := p.steps[t.Steps[0].Index].function; points[i] == nil && f.relief != nil {
			relief[i] = f.relief
		}
	}
	return &Result{Contents: *contents, format: j.format}, relief, nil
}

// Relieve makes what Package told of the network without points the base of what Build is given.
func (s *Session) Relieve(relief map[int]choice.Point) { s.relief = relief }
