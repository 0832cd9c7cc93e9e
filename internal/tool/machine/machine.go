// Package machine measures what this machine does at best, with loops compiled in this process: multiply-adds in
// registers, sums of products of bytes, and reading memory. It is what measured speeds are compared with.
package machine

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// Peaks are the best speeds of a number of threads together. Zero means that the machine has no such instruction.
type Peaks struct {
	Threads int     `json:"threads"`
	FMA512  float64 `json:"fma512_gflop_per_s"`
	FMA256  float64 `json:"fma256_gflop_per_s"`
	FMA128  float64 `json:"fma128_gflop_per_s"`
	Int8    float64 `json:"int8_gop_per_s"`  // sums of products of bytes in the widest vectors
	Tiles   float64 `json:"tiles_gop_per_s"` // the same by registers of matrices, which are loaded from L1
	Read    float64 `json:"read_gb_per_s"`   // from memory, far more than caches hold
}

// Float32 is the peak of the widest vectors.
func (p Peaks) Float32() float64 { return max(p.FMA512, p.FMA256, p.FMA128) }

// Bytes is what products of bytes reach, for people.
func (p Peaks) Bytes() string {
	text := fmt.Sprintf("%.0f Gop/s", p.Int8)
	if p.Tiles > 0 {
		text += fmt.Sprintf(", %.0f by registers of matrices", p.Tiles)
	}
	return text
}

// Max is the better of two measurements, speed by speed.
func (p Peaks) Max(q Peaks) Peaks {
	return Peaks{
		p.Threads, max(p.FMA512, q.FMA512), max(p.FMA256, q.FMA256), max(p.FMA128, q.FMA128), max(p.Int8, q.Int8), max(p.Tiles, q.Tiles), max(p.Read, q.Read),
	}
}

// A Probe is a library of loops for this machine.
type Probe struct {
	Target  *target.Target // this machine, as it describes itself
	ctx     context.Context
	handle  uintptr
	kernels []kernel
	entry   map[string]uintptr
}

// Open compiles the loops. Measuring ends early, with numbers of no worth, when ctx does.
func Open(ctx context.Context) (*Probe, error) {
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	host, err := toolchain.Processor()
	if err != nil {
		return nil, err
	}
	here, err := spec.Resolve(func() (target.Host, error) { return host, nil })
	if err != nil {
		return nil, err
	}
	m, err := toolchain.Open(toolchain.For(here))
	if err != nil {
		return nil, err
	}
	p := &Probe{Target: here, ctx: ctx, kernels: kernelsFor(m.Features()), entry: map[string]uintptr{}}
	if set := here.Tiles(); set != nil && host.Machine.Permit([]string{set.Feature}) == nil {
		p.kernels = append(p.kernels, matrices(here))
	}
	var text []string
	var names []string
	for _, k := range p.kernels {
		if k.declare != "" && !slices.Contains(text, k.declare+"\n") {
			text = append(text, k.declare+"\n")
		}
		text = append(text, k.text())
		names = append(names, k.name)
	}
	object, err := m.Compile(strings.Join(text, ""), "")
	if err != nil {
		return nil, err
	}
	library, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Exports: names})
	if err != nil {
		return nil, err
	}
	if err := p.load(library, names); err != nil {
		return nil, fmt.Errorf("loops for measuring: %w", err)
	}
	return p, nil
}

// kernelsFor lists the loops that a machine with these features runs.
func kernelsFor(features []string) []kernel {
	has := func(f string) bool { return slices.Contains(features, f) }
	list, widest := []kernel{fma(16)}, 16
	if has("fma") {
		list, widest = append(list, fma(32)), 32
	}
	if has("avx512f") {
		list, widest = append(list, fma(64)), 64
	}
	switch {
	case has("avx512vnni"):
		list = append(list, dot4(widest))
	case has("avxvnni"):
		list = append(list, dot4(32))
	}
	for s := 1; s <= mostStreams; s *= 2 {
		list = append(list, read(widest, s))
	}
	return append(list, chained(widest), count())
}

func (p *Probe) load(library []byte, names []string) error {
	f, err := os.CreateTemp("", "lathe-machine-*.so")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(library); err != nil {
		return err
	}
	if p.handle, err = purego.Dlopen(f.Name(), purego.RTLD_NOW|purego.RTLD_LOCAL); err != nil {
		return err
	}
	for _, n := range names {
		if p.entry[n], err = purego.Dlsym(p.handle, n); err != nil {
			return err
		}
	}
	return nil
}

// Close unloads the loops.
func (p *Probe) Close() error { return purego.Dlclose(p.handle) }

// memory is what the threads read together.
const memory = 256 << 20

// Measure runs every loop on a number of threads together and returns the best of some attempts, for whatever else the
// machine does only makes a loop slower. It takes about a quarter of a second.
func (p *Probe) Measure(threads int) Peaks {
	peaks := Peaks{Threads: threads}
	for _, k := range p.kernels {
		switch {
		case k.streams > 1:
		case k.streams == 1:
			size := powerOfTwo(memory / threads)
			peaks.Read = p.best(k, threads, size, size, 8, touched(size*threads)) * float64(k.width)
		case k.chain:
		case k.tiles:
			set := p.Target.Tiles()
			peaks.Tiles = p.run(k, threads, tileIterations, 0, arithmeticAttempts, tileData(set.Rows*set.RowBytes, threads)) * float64(k.width) * 2
		case k.float:
			rate := p.arithmetic(k, threads) * float64(k.width/4) * 2
			*map[int]*float64{16: &peaks.FMA128, 32: &peaks.FMA256, 64: &peaks.FMA512}[k.width] = rate
		default:
			peaks.Int8 = p.arithmetic(k, threads) * float64(k.width) * 2
		}
	}
	return peaks
}

// touched is memory whose every page is there, and none the page of zeros.
func touched(size int) []byte {
	data := make([]byte, size)
	for i := 0; i < len(data); i += 4096 {
		data[i] = 1
	}
	return data
}

// powerOfTwo is the greatest up to n.
func powerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }

// arithmetic returns the steps per ns of all threads in a loop that reads no memory.
func (p *Probe) arithmetic(k kernel, threads int) float64 {
	return p.attempts(k, threads, arithmeticAttempts)
}

// arithmeticAttempts are those of a loop that reads nothing beyond L1.
const arithmeticAttempts = 80

// attempts is arithmetic in so many attempts.
func (p *Probe) attempts(k kernel, threads, n int) float64 {
	const iterations = 1 << 18
	return p.run(k, threads, iterations, 0, n, nil)
}

// best returns the vectors per ns that all threads read in the best attempt: each so many bytes, from its own part of data of
// the given size.
func (p *Probe) best(k kernel, threads, bytes, size, attempts int, data []byte) float64 {
	return p.run(k, threads, bytes/k.width/together, size/k.width-1, attempts, data)
}

// run returns the steps per ns of all threads in the best attempt.
func (p *Probe) run(k kernel, threads, n, mask, attempts int, data []byte) float64 {
	var best float64
	for range attempts {
		if p.ctx.Err() != nil {
			break
		}
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		ready.Add(threads)
		for t := range threads {
			done.Go(func() {
				goruntime.LockOSThread()
				defer goruntime.UnlockOSThread()
				sums := make([]float32, accumulators*max(k.width, 8)/4)
				for i := range sums {
					sums[i] = 0.5
				}
				var from uintptr
				if data != nil {
					from = uintptr(unsafe.Pointer(&data[len(data)/threads*t]))
				}
				ready.Done()
				<-start
				purego.SyscallN(p.entry[k.name], uintptr(n), uintptr(unsafe.Pointer(&sums[0])), from, uintptr(mask))
				goruntime.KeepAlive(sums)
			})
		}
		ready.Wait()
		from := time.Now()
		close(start)
		done.Wait()
		best = max(best, float64(threads*n*k.steps())/float64(time.Since(from).Nanoseconds()))
	}
	goruntime.KeepAlive(data)
	return best
}
