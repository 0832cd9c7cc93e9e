package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lathe/internal/choice"
)

// A Start is what a line of a log of TVM says about tiles: AutoTVM's entities by their names, and the innermost splits of Ansor's steps. Its
// time is that of other code, and only orders starts of one kernel.
type Start struct {
	Writer   string
	Task     string
	Shapes   [][]int // of operands, in whatever layout they had
	Rows     int     // innermost tile along a row of the result; 0: unknown
	Channels int     // innermost tile of output channels, elements
	Steps    int     // innermost tile of the reduction
	Seconds  float64
	Passed   []string // names of what the log says beside, which is no decision here
}

// Limits of lines of TVM: operands of a task, axes, steps of a schedule.
const (
	mostOperands = 64
	mostAxes     = 16
	mostSteps    = 4096
	longestAxis  = 1 << 30
)

// Applicable is an error for what cannot be compiled with: TVM's logs are of TVM's schedules.
func (c *Contents) Applicable() error {
	if len(c.Foreign) == 0 {
		return nil
	}
	return errors.New("records of " + strings.Join(slices.Sorted(maps.Keys(c.Foreign)), ", ") + " say how TVM schedules (lathe tune --tuning-records starts from them)")
}

// foreign takes in a line of AutoTVM (v 0.1, version 0.2) or Ansor (v "v0.6" and the like).
func (c *Contents) foreign(text []byte, v, version json.RawMessage) bool {
	var s Start
	var err error
	switch {
	case version != nil:
		s, err = autoTVM2(text)
		s.Writer = "AutoTVM " + string(version)
	case v[0] == '"':
		s, err = ansor(text)
		s.Writer = "Ansor " + strings.Trim(string(v), `"`)
	default:
		s, err = autoTVM1(text)
		s.Writer = "AutoTVM " + string(v)
	}
	if err != nil || len(s.Writer) > 32 {
		return false
	}
	if c.Foreign == nil {
		c.Foreign = map[string]int{}
	}
	c.Foreign[s.Writer]++
	if s.Shapes != nil && (s.Rows > 0 || s.Channels > 0) && s.Seconds > 0 {
		c.Starts = append(c.Starts, s)
	}
	return true
}

// tuple reads an array into its parts, of which there are at least as many as into; what is nil is left out.
func tuple(text json.RawMessage, into ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	if len(list) < len(into) {
		return fmt.Errorf("%d of %d parts", len(list), len(into))
	}
	for i, v := range into {
		if v != nil {
			if err := json.Unmarshal(list[i], v); err != nil {
				return err
			}
		}
	}
	return nil
}

// autoTVM2 reads {"input": [target, task, args, kwargs], "config": {"entity": [[name, kind, value]]}, "result": [[seconds], error,...]}.
func autoTVM2(text []byte) (s Start, err error) {
	var line struct {
		Input  json.RawMessage `json:"input"`
		Config struct {
			Entity []json.RawMessage `json:"entity"`
		} `json:"config"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return s, err
	}
	var args []json.RawMessage
	if err := tuple(line.Input, nil, &s.Task, &args); err != nil {
		return s, err
	}
	s.shapes(args)
	s.entities(line.Config.Entity)
	return s, s.result(line.Result)
}

// autoTVM1 reads {"i": [target, task, args, kwargs, workload, {"e": [[name, kind, value]]}], "r": [[seconds], error, ...]}.
func autoTVM1(text []byte) (s Start, err error) {
	var line struct {
		I json.RawMessage `json:"i"`
		R json.RawMessage `json:"r"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return s, err
	}
	var args []json.RawMessage
	var config struct {
		E []json.RawMessage `json:"e"`
	}
	if err := tuple(line.I, nil, &s.Task, &args, nil, nil, &config); err != nil {
		return s, err
	}
	s.shapes(args)
	s.entities(config.E)
	return s, s.result(line.R)
}

// shapes are those of arguments ["TENSOR", [extents], type].
func (s *Start) shapes(args []json.RawMessage) {
	for _, a := range args[:min(len(args), mostOperands)] {
		var kind string
		var shape []int
		if tuple(a, &kind, &shape) == nil && kind == "TENSOR" && legal(shape) {
			s.Shapes = append(s.Shapes, logical(shape))
		}
	}
}

func legal(shape []int) bool {
	return len(shape) > 0 && len(shape) <= mostAxes && !slices.ContainsFunc(shape, func(n int) bool { return n < 1 || n > longestAxis })
}

// logical puts blocks of channels, NCHWxc and OIHWxiyo, back to their axes.
func logical(shape []int) []int {
	switch len(shape) {
	case 5:
		return []int{shape[0], shape[1] * shape[4], shape[2], shape[3]}
	case 6:
		return []int{shape[0] * shape[5], shape[1] * shape[4], shape[2], shape[3]}
	}
	return shape
}

// AutoTVM's names of what its templates split (topi/x86 and topi/arm_cpu).
var (
	rowEntities     = []string{"tile_ow", "tile_y"}
	channelEntities = []string{"tile_oc", "tile_co", "tile_x"}
	stepEntities    = []string{"tile_ic", "tile_ci", "tile_k"}
)

// entities takes the innermost factor of each split that is known, and the names of those that are not.
func (s *Start) entities(list []json.RawMessage) {
	for _, e := range list[:min(len(list), mostOperands)] {
		var name, kind string
		var factors []int
		if tuple(e, &name, &kind) != nil {
			continue
		}
		if kind != "sp" {
			s.Passed = append(s.Passed, name)
			continue
		}
		if tuple(e, nil, nil, &factors) != nil || len(factors) == 0 || factors[len(factors)-1] < 1 {
			continue
		}
		inner := factors[len(factors)-1]
		switch {
		case slices.Contains(rowEntities, name):
			s.Rows = inner
		case slices.Contains(channelEntities, name):
			s.Channels = inner
		case slices.Contains(stepEntities, name):
			s.Steps = inner
		default:
			s.Passed = append(s.Passed, name)
		}
	}
}

// PassedOver are the names of what starts say that is no decision here, each once.
func PassedOver(list []Start) []string {
	names := map[string]bool{}
	for _, s := range list {
		for _, name := range s.Passed {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// result reads [[seconds, ...], error, ...]. A trial that failed has no time.
func (s *Start) result(text json.RawMessage) error {
	var seconds []float64
	var fault int
	if err := tuple(text, &seconds, &fault); err != nil {
		return err
	}
	if fault == 0 && len(seconds) > 0 {
		s.Seconds = slices.Min(seconds)
	}
	return nil
}

// ansor reads {"i": [[workload, target, ...], [[], steps]], "r": [[seconds], error, ...]}. The workload is a JSON text [function or digest,
// shapes...]; a step that splits is ["SP", stage, axis, extent, [lengths], from inside]. Loops of a tiled stage are split into four levels for
// what is computed and two for what is summed, by its structure of tiles SSRSRS.
func ansor(text []byte) (s Start, err error) {
	var line struct {
		I json.RawMessage `json:"i"`
		R json.RawMessage `json:"r"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return s, err
	}
	var task, state json.RawMessage
	if err := tuple(line.I, &task, &state); err != nil {
		return s, err
	}
	var workload string
	if err := tuple(task, &workload); err != nil {
		return s, err
	}
	var parts, steps []json.RawMessage
	if err := json.Unmarshal([]byte(workload), &parts); err != nil || len(parts) == 0 {
		return s, errors.New("the workload is no list")
	}
	if err := json.Unmarshal(parts[0], &s.Task); err != nil {
		return s, err
	}
	for _, p := range parts[1:min(len(parts), mostOperands)] {
		var shape []int
		if json.Unmarshal(p, &shape) == nil && legal(shape) {
			s.Shapes = append(s.Shapes, shape)
		}
	}
	if err := tuple(state, nil, &steps); err != nil {
		return s, err
	}
	s.splits(steps)
	return s, s.result(line.R)
}

// splits takes the innermost lengths of the last two axes that are computed, and of the first that is summed, of the first tiled stage.
func (s *Start) splits(steps []json.RawMessage) {
	tiled, computed := -1, []int(nil)
	for _, step := range steps[:min(len(steps), mostSteps)] {
		var kind string
		var stage, axis int
		var lengths []int
		if tuple(step, &kind, &stage, &axis, nil, &lengths) != nil || kind != "SP" || len(lengths) == 0 || len(lengths) > mostAxes {
			continue
		}
		inner := lengths[len(lengths)-1]
		if tiled < 0 && len(lengths) == 3 {
			tiled = stage
		}
		switch {
		case stage != tiled || inner < 1:
		case len(lengths) == 3:
			computed = append(computed, inner)
		case len(lengths) == 1 && s.Steps == 0:
			s.Steps = inner
		}
	}
	if n := len(computed); n > 0 {
		s.Channels = computed[n-1]
		if n > 1 {
			s.Rows = computed[n-2]
		}
	}
}

// Fits reports whether the shapes of the start's first two operands are among these, in whatever order of axes.
func (s *Start) Fits(shapes [][]int) bool {
	if len(s.Shapes) < 2 {
		return false
	}
	for _, want := range s.Shapes[:2] {
		sorted := slices.Sorted(slices.Values(want))
		if !slices.ContainsFunc(shapes, func(have []int) bool { return slices.Equal(slices.Sorted(slices.Values(have)), sorted) }) {
			return false
		}
	}
	return true
}

// Point is the start in the words of a kernel that asks for these decisions, with vectors of so many elements: the tile with its rows
// and vectors, and as many steps where there are. It is nil where the kernel has no such tile.
func (s *Start) Point(asked []choice.Decision, lanes int) choice.Point {
	p := choice.Point{}
	for _, d := range asked {
		name, _, _ := strings.Cut(d.Name, "(")
		for i, v := range d.Values {
			var lines, rows, vecs int
			if n, _ := fmt.Sscanf(v.Text, "%d x %d x %d", &lines, &rows, &vecs); n == 2 {
				rows, vecs = lines, rows
			}
			fits := name == "tile" && s.Rows > 0 && rows == s.Rows && vecs > 0 && vecs == max(1, (s.Channels+lanes-1)/max(lanes, 1)) ||
				name == "steps" && v.Text == fmt.Sprint(s.Steps)
			if fits && i != d.Default {
				p[d.Name] = v.Text
				break
			}
		}
	}
	if len(p) == 0 {
		return nil
	}
	return p
}
