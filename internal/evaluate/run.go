package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/dataset"
	"lathe/internal/host"
	"lathe/internal/tensor"
	"lathe/internal/types"
	"lathe/runtime"
)

// block is how many samples a variant runs before the next one has its turn: enough to be warm, few enough for changes of the
// machine's clock to meet all variants alike.
const block = 16

// A runner is an open variant.
type runner struct {
	*Variant
	module  *runtime.Module
	input   []dataset.Input
	output  int  // that holds the scores
	hard    bool // it is the class itself
	integer bool // scores are integers, whose scale is not known
	scale   float64
	zero    int // of integer scores; scale is 0 where it is not known
	classes int
	records *records
}

// open opens the package of a variant and looks whether it classifies samples of the set.
func (j *Job) open(v *Variant) (*runner, error) {
	var options []runtime.Option
	if v.Threads > 0 {
		options = append(options, runtime.WithWorkers(v.Threads))
	}
	m, err := runtime.Open(v.Package, options...)
	if err != nil {
		return nil, err
	}
	r := &runner{Variant: v, module: m}
	if err := j.fit(r); err != nil {
		m.Close()
		return nil, err
	}
	return r, nil
}

// fit finds the output that holds the scores of classes, and opens the records.
func (j *Job) fit(r *runner) error {
	memory := r.module.Memory()
	if err := host.CheckMemory("the run", memory.Run+memory.Inputs, memory.String()); err != nil {
		return err
	}
	for _, in := range r.module.Inputs() {
		r.input = append(r.input, j.input(in))
	}
	outputs := r.module.Outputs()
	if j.Scores != "" {
		r.output = bundle.Named(outputs, j.Scores)
	} else if len(outputs) == 0 {
		r.output = -1
	}
	if r.output < 0 {
		return fmt.Errorf("there is no output %q", j.Scores)
	}
	out := outputs[r.output]
	n := types.Count(out.Shape)
	d, err := types.ParseDType(out.DType)
	if err != nil {
		return err
	}
	set := j.Set
	most := len(set.Classes)
	for _, x := range set.Samples {
		most = max(most, x.Class+1)
	}
	r.scale, r.zero = out.Scale, out.Zero
	r.integer = !d.IsFloat() && out.Scale == 0
	if r.hard = n == 1 && d.IsInt() && out.Scale == 0; r.hard {
		n = most
	}
	if r.classes = n; n < 2 || n > maxScores {
		return fmt.Errorf("output %q is %s%v: that is no list of scores (name the output with --scores)", out.Name, out.DType, out.Shape)
	}
	if most > n {
		return fmt.Errorf("output %q has %d classes, and the data set %d", out.Name, n, most)
	}
	sum, err := hashFile(r.Package)
	if err != nil {
		return err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %s %+v %+v %s %d %s", sum, set.Digest(), j.Settings, j.Raw, j.Scores, r.module.Workers(), host.CPUName()))
	r.records, err = openRecords(filepath.Join(j.Results, recordFolder, r.Name+".bin"), hex.EncodeToString(key[:16]), n)
	return err
}

// input is what a sample becomes for an input of a package.
func (j *Job) input(in runtime.TensorInfo) dataset.Input {
	return dataset.Input{Name: in.Name, DType: in.DType, Shape: in.Shape, Scale: in.Scale, Zero: in.Zero, Mean: in.Mean, Std: in.Std, Raw: j.Raw}
}

// maxScores bounds the classes of a network.
const maxScores = 1 << 16

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (r *runner) close() {
	r.module.Close()
	if r.records != nil {
		r.records.close()
	}
}

// runAll runs what is left of the samples, block by block, all variants in turns. The order of the variants rotates, so that
// none is always behind the same. It ends between two samples when ctx does.
func (j *Job) runAll(ctx context.Context, runners []*runner) error {
	total := len(j.Set.Samples) * len(runners)
	done := 0
	for _, r := range runners {
		r.records.done = min(r.records.done, len(j.Set.Samples))
		done += r.records.done
	}
	for turn, first := 0, 0; first < len(j.Set.Samples); turn, first = turn+1, first+block {
		last := min(first+block, len(j.Set.Samples))
		samples := &blockOf{job: j, first: first, values: make([]loaded, last-first)}
		for i := range runners {
			r := runners[(i+turn)%len(runners)]
			if r.records.done >= last {
				continue
			}
			begun := r.records.done
			err := r.runBlock(ctx, samples, max(begun, first), last)
			if err := r.records.flush(); err != nil {
				return err
			}
			done += r.records.done - begun
			j.progress(done, total)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// runBlock runs the samples [from, to). A first run warms up and does not count.
func (r *runner) runBlock(ctx context.Context, samples *blockOf, from, to int) error {
	warm := false
	for i := from; i < to; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.set(samples, i); err != nil {
			r.records.add(unreadable, nil)
			continue
		}
		if !warm {
			if err := r.module.Run(); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			warm = true
		}
		start := time.Now()
		if err := r.module.Run(); err != nil {
			return fmt.Errorf("%s: sample %s: %w", r.Name, samples.job.Set.Samples[i].Name, err)
		}
		took := time.Since(start)
		scores, err := r.scores()
		if err != nil {
			return fmt.Errorf("%s: sample %s: %w", r.Name, samples.job.Set.Samples[i].Name, err)
		}
		r.records.add(took, scores)
	}
	return nil
}

// set makes a sample the module's inputs.
func (r *runner) set(samples *blockOf, i int) error {
	v, err := samples.value(i)
	if err != nil {
		return err
	}
	for k, in := range r.input {
		data, err := samples.fill(i, v, in)
		if err != nil {
			return err
		}
		if err := r.module.SetInputIndex(k, runtime.Tensor{DType: in.DType, Shape: in.Shape, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// scores are those of the last run. A network that gives the class itself gives it the score 1.
func (r *runner) scores() ([]float32, error) {
	t, err := r.module.Output(r.output)
	if err != nil {
		return nil, err
	}
	d, err := types.ParseDType(t.DType)
	if err != nil {
		return nil, err
	}
	v := tensor.Over(d, t.Shape, t.Data)
	scores := make([]float32, r.classes)
	if r.hard {
		class := int(v.Float(0))
		if class < 0 || class >= r.classes {
			return nil, fmt.Errorf("the network gives class %d, and classes are 0 to %d", class, r.classes-1)
		}
		scores[class] = 1
		return scores, nil
	}
	if v.Len() != r.classes {
		return nil, fmt.Errorf("the output has %d scores instead of %d", v.Len(), r.classes)
	}
	if r.scale != 0 {
		v = v.Dequantize(r.scale, r.zero)
	}
	for i := range scores {
		scores[i] = float32(v.Float(i))
	}
	return scores, nil
}

// blockOf holds the samples of a block while the variants take turns, each read once, and made an input of a form once.
type blockOf struct {
	job    *Job
	first  int
	values []loaded
}

type loaded struct {
	done   bool
	value  dataset.Value
	err    error
	inputs map[string][]byte // by name, type and shape
}

func (b *blockOf) value(i int) (dataset.Value, error) {
	l := &b.values[i-b.first]
	if !l.done {
		l.value, l.err = b.job.Set.Read(i)
		l.done, l.inputs = true, map[string][]byte{}
	}
	return l.value, l.err
}

func (b *blockOf) fill(i int, v dataset.Value, in dataset.Input) ([]byte, error) {
	inputs := b.values[i-b.first].inputs
	key := fmt.Sprintf("%q %s %v %v %d", in.Name, in.DType, in.Shape, in.Scale, in.Zero)
	if inputs[key] == nil {
		data, err := v.Fill(in, b.job.Settings)
		if err != nil {
			return nil, err
		}
		inputs[key] = data
	}
	return inputs[key], nil
}
