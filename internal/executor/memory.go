package executor

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/internal/bundle"
	"lathe/internal/host"
	"lathe/internal/tool/spelling"
)

// ctx is the layout of the run context: the runtime builds for 64-bit machines only.
var ctx = bundle.ContextOf(8)

// cacheLine separates what different workers write; the context's parts and all tensors start at a multiple of it.
const cacheLine = 64

// memory is everything the generated code reads and writes except the weights: one anonymous mapping, which the garbage
// collector does not move or scan and of which only touched pages take memory.
type memory struct {
	b         []byte
	inputs    []region // own buffers; a bound input is elsewhere
	outputs   []region
	inTable   region // pointers to inputs
	symbols   region
	workspace region
	team      region // what workers share; empty for one
	parts     region
	bindings  []binding
}

// region is a part of the mapping.
type region struct{ off, size int }

// layout hands out regions of a mapping that does not exist yet.
type layout struct{ end int }

func (l *layout) take(size int) region {
	r := region{l.end, size}
	l.end += (size + cacheLine - 1) &^ (cacheLine - 1)
	return r
}

func (l *layout) tensors(ts []bundle.TensorInfo) ([]region, error) {
	rs := make([]region, len(ts))
	for i, t := range ts {
		n, err := t.ByteSize()
		if err != nil {
			return nil, err
		}
		rs[i] = l.take(n)
	}
	return rs, nil
}

func newMemory(info *bundle.Manifest, params []bundle.Param, workers int, oversubscribed bool) (*memory, error) {
	var l layout
	var err error
	m := &memory{bindings: make([]binding, len(info.Inputs))}
	l.take(ctx.Size)
	if workers > 1 {
		l.end = (l.end + bundle.PartSize - 1) &^ (bundle.PartSize - 1)
		m.team, m.parts = l.take(bundle.TeamSize), l.take(bundle.PartSize*workers)
	}
	m.inTable = l.take(8 * len(info.Inputs))
	outTable := l.take(8 * len(info.Outputs))
	paramTable := l.take(8 * len(params))
	m.symbols = l.take(8 * info.Symbols)
	if m.inputs, err = l.tensors(info.Inputs); err != nil {
		return nil, err
	}
	if m.outputs, err = l.tensors(info.Outputs); err != nil {
		return nil, err
	}
	// Neighbouring lines are fetched in pairs, so workers keep two lines apart.
	stride := (info.Scratch + 2*cacheLine - 1) &^ (2*cacheLine - 1)
	scratch := l.take(stride * workers)
	m.workspace = l.take(info.Workspace)
	if m.b, err = hugeMemory(l.end); err != nil {
		if err := host.CheckMemory("the run", info.Memory(workers).Run, info.Memory(workers).String()); err != nil {
			return nil, fmt.Errorf("no memory for the model: %w", err)
		}
		return nil, fmt.Errorf("no memory for the model: %s for tensors, work space and scratch: %w", spelling.Count(l.end, "byte"), err)
	}
	m.u32(ctx.ABI, bundle.ABIVersion)
	m.u32(ctx.Bytes, uint32(ctx.Size))
	m.pointer(ctx.Inputs, m.inTable)
	m.pointer(ctx.Outputs, outTable)
	m.pointer(ctx.Params, paramTable)
	m.pointer(ctx.Workspace, m.workspace)
	m.pointer(ctx.Scratch, scratch)
	m.u64(ctx.ScratchStride, uint64(stride))
	m.pointer(ctx.Symbols, m.symbols)
	if workers > 1 {
		m.pointer(ctx.Team, m.team)
		m.pointer(ctx.Parts, m.parts)
		if !oversubscribed {
			m.spin().Store(pausesOf(stepPatience))
		}
		m.u64(ctx.Wait, uint64(crewCode().wait))
		m.u64(ctx.Wake, uint64(crewCode().wake))
	}
	for i, r := range m.inputs {
		m.pointer(m.inTable.off+8*i, r)
	}
	for i, r := range m.outputs {
		m.pointer(outTable.off+8*i, r)
	}
	if err := m.setParams(paramTable, params); err != nil {
		m.release()
		return nil, err
	}
	return m, nil
}

// setParams stores the addresses of the weights. Generated code loads them with aligned vector instructions.
func (m *memory) setParams(table region, params []bundle.Param) error {
	for i, p := range params {
		addr := m.address(0) // an empty tensor is never read, but has an address
		if len(p.Data) > 0 {
			addr = uintptr(unsafe.Pointer(unsafe.SliceData(p.Data)))
		}
		if addr%bundle.Alignment != 0 {
			return fmt.Errorf("%s: parameter %q is not aligned to %s: another program rewrote the package; recompile the model",
				bundle.ParamsName, p.Name, spelling.Count(bundle.Alignment, "byte"))
		}
		m.u64(table.off+8*i, uint64(addr))
	}
	return nil
}

func (m *memory) release() error {
	for i := range m.bindings {
		m.bindings[i].release()
	}
	b := m.b
	m.b = nil
	return unix.Munmap(b)
}

func (m *memory) address(off int) uintptr { return uintptr(unsafe.Pointer(&m.b[off])) }

// context is the address of the run context, at the start of the mapping.
func (m *memory) context() uintptr { return m.address(0) }

func (m *memory) bytes(r region) []byte { return m.b[r.off : r.off+r.size : r.off+r.size] }

func (m *memory) u32(off int, v uint32) { binary.LittleEndian.PutUint32(m.b[off:], v) }

func (m *memory) u64(off int, v uint64) { binary.LittleEndian.PutUint64(m.b[off:], v) }

// pointer stores the address of r. An empty region may lie at the very end; it gets the address of the context.
func (m *memory) pointer(off int, r region) {
	if r.size == 0 {
		r.off = 0
	}
	m.u64(off, uint64(m.address(r.off)))
}

// done is the team's count of finished chunks.
func (m *memory) done() *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&m.b[m.team.off+bundle.TeamDone]))
}

// naps is the word on which workers of the team sleep: another number after each time that somebody did.
func (m *memory) naps() *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&m.b[m.team.off+bundle.TeamAsleep]))
}

// spin is how many pauses workers look for a step before they sleep.
func (m *memory) spin() *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&m.b[ctx.Spin])) }

// begin sets a worker's count of the chunks behind it, before it calls the library.
func (m *memory) begin(worker int, base uint64) { m.u64(m.partBase(worker), base) }

// base is the address of a worker's count of the chunks behind it.
func (m *memory) base(worker int) uintptr { return m.address(m.partBase(worker)) }

func (m *memory) partBase(worker int) int {
	return m.parts.off + bundle.PartSize*worker + bundle.PartBase
}

func (m *memory) status() int32 { return int32(binary.LittleEndian.Uint32(m.b[ctx.Status:])) }

func (m *memory) symbol(i int) int64 {
	return int64(binary.LittleEndian.Uint64(m.b[m.symbols.off+8*i:]))
}
