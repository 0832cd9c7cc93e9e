package crosstest

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/isa"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

//go:embed runner/runner.c
var source []byte

// A Program is the runner built for an architecture.
type Program struct {
	isa.Emulator
	path    string
	preload string // a library that the program loads; "": none
}

// Build builds the program for an architecture in dir, which must stay while it is used.
func Build(a *isa.ISA, dir string) (*Program, error) {
	if err := Missing(a); err != nil {
		return nil, err
	}
	p := &Program{Emulator: a.Emulator, path: filepath.Join(dir, "runner-"+string(a.Arch))}
	return p, p.build()
}

// BuildHere builds the program for this machine, as a process of its own that loads a library first: one that executes instructions which
// the machine lacks.
func BuildHere(compiler, preload, dir string) (*Program, error) {
	p := &Program{path: filepath.Join(dir, "runner"), preload: preload}
	p.Compiler = compiler
	return p, p.build()
}

func (p *Program) build() error {
	if err := os.WriteFile(p.path+".c", source, 0o666); err != nil {
		return err
	}
	build := exec.Command(p.Compiler, "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", p.path, p.path+".c", "-ldl")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.Compiler, err, text)
	}
	return nil
}

// A Runner is a process of another architecture that loads libraries and runs them, one after the other. It is not safe
// for concurrent use.
type Runner struct {
	*Program
	processor string
	dir       string // holds a library with its data while it runs
	jobs      int

	process *exec.Cmd // nil: not started, or ended by what it ran
	in      io.WriteCloser
	out     *bufio.Reader
	said    *strings.Builder // on standard error
}

// On returns a runner on the processor of a target. dir is for its files.
func (p *Program) On(t *target.Target, dir string) *Runner {
	return &Runner{Program: p, processor: processor(t), dir: dir}
}

func (r *Runner) start() error {
	if r.Emulator.Program == "" {
		r.process = exec.Command(r.path)
		r.process.Env = append(os.Environ(), "LD_PRELOAD="+r.preload)
	} else {
		r.process = exec.Command(r.Emulator.Program, "-cpu", r.processor, "-L", r.Sysroot, r.path)
	}
	r.said = &strings.Builder{}
	r.process.Stderr = r.said
	var err error
	if r.in, err = r.process.StdinPipe(); err != nil {
		return err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return err
	}
	r.out = bufio.NewReader(out)
	return r.process.Start()
}

// Close ends the process.
func (r *Runner) Close() error {
	if r.process == nil {
		return nil
	}
	r.in.Close()
	err := r.process.Wait()
	r.process = nil
	return err
}

// Run runs a compiled model once with a number of workers and returns its outputs. What the caller owns is aligned to
// its elements and no more, as the run context allows.
func (r *Runner) Run(c *bundle.Contents, inputs []*tensor.Tensor, workers int) ([]*tensor.Tensor, error) {
	if r.process == nil {
		if err := r.start(); err != nil {
			return nil, err
		}
	}
	r.jobs++
	lib, data := filepath.Join(r.dir, fmt.Sprintf("mod%d.so", r.jobs)), filepath.Join(r.dir, fmt.Sprintf("data%d", r.jobs))
	defer os.Remove(lib)
	defer os.Remove(data)
	f, outs, err := layOut(c, inputs)
	if err != nil {
		return nil, err
	}
	m := c.Manifest
	if m.MaxWorkers > 0 {
		workers = min(workers, m.MaxWorkers)
	}
	if err := errors.Join(os.WriteFile(lib, c.Library, 0o666), os.WriteFile(data, f.bytes, 0o666)); err != nil {
		return nil, err
	}
	const line = bundle.Alignment
	stride := (m.Scratch + line - 1) / line * line
	if _, err := fmt.Fprintln(r.in, lib, data, m.RunSymbol(), workers, stride, m.Workspace, f.symbols, f.tables); err != nil {
		return nil, r.died(err)
	}
	answer, err := r.out.ReadString('\n')
	if err != nil {
		return nil, r.died(err)
	}
	if answer = strings.TrimSpace(answer); answer != "ok 0" {
		return nil, fmt.Errorf("%s: %s", r.Emulator.Program, answer)
	}
	after, err := os.ReadFile(data)
	if err != nil {
		return nil, err
	}
	return results(m, after, f.symbols, outs)
}

// ErrEmulator is the end of a program by a fault of qemu itself: it says nothing about the code that ran.
var ErrEmulator = errors.New("a fault of the emulator")

// qemuFault is what qemu 7.2 says where it translates two RISC-V instructions of different static rounding modes.
const qemuFault = "decode_save_opc: Assertion"

// died collects how the process ended.
func (r *Runner) died(err error) error {
	r.in.Close()
	ended := r.process.Wait()
	r.process = nil
	if strings.Contains(r.said.String(), qemuFault) {
		return fmt.Errorf("%w: %s", ErrEmulator, strings.TrimSpace(r.said.String()))
	}
	return fmt.Errorf("%s -cpu %s: %w: %v: %s", r.Emulator.Program, r.processor, err, ended, strings.TrimSpace(r.said.String()))
}

// A file of data in the making: see runner.c.
type file struct {
	bytes   []byte
	symbols int
	tables  string
}

// add puts b at the next offset that is a multiple of align, and of no larger power of two unless that is a cache line's.
func (f *file) add(b []byte, align int) int {
	at := (len(f.bytes) + bundle.Alignment - 1) / bundle.Alignment * bundle.Alignment
	if align < bundle.Alignment {
		at += align
	}
	f.bytes = append(f.bytes, make([]byte, at-len(f.bytes))...)
	f.bytes = append(f.bytes, b...)
	return at
}

// layOut puts inputs, parameters and room for outputs and symbols into one file, and returns the offsets of outputs.
func layOut(c *bundle.Contents, inputs []*tensor.Tensor) (*file, []int, error) {
	f := &file{}
	offsets := func(list []int) {
		f.tables += strings.Trim(fmt.Sprint(len(list), list), "[]")
		f.tables = strings.ReplaceAll(f.tables, "[", "") + " "
	}
	var at, outs []int
	for i, in := range c.Manifest.Inputs {
		n, err := in.ByteSize()
		if err != nil || n != inputs[i].Size() {
			return nil, nil, fmt.Errorf("input %s: %d bytes for a tensor of %d: %v", in.Name, inputs[i].Size(), n, err)
		}
		at = append(at, f.add(inputs[i].Bytes(), inputs[i].DType.Size()))
	}
	offsets(at)
	for _, out := range c.Manifest.Outputs {
		n, err := out.ByteSize()
		if err != nil {
			return nil, nil, err
		}
		d, err := types.ParseDType(out.DType)
		if err != nil {
			return nil, nil, err
		}
		outs = append(outs, f.add(make([]byte, n), d.Size()))
	}
	offsets(outs)
	at = nil
	for _, p := range c.Params {
		var data bytes.Buffer
		if err := p.Fill(&data); err != nil {
			return nil, nil, err
		}
		at = append(at, f.add(data.Bytes(), bundle.Alignment))
	}
	offsets(at)
	f.symbols = f.add(make([]byte, 8*c.Manifest.Symbols+64), bundle.Alignment)
	return f, outs, nil
}

// results reads the outputs with their actual extents.
func results(m *bundle.Manifest, data []byte, symbols int, at []int) ([]*tensor.Tensor, error) {
	extents, err := tensor.Wrap(types.I64, []int{m.Symbols}, data[symbols:symbols+8*m.Symbols])
	if err != nil {
		return nil, err
	}
	outs := make([]*tensor.Tensor, len(at))
	for i, o := range m.Outputs {
		d, err := types.ParseDType(o.DType)
		if err != nil {
			return nil, err
		}
		shape := append([]int{}, o.Shape...)
		for axis, s := range o.Symbols {
			if s >= 0 {
				shape[axis] = int(extents.Int(s))
			}
		}
		n := types.Count(shape) * d.Size()
		if n < 0 || n > len(data)-at[i] {
			return nil, fmt.Errorf("output %s: extents %v", o.Name, shape)
		}
		outs[i] = tensor.New(d, shape...)
		copy(outs[i].Bytes(), data[at[i]:at[i]+n])
	}
	return outs, nil
}
