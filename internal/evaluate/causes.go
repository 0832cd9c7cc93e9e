package evaluate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/cpu"
	"lathe/internal/tool/explain"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// A Cause is something that makes a variant slower than it could be. The code is stable.
type Cause struct {
	Code  string   `json:"code"`
	Text  string   `json:"text"`
	Count int      `json:"count"`           // kernels, or nodes
	Nodes []string `json:"nodes,omitempty"` // some of them
	Share float64  `json:"share"`           // of the time of a run, 0 to 1
}

// String is the line of a log.
func (c Cause) String() string {
	at := ""
	if len(c.Nodes) > 0 {
		at = " (" + strings.Join(c.Nodes, ", ")
		if c.Count > len(c.Nodes) {
			at += ", ..."
		}
		at += ")"
	}
	return fmt.Sprintf("%s %s: %d, %.1f %% of the time%s", c.Code, c.Text, c.Count, 100*c.Share, at)
}

// evidence is what causes are looked for in: what the compiler chose, and what time each kernel took.
type evidence struct {
	*bundle.Manifest
	free    *bundle.Manifest // without the desired layout
	refused []Refusal
	kernels []kernel
	levels  map[string]int // of optimisation, from which on passes run
	missing []string       // features of this machine that the target lacks
}

// kernel is one of a package's, those in loops included, with its share of the time of a run.
type kernel struct {
	bundle.Step
	limit string
	share float64
}

// finders are the causes in the order of their codes.
var finders = []struct {
	code, doc string
	find      func(e *evidence) []Cause
}{
	{"W01", "a layout was asked for that the compiler would not have chosen", forcedLayout},
	{"W02", "an operator is not among --desired-layout-ops", missedOperator},
	{"W03", "axes are transposed by kernels of their own", transposes},
	{"W04", "ConvertLayout did not run, which would remove transposes", noConvertLayout},
	{"W05", "the machine has instructions that the target lacks", missingFeatures},
	{"W06", "a layer between quantised values computes with floats", floatLayers},
	{"W07", "kernels wait for memory", memoryBound},
	{"W08", "kernels have no schedule, and compute one element at a time", unscheduled},
	{"W09", "an external code generator does not take an operator", refused},
}

// explain looks for causes in a variant.
func (j *Job) explain(v *VariantReport, r *runner) error {
	p, err := r.profile(j, v.outcomes)
	if err != nil {
		return err
	}
	e := &evidence{Manifest: r.module.Info(), free: r.Free, refused: r.Refusals, levels: j.Levels}
	if err := e.weigh(p, r.module.Workers()); err != nil {
		return err
	}
	if here, err := cpu.This(); err == nil {
		for _, f := range here.Code(here.Set()) {
			if !slices.Contains(e.Target.Features, f) {
				e.missing = append(e.missing, f)
			}
		}
	}
	v.Causes = e.causes()
	v.Notes = append(v.Notes, e.Notes...)
	return nil
}

// weigh gives each kernel its share of the measured time. A loop's is divided among its body as the target's model expects.
func (e *evidence) weigh(p *runtime.Profile, workers int) error {
	x, err := explain.Explain(e.Manifest, workers)
	if err != nil {
		return err
	}
	sum := float64(p.Sum())
	var visit func(k explain.Kernel, share float64)
	visit = func(k explain.Kernel, share float64) {
		if len(k.Inside) == 0 {
			e.kernels = append(e.kernels, kernel{k.Step, k.Limit, share})
			return
		}
		inside := 0.0
		for _, b := range k.Inside {
			inside += b.Ms
		}
		for _, b := range k.Inside {
			part := 1 / float64(len(k.Inside))
			if inside > 0 {
				part = b.Ms / inside
			}
			visit(b, share*part)
		}
	}
	for i, k := range x.Kernels {
		share := 0.0
		if sum > 0 {
			share = float64(p.Steps[i].Median) / sum
		}
		visit(k, share)
	}
	return nil
}

func (e *evidence) causes() []Cause {
	var list []Cause
	for _, f := range finders {
		for _, c := range f.find(e) {
			c.Code = f.code
			list = append(list, c)
		}
	}
	return list
}

// count is a cause for the kernels that fit; there is none where none does.
func (e *evidence) count(text string, fits func(k kernel) bool) []Cause {
	c := Cause{Text: text}
	slowest := slices.Clone(e.kernels)
	slices.SortStableFunc(slowest, func(a, b kernel) int { return cmp.Compare(b.share, a.share) })
	for _, k := range slowest {
		if !fits(k) {
			continue
		}
		c.Count++
		c.Share += k.share
		if name := brief(k.label()); len(c.Nodes) < 3 && !slices.Contains(c.Nodes, name) {
			c.Nodes = append(c.Nodes, name)
		}
	}
	if c.Count == 0 {
		return nil
	}
	return []Cause{c}
}

// label is the model's name of what a kernel computes.
func (k kernel) label() string {
	if len(k.Nodes) > 0 {
		return k.Nodes[0]
	}
	return k.Name
}

// brief is a node's name without those of the nodes that a converter has joined to it, which TensorFlow Lite's puts before it.
func brief(label string) string {
	op, name, ok := strings.Cut(label, ":")
	if !ok {
		op, name = "", label
	}
	name = name[strings.LastIndexByte(name, ';')+1:]
	if !ok {
		return name
	}
	return op + ":" + name
}

func isConv(op string) bool {
	return strings.HasPrefix(op, "nn.conv") || strings.HasPrefix(op, "qnn.conv") || strings.HasPrefix(op, "nn.contrib_conv")
}

// convolution is the operator of a kernel that convolves, or empty.
func (k kernel) convolution() string {
	if i := slices.IndexFunc(k.Ops, isConv); i >= 0 {
		return k.Ops[i]
	}
	return ""
}

// layoutOf is how a type lies in memory: plain where the text says nothing.
func layoutOf(typ string) string {
	if _, layout, ok := strings.Cut(typ, ":"); ok {
		return layout
	}
	return "plain"
}

// dataLayouts are those of what a kernel reads first and writes.
func dataLayouts(s bundle.Step) string {
	if len(s.Reads) == 0 || len(s.Writes) == 0 {
		return ""
	}
	return layoutOf(s.Reads[0]) + " to " + layoutOf(s.Writes[0])
}

// forcedLayout compares every convolution with the same one where no layout was asked for.
func forcedLayout(e *evidence) []Cause {
	wanted := e.Options["desired-layout"]
	if wanted == "" || e.free == nil {
		return nil
	}
	chosen := map[string]string{}
	for _, s := range e.free.Steps {
		for _, n := range s.Nodes {
			chosen[n] = dataLayouts(s)
		}
	}
	return e.count("layout "+wanted+" was asked for, and the compiler would choose another for convolutions", func(k kernel) bool {
		free, ok := chosen[k.label()]
		return k.convolution() != "" && ok && free != dataLayouts(k.Step)
	})
}

// missedOperator names the convolutions that a desired layout does not reach, by operator.
func missedOperator(e *evidence) []Cause {
	listed := e.Options["desired-layout-ops"]
	if e.Options["desired-layout"] == "" || listed == "" {
		return nil
	}
	var list []Cause
	var seen []string
	for _, k := range e.kernels {
		op := k.convolution()
		if op == "" || slices.Contains(seen, op) || slices.Contains(strings.Split(listed, ","), op) {
			continue
		}
		seen = append(seen, op)
		list = append(list, e.count(fmt.Sprintf("%s does not take layout %s; add %[1]s to --desired-layout-ops", op, e.Options["desired-layout"]), func(k kernel) bool { return k.convolution() == op })...)
	}
	return list
}

// moves are operators that compute nothing.
var moves = []string{"transpose", "layout_transform", "reshape", "squeeze", "expand_dims"}

// transposed reports whether a kernel does nothing but change the order of axes. Where a layout was asked for, bringing values into
// it counts too.
func (e *evidence) transposed(k kernel) bool {
	only := !slices.ContainsFunc(k.Ops, func(op string) bool { return !slices.Contains(moves, op) })
	return only && (slices.Contains(k.Ops, "transpose") || e.Options["desired-layout"] != "" && slices.Contains(k.Ops, "layout_transform"))
}

func transposes(e *evidence) []Cause {
	return e.count("axes are transposed by kernels of their own", e.transposed)
}

const convertLayout = "ConvertLayout"

func noConvertLayout(e *evidence) []Cause {
	level, err := strconv.Atoi(e.Options["opt-level"])
	disabled := slices.Contains(strings.Split(e.Options["disabled-pass"], ","), convertLayout)
	text := ""
	switch {
	case disabled:
		text = "ConvertLayout is disabled, and transposes are left"
	case err == nil && level < e.levels[convertLayout]:
		text = fmt.Sprintf("ConvertLayout runs from -O%d on, this is -O%d, and transposes are left", e.levels[convertLayout], level)
	default:
		return nil
	}
	return e.count(text, func(k kernel) bool { return slices.Contains(k.Ops, "transpose") })
}

func missingFeatures(e *evidence) []Cause {
	if len(e.missing) == 0 {
		return nil
	}
	return e.count("the target lacks what this machine has: "+spelling.First(e.missing, 5, " "), func(k kernel) bool { return k.FLOPs > 0 })
}

func memoryBound(e *evidence) []Cause {
	return e.count("moving data takes longer than computing with it", func(k kernel) bool { return k.limit == "memory" && !e.transposed(k) })
}

func unscheduled(e *evidence) []Cause {
	return e.count("kernels have no schedule and no vectors", func(k kernel) bool { return k.Rule == "serial" })
}
