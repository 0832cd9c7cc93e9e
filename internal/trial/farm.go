package trial

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/child"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/executor"
	machine "lathe/internal/host"
	"lathe/internal/measure"
	"lathe/internal/records"
	"lathe/internal/tune"
)

// Limits of children.
const (
	builderGrowth = 1 << 30          // bytes that a builder takes beside what it took when it had read the network, until it is replaced
	builderUses   = 500              // candidates of a builder
	openLimit     = 30 * time.Minute // for reading and compiling a network
	mostLoaded    = 1000             // candidates that a measurer has loaded, until it is replaced
)

// Options say how trials are carried out.
type Options struct {
	Network  []byte // what builders read
	Program  string // that is started for children
	Builder  []string
	Measurer []string
	Builders int           // at once; 0: as many as the machine has room for
	Workers  int           // of use; 0: as the machine allows
	Timeout  time.Duration // of a candidate, to be built or run
	Pairs    int           // of a candidate at most while searching; 0: as many as decide
}

// leastLimit is the time for an answer about candidates, beside that for each of them.
var leastLimit = 10 * time.Second

// A Farm has the children of one tuning. It is a tune.Builder and a tune.Measurer.
type Farm struct {
	Options
	folder   string
	opening  opening
	builders []*station
	tasks    []compile.Task
	asked    map[string][]choice.Decision
	info     *bundle.Manifest
	host     measure.Host
	digests  []string // of the tasks' own code
	sizes    []int    // and its bytes

	cores               *cores
	mu                  sync.Mutex
	codes               map[string]candidate  // by library
	done                map[string]tune.Built // what was built, by task and point
	objects             map[string]string     // libraries, by task and digest
	parts               *measurer
	all                 *measurer
	ids                 int
	tuned               string               // the package of the last verdict
	points              map[int]choice.Point // that it is of
	opened              int                  // pairs of packages
	compiling, starting time.Duration        // how long it took to compile the network, and to open it
	last                [2][]float64         // times of the last verdict
}

// A station is where a builder sits.
type station struct {
	process *child.Process[question, answer]
	prefix  string
	uses    int
	limit   int64 // bytes
}

// Open starts builders and has the network compiled as the rules have it.
func Open(ctx context.Context, o Options) (*Farm, error) {
	f := &Farm{Options: o, codes: map[string]candidate{}, done: map[string]tune.Built{}, objects: map[string]string{}}
	var err error
	if f.folder, err = os.MkdirTemp("", "lathe-tune-"); err != nil {
		return nil, err
	}
	if err := f.open(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Farm) open(ctx context.Context) error {
	if f.Builders <= 0 {
		f.Builders = goruntime.GOMAXPROCS(0)
	}
	f.cores = newCores(machine.Cores())
	f.opening = opening{Network: f.Network, Folder: f.folder}
	first, from := &station{prefix: "a"}, time.Now()
	f.builders = []*station{first}
	opened, err := f.seat(ctx, first)
	if err != nil {
		return err
	}
	f.tasks, f.asked, f.host.Evict = opened.Tasks, opened.Asked, opened.Evict
	f.host.Package = filepath.Join(f.folder, "host.tar")
	a, err := first.process.Ask(ctx, question{Pack: &packing{Path: f.host.Package, Walk: filepath.Join(f.folder, "walk.so")}}, openLimit)
	if err != nil {
		return err
	}
	f.compiling = time.Since(from)
	f.info, f.opening.Relief, f.host.Walk, f.host.Steps = a.Info, a.Host.Relief, a.Host.Walk, a.Host.Steps
	first.process.Close() // it does not know of relief, and has grown
	for i := range f.Builders - 1 {
		f.builders = append(f.builders, &station{prefix: string(rune('b'+i%25)) + fmt.Sprint(i)})
	}
	first.process = nil
	return f.own(ctx)
}

// own builds the tasks' own kernels as variants.
func (f *Farm) own(ctx context.Context) error {
	list := make([]tune.Candidate, len(f.tasks))
	for i := range f.tasks {
		list[i].Task = i
	}
	built, err := f.Build(ctx, list)
	if err != nil {
		return err
	}
	f.host.Workers = f.Workers
	for i, b := range built {
		if b.Fault != records.None {
			return fmt.Errorf("kernel %s: %s", f.tasks[i].Kernels[0], b.Message)
		}
		t := measure.Task{Own: f.codes[b.Object].Code, Tolerance: tolerance(f.tasks[i].Step.Rule)}
		for _, s := range f.tasks[i].Steps {
			t.Steps = append(t.Steps, measure.Step(s))
		}
		f.host.Tasks = append(f.host.Tasks, t)
		f.digests = append(f.digests, f.codes[b.Object].Digest)
		f.sizes = append(f.sizes, b.Code)
	}
	return nil
}

// tolerance of a kernel's float32 results, relative L2.
func tolerance(rule string) float64 {
	if rule == "winograd" {
		return 5e-5
	}
	return 1e-5
}

// Info is the manifest of the network as the rules have it.
func (f *Farm) Info() *bundle.Manifest { return f.info }

// Kernels lists the tasks.
func (f *Farm) Kernels() []compile.Task { return f.tasks }

// Asked are the decisions on the graph, by the name of a node.
func (f *Farm) Asked() map[string][]choice.Decision { return f.asked }

// Costs are about the times that a package of the network takes to be made, and that opening two of them takes.
func (f *Farm) Costs() (packing, opening time.Duration) { return f.compiling, 2 * f.starting }

// Close ends the children and removes what they wrote.
func (f *Farm) Close() {
	for _, s := range f.builders {
		if s.process != nil {
			s.process.Close()
		}
	}
	for _, m := range []*measurer{f.parts, f.all} {
		if m != nil && m.process != nil {
			m.process.Close()
		}
	}
	os.RemoveAll(f.folder)
}

// seat starts a builder at a station.
func (f *Farm) seat(ctx context.Context, s *station) (answer, error) {
	p, err := child.Start[question, answer](child.Command{Path: f.Program, Args: f.Builder})
	if err != nil {
		return answer{}, err
	}
	o := f.opening
	o.Prefix = fmt.Sprintf("%s-%d-", s.prefix, time.Now().UnixNano())
	a, err := p.Ask(ctx, question{Open: &o}, openLimit)
	if err != nil {
		p.Close()
		return answer{}, err
	}
	s.process, s.uses, s.limit = p, 0, p.Resident()+builderGrowth
	return a, nil
}

// Build compiles candidates, on as many builders as there are.
func (f *Farm) Build(ctx context.Context, list []tune.Candidate) ([]tune.Built, error) {
	out := make([]tune.Built, len(list))
	order := f.longestFirst(list)
	sorted := make([]tune.Candidate, len(list))
	for k, i := range order {
		sorted[k] = list[i]
	}
	k := 0
	for b, err := range f.Stream(ctx, sorted) {
		if err != nil {
			return out, err
		}
		out[order[k]] = b
		k++
	}
	return out, nil
}

// Stream compiles candidates and yields them in the order of list, while builders go on with those behind.
func (f *Farm) Stream(ctx context.Context, list []tune.Candidate) iter.Seq2[tune.Built, error] {
	out, errs, done := make([]tune.Built, len(list)), make([]error, len(list)), make([]chan struct{}, len(list))
	for i := range done {
		done[i] = make(chan struct{})
	}
	var next atomic.Int64 // the first that no builder has taken
	leave := func() { next.Store(int64(len(list))) }
	var wg sync.WaitGroup
	for _, s := range f.builders {
		wg.Go(func() {
			for {
				i := int(next.Add(1) - 1)
				if i >= len(list) {
					return
				}
				f.cores.build()
				out[i], errs[i] = f.build(ctx, s, list[i])
				f.cores.built()
				if errs[i] != nil {
					leave() // nobody comes to those behind it
				}
				close(done[i])
			}
		})
	}
	return func(yield func(tune.Built, error) bool) {
		defer wg.Wait()
		defer leave()
		for i := range list {
			<-done[i]
			if !yield(out[i], errs[i]) || errs[i] != nil {
				return
			}
		}
	}
}

// code is the code of a library that was built, while builders add others.
func (f *Farm) code(object string) executor.VariantInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.codes[object].Code
}

// longestFirst is the order in which candidates are built: no builder is to begin with a long one when the others have ended.
func (f *Farm) longestFirst(list []tune.Candidate) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	if len(f.sizes) > 0 { // else they are the tasks' own
		slices.SortStableFunc(order, func(a, b int) int { return f.sizes[list[b].Task] - f.sizes[list[a].Task] })
	}
	return order
}

// build compiles one candidate. A builder that ends over it is replaced for the next one.
func (f *Farm) build(ctx context.Context, s *station, c tune.Candidate) (tune.Built, error) {
	id := identity(c)
	f.mu.Lock()
	b, again := f.done[id]
	b.Same = again && f.same(c.Task, f.codes[b.Object]) // not yet known when the host's own was built
	f.mu.Unlock()
	if again {
		return b, nil
	}
	b = tune.Built{Candidate: c}
	if s.process == nil {
		if _, err := f.seat(ctx, s); err != nil {
			return b, err
		}
	}
	start := time.Now()
	a, err := s.process.Ask(ctx, question{Build: &build{c.Task, c.Point}}, f.limit(1))
	if ctx.Err() != nil {
		s.process = nil
		return b, ctx.Err()
	}
	if death, ok := errors.AsType[*child.Death](err); ok {
		s.process = nil
		b.Fault, b.Message, b.Took = records.CompileHost, death.Cause, time.Since(start)
		if death.Silent {
			b.Fault = records.BuildTimeout
		}
		return b, nil
	}
	if err != nil {
		return b, err
	}
	if s.uses++; s.uses >= builderUses || s.process.Resident() > s.limit {
		s.process.Close()
		s.process = nil
	}
	got := a.Built
	b.Taken, b.Asked, b.Cycles, b.Spills, b.Code = got.Taken, got.Asked, got.Cycles, got.Spills, got.Size
	b.Object, b.Fault, b.Message, b.Took = got.Code.Path, got.Fault, got.Message, got.Took
	b.Same = f.same(c.Task, got)
	if b.Fault == records.None {
		f.mu.Lock()
		if key := fmt.Sprint(c.Task, got.Digest); f.objects[key] == "" {
			f.objects[key], f.codes[b.Object] = b.Object, got
		} else {
			os.Remove(b.Object)
			b.Object = f.objects[key]
		}
		f.done[id] = b
		f.mu.Unlock()
	}
	return b, nil
}

// same reports the code of the network itself.
func (f *Farm) same(task int, c candidate) bool {
	return task < len(f.digests) && c.Digest == f.digests[task]
}

// limit is the time for an answer about n candidates.
func (f *Farm) limit(n int) time.Duration { return leastLimit + time.Duration(n)*f.Timeout }

// identity is a text that equal candidates share.
func identity(c tune.Candidate) string { return fmt.Sprint(c.Task, map[string]string(c.Point)) } // fmt sorts keys

// Assembly is the kernel of a task by a point as text.
func (f *Farm) Assembly(ctx context.Context, c tune.Candidate) (string, error) {
	s := f.builders[0]
	if s.process == nil {
		if _, err := f.seat(ctx, s); err != nil {
			return "", err
		}
	}
	a, err := s.process.Ask(ctx, question{Text: &build{c.Task, c.Point}}, f.limit(1))
	if _, died := errors.AsType[*child.Death](err); died || ctx.Err() != nil {
		s.process = nil
	}
	return a.Text, err
}

// whole are points with all of what was decided by them, as they must be given to a compiler that relieves kernels.
func (f *Farm) whole(ctx context.Context, points map[int]choice.Point) (map[int]choice.Point, error) {
	all := map[int]choice.Point{}
	for i, p := range points {
		c := tune.Candidate{Task: i, Point: p}
		built, err := f.Build(ctx, []tune.Candidate{c})
		if err != nil {
			return nil, err
		}
		if built[0].Fault != records.None {
			return nil, fmt.Errorf("kernel %s: %s", f.tasks[i].Kernels[0], built[0].Message)
		}
		all[i] = built[0].Taken
	}
	return all, nil
}

// Pack writes the network's package with points for some tasks, and returns its manifest.
func (f *Farm) Pack(ctx context.Context, points map[int]choice.Point, path string) (*bundle.Manifest, error) {
	all, err := f.whole(ctx, points)
	if err != nil {
		return nil, err
	}
	s := &station{prefix: "p"}
	if _, err := f.seat(ctx, s); err != nil {
		return nil, err
	}
	defer s.process.Close()
	a, err := s.process.Ask(ctx, question{Pack: &packing{Points: all, Path: path}}, openLimit)
	return a.Info, err
}
