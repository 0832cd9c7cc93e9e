package compile

import (
	"context"
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/choice"
	"lathe/internal/codegen/llvm"
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
	walk    walk
	machine *toolchain.Machine
	tasks   []*task
	relief  map[int]choice.Point
	objects map[string]toolchain.Object // of run functions, by text
}

// A Task is a kernel of the network with all steps that compute the same: what a point is for. Kernels of regions that external code
// generators may compute are none.
type Task struct {
	Key     records.Key // without the number of workers
	Kernels []string    // names
	Steps   []TaskStep
	Step    bundle.Step // of the first
}

// A TaskStep is a step that a task computes, in a loop of one iteration.
type TaskStep struct {
	Index   int // in the walk through the network
	Top     int // among the manifest's steps: itself, or the region that it is in
	Calls   int // in a run; of loops that end by what they compute, and of branches, in as many iterations as are known
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
	steps      []*walked
	translated map[string]*translated // by digest
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
	s.walk = walkOf(s.program, s.mem)
	s.findTasks()
	return s, nil
}

// findTasks groups the steps by what they compute, in their order.
func (s *Session) findTasks() {
	of := map[string]*task{}
	for i, st := range s.walk {
		if st.calls == 0 {
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
		t.Steps = append(t.Steps, s.taskStep(i))
	}
}

func (s *Session) taskStep(i int) TaskStep {
	st := s.walk[i]
	at := TaskStep{Index: i, Top: st.top, Calls: st.calls, Recent: s.recent(i), Results: st.places(st.Out)}
	at.Window, at.Kept = s.window(i, s.inRun())
	at.Near, at.NearKept = s.window(i, s.emptying())
	for _, from := range st.places(st.In) {
		if slices.ContainsFunc(at.Results, from.Overlaps) {
			at.InPlace = append(at.InPlace, from)
		}
	}
	return at
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
func (s *Session) Package(points map[int]choice.Point) (*Result, error) {
	j := s.by(points)
	p, mem, err := s.planned(j)
	if err != nil {
		return nil, err
	}
	contents, _, err := j.format.finish(j, s.network, p, mem)
	if err != nil {
		return nil, err
	}
	return &Result{Contents: *contents, format: j.format}, nil
}

// A Host is the network without points, in which candidates are measured.
type Host struct {
	*Result
	// Relief says by tasks which decisions were taken otherwise than by the rules, since loops spilled.
	Relief map[int]choice.Point
	// Walk is a library that exports WalkSymbol, which is called as the package's run function and whose steps are those of the walk; nil: the
	// network has no regions, and its own steps are the walk.
	Walk       []byte
	WalkSymbol string
	Scratch    int // of the walk, bytes for each worker
	Steps      int // of the walk
}

// Host compiles the network without points.
func (s *Session) Host() (*Host, error) {
	j := s.by(nil)
	p, mem, err := s.planned(j)
	if err != nil {
		return nil, err
	}
	contents, code, err := j.format.finish(j, s.network, p, mem)
	if err != nil {
		return nil, err
	}
	of := map[string]*step{}
	for _, k := range p.kernels() {
		of[k.name] = k
	}
	h := &Host{Result: &Result{Contents: *contents, format: j.format}, Relief: map[int]choice.Point{}, Steps: len(s.walk), Scratch: contents.Manifest.Scratch}
	for i, t := range s.tasks {
		if relief := of[t.Kernels[0]].relief; relief != nil {
			h.Relief[i] = relief
		}
	}
	if len(s.walk) == len(p.steps) {
		return h, nil
	}
	run := &llvm.Run{Symbol: j.symbol("walk"), Target: j.Target, FlushDenormals: j.Denormals == DenormalsFlush, Steps: walkOf(p, mem).calls(j)}
	var kernels []toolchain.Object
	for _, t := range code.kernels {
		kernels = append(kernels, t.object)
	}
	h.WalkSymbol = run.Symbol
	h.Walk, err = s.link(kernels, run.Texts(), run.Symbol)
	return h, err
}

// by is the session's job with points.
func (s *Session) by(points map[int]choice.Point) *job {
	j := *s.job
	j.Choices = map[string]choice.Point{}
	for i, p := range points {
		for _, name := range s.tasks[i].Kernels {
			j.Choices[name] = p
		}
	}
	return &j
}

// planned takes the network to a plan of memory anew.
func (s *Session) planned(j *job) (*program, *plan.Plan, error) {
	p, err := phase(j, "kernels", func() (*program, error) { return build(j, s.network) })
	if err != nil {
		return nil, nil, err
	}
	mem, err := phase(j, "memory", func() (*plan.Plan, error) { return place(j, s.network, p) })
	return p, mem, err
}

// Relieve makes what Host told of the network the base of what Build is given.
func (s *Session) Relieve(relief map[int]choice.Point) { s.relief = relief }
