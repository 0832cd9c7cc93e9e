// Package machine measures what this machine does at best, with loops compiled in this process: multiply-adds in
// registers, sums of products of bytes, and reading memory. It is what measured speeds are compared with.
package machine

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/toolchain"
)

// Peaks are the best speeds of a number of threads together. Zero means that the machine has no such instruction.
type Peaks struct {
	Threads int     `json:"threads"`
	FMA512  float64 `json:"fma512_gflop_per_s"`
	FMA256  float64 `json:"fma256_gflop_per_s"`
	FMA128  float64 `json:"fma128_gflop_per_s"`
	Int8    float64 `json:"int8_gop_per_s"` // sums of products of bytes in the widest vectors
	Read    float64 `json:"read_gb_per_s"`  // from memory, far more than caches hold
}

// Float32 is the peak of the widest vectors.
func (p Peaks) Float32() float64 { return max(p.FMA512, p.FMA256, p.FMA128) }

// Max is the better of two measurements, speed by speed.
func (p Peaks) Max(q Peaks) Peaks {
	return Peaks{
		p.Threads, max(p.FMA512, q.FMA512), max(p.FMA256, q.FMA256), max(p.FMA128, q.FMA128), max(p.Int8, q.Int8), max(p.Read, q.Read),
	}
}

// A Probe is a library of loops for this machine.
type Probe struct {
	handle  uintptr
	kernels []kernel
	entry   map[string]uintptr
}

// Open compiles the loops.
func Open() (*Probe, error) {
	here, err := toolchain.Native()
	if err != nil {
		return nil, err
	}
	m, err := toolchain.Open(toolchain.For(here))
	if err != nil {
		return nil, err
	}
	p := &Probe{kernels: kernelsFor(m.Features()), entry: map[string]uintptr{}}
	var text []string
	var names []string
	for _, k := range p.kernels {
		if k.declare != "" {
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
	return append(list, read(widest))
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
const memory = 192 << 20

// Measure runs every loop on a number of threads together and returns the best of some attempts, for whatever else the
// machine does only makes a loop slower. It takes about a quarter of a second.
func (p *Probe) Measure(threads int) Peaks {
	peaks := Peaks{Threads: threads}
	for _, k := range p.kernels {
		switch {
		case k.stream:
			n := memory / threads / (accumulators * k.width)
			data := make([]byte, memory)
			for i := 0; i < len(data); i += 4096 { // each page is there, and none is the page of zeros
				data[i] = 1
			}
			peaks.Read = p.best(k, threads, n, 8, data) * float64(k.width)
		case k.bits == 32 && k.float:
			rate := p.best(k, threads, 1<<18, 80, nil) * float64(k.width/4) * 2
			*map[int]*float64{16: &peaks.FMA128, 32: &peaks.FMA256, 64: &peaks.FMA512}[k.width] = rate
		default:
			peaks.Int8 = p.best(k, threads, 1<<18, 80, nil) * float64(k.width) * 2
		}
	}
	return peaks
}

// best returns the vectors per ns of all threads in the best attempt. Each thread reads its own part of data.
func (p *Probe) best(k kernel, threads, n, attempts int, data []byte) float64 {
	var best float64
	for range attempts {
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		ready.Add(threads)
		for t := range threads {
			done.Go(func() {
				goruntime.LockOSThread()
				defer goruntime.UnlockOSThread()
				sums := make([]float32, accumulators*k.width/4)
				for i := range sums {
					sums[i] = 0.5
				}
				var from uintptr
				if data != nil {
					from = uintptr(unsafe.Pointer(&data[len(data)/threads*t]))
				}
				ready.Done()
				<-start
				purego.SyscallN(p.entry[k.name], uintptr(n), uintptr(unsafe.Pointer(&sums[0])), from)
				goruntime.KeepAlive(sums)
			})
		}
		ready.Wait()
		from := time.Now()
		close(start)
		done.Wait()
		best = max(best, float64(threads*n*accumulators)/float64(time.Since(from).Nanoseconds()))
	}
	goruntime.KeepAlive(data)
	return best
}
