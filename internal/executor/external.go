package executor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"lathe/internal/bundle"
	"lathe/runtime/external"
)

// ExternalVariable says whether regions of external code generators are run by their modules: off, not at all; require, or opening the
// package is an error; otherwise where that is possible.
const ExternalVariable = "LATHE_EXTERNAL"

// A region of the network whose module is open.
type openRegion struct {
	*bundle.External
	module  external.Module
	in, out []external.Tensor
	inputs  []int // the input of the network that an operand is, -1 for none: its address may change between runs
}

// openRegions opens the modules of regions. What cannot be opened is run by the package's own steps, and noted.
func (m *Module) openRegions() error {
	list := m.info.External
	mode := os.Getenv(ExternalVariable)
	switch {
	case mode != "" && mode != "off" && mode != "require" && mode != "auto":
		return fmt.Errorf("environment variable %s=%q: must be off, require or auto", ExternalVariable, mode)
	case mode == "off":
		for _, e := range list {
			if e.NoFallback {
				return fmt.Errorf("external region %s (%s): %s=off, and the package has no steps of its own for it (--external-fallback=false)", e.Symbol, e.Runtime, ExternalVariable)
			}
		}
		return nil
	}
	said := map[string]bool{}
	for i := range list {
		e := &list[i]
		r, err := m.openRegion(e, m.lib.pkg.External[i])
		if err == nil && mode != "require" && e.WhenFaster {
			if err = m.race(r); err != nil {
				err = errors.Join(err, r.module.Close())
			}
		}
		if err == nil {
			m.regions = append(m.regions, r)
			continue
		}
		if mode == "require" || e.NoFallback {
			return fmt.Errorf("external region %s (%s): %w", e.Symbol, e.Runtime, err)
		}
		if note := fmt.Sprintf("%s: %v; the CPU computes what it was to", e.Runtime, err); !said[note] {
			said[note] = true
			m.notes = append(m.notes, note)
		}
	}
	return nil
}

func (m *Module) openRegion(e *bundle.External, blob []byte) (*openRegion, error) {
	if e.ABI != bundle.ExternalABI {
		return nil, fmt.Errorf("region %s is for version %d of lathe_external.h, and this runtime calls version %d", e.Symbol, e.ABI, bundle.ExternalABI)
	}
	run, err := m.opts.runtime(e.Runtime)
	if err != nil {
		return nil, err
	}
	r := &openRegion{External: e}
	for i := range e.Inputs {
		r.in, r.inputs = append(r.in, m.tensorAt(e.Inputs[i])), append(r.inputs, -1)
		if e.Inputs[i].Memory == bundle.MemoryNames[bundle.InInput] {
			r.inputs[i] = e.Inputs[i].Index
		}
	}
	for _, o := range e.Outputs {
		r.out = append(r.out, m.tensorAt(o))
	}
	info := external.Info{Symbol: e.Symbol, Inputs: withoutData(r.in), Outputs: withoutData(r.out), Workers: m.Workers()}
	if r.module, err = run.Open(blob, info); err != nil {
		return nil, fmt.Errorf("region %s: %w", e.Symbol, err)
	}
	return r, nil
}

// Either way to compute a region is run so often, and for so long: threads of a library, that go on spinning for milliseconds when they have
// nothing to do, disturb none of the runs by the end.
const (
	races   = 4
	racedBy = 20 * time.Millisecond
)

// race says in an error that the package's own steps compute a region in less time than its module does, on the zeros of fresh memory. Other
// regions are not run meanwhile. Behind the module own steps run, as in a network: it pays for the cores that it keeps busy when it has returned.
func (m *Module) race(r *openRegion) error {
	own := func() error { m.pool.run(r.Fallback[0], r.Fallback[1]); return nil }
	m.mem.u32(ctx.Status, 0)
	steps, err := leastOf(own)
	if err != nil {
		return err
	}
	both, err := leastOf(func() error { return errors.Join(r.run(m), own()) })
	if err != nil {
		return err
	}
	clear(m.mem.bytes(m.mem.workspace))
	if module := both - steps; steps < module {
		return fmt.Errorf("region %s takes %v, and the package's own steps %v", r.Symbol, module.Round(time.Microsecond), steps.Round(time.Microsecond))
	}
	return nil
}

// leastOf is the least time that run takes.
func leastOf(run func() error) (time.Duration, error) {
	least, begin := time.Duration(1<<62), time.Now()
	for i := 0; i < races || time.Since(begin) < racedBy; i++ {
		start := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		least = min(least, time.Since(start))
	}
	return least, nil
}

// runtime finds a run-time module.
func (o *Options) runtime(name string) (*external.Runtime, error) {
	for i := range o.External {
		if o.External[i].Name == name {
			return &o.External[i], nil
		}
	}
	for i := range builtIn {
		if builtIn[i].Name == name {
			return &builtIn[i], nil
		}
	}
	return external.Load(name)
}

func withoutData(list []external.Tensor) []external.Tensor {
	bare := make([]external.Tensor, len(list))
	for i, t := range list {
		bare[i] = t
		bare[i].Data = nil
	}
	return bare
}

// tensorAt is the operand of a region. The manifest has been checked: it lies in the memory of a run.
func (m *Module) tensorAt(o bundle.Operand) external.Tensor {
	t := external.Tensor{DType: o.DType, Shape: make([]int64, len(o.Shape))}
	for i, n := range o.Shape {
		t.Shape[i] = int64(n)
	}
	t.Bytes, _ = bundle.ByteSize(o.DType, o.Shape)
	r := region{size: t.Bytes}
	switch o.Memory {
	case bundle.MemoryNames[bundle.InWorkspace]:
		r.off = m.mem.workspace.off + o.Offset
	case bundle.MemoryNames[bundle.InInput]:
		r = m.mem.inputs[o.Index]
	case bundle.MemoryNames[bundle.InOutput]:
		r = m.mem.outputs[o.Index]
	case bundle.MemoryNames[bundle.InParam]:
		if data := m.lib.params[o.Index].Data; len(data) > 0 {
			t.Data, t.Bytes = unsafe.Pointer(unsafe.SliceData(data)), min(t.Bytes, len(data))
		}
		return t
	case bundle.MemoryNames[bundle.InSymbols]:
		r.off = m.mem.symbols.off + 8*o.Index
	}
	if r.size > 0 {
		t.Data = unsafe.Pointer(&m.mem.b[r.off])
	}
	return t
}

// run runs a region.
func (r *openRegion) run(m *Module) error {
	for i, k := range r.inputs {
		if k >= 0 {
			at := binary.LittleEndian.Uint64(m.mem.b[m.mem.inTable.off+8*k:])
			r.in[i].Data = *(*unsafe.Pointer)(unsafe.Pointer(&at)) // pinned, or in the module's memory
		}
	}
	if err := r.module.Run(r.in, r.out, m.Workers()); err != nil {
		return fmt.Errorf("run: external region %s (%s): %w", r.Symbol, r.Runtime, err)
	}
	return nil
}

// steps runs the steps [first, last), each region that is whole among them by its module. A library call ends in front of a region and
// begins behind it, so that all workers have met.
func (m *Module) steps(first, last int) error {
	for _, r := range m.regions {
		from, to := r.Fallback[0], r.Fallback[1]
		if from < first || to > last {
			continue
		}
		if first < from {
			m.pool.run(first, from)
		}
		if m.mem.status() != 0 {
			return nil
		}
		if err := r.run(m); err != nil {
			return err
		}
		first = to
	}
	if first < last {
		m.pool.run(first, last)
	}
	return nil
}

func (m *Module) closeRegions() error {
	var err error
	for _, r := range m.regions {
		err = errors.Join(err, r.module.Close())
	}
	m.regions = nil
	return err
}

// Notes are what users should know of how the package was opened.
func (m *Module) Notes() []string { return m.notes }

// External lists the regions that modules of external code generators run, by symbol.
func (m *Module) External() (symbols []string) {
	for _, r := range m.regions {
		symbols = append(symbols, r.Symbol)
	}
	return symbols
}
