package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lathe/internal/tool/npz"
	"lathe/internal/toolchain"
	"lathe/runtime"
)

//go:embed torch/peer.py
var torchPeer []byte

// torch is PyTorch in a process of its own, one for each session: see torch/peer.py.
type torch struct {
	python, dir, program, release string
}

func startTorch(python string) (peer, error) {
	out, err := exec.Command(python, "-c", "import torch, onnx, numpy; print(torch.__version__)").Output()
	if err != nil {
		return nil, fmt.Errorf("%s has no torch, onnx and numpy: %w", python, err)
	}
	dir, err := os.MkdirTemp("", "lathe-bench-torch-")
	if err != nil {
		return nil, err
	}
	t := &torch{python, dir, filepath.Join(dir, "peer.py"), strings.TrimSpace(string(out))}
	return t, os.WriteFile(t.program, torchPeer, 0o644)
}

func (t *torch) name() string    { return "torch" }
func (t *torch) version() string { return t.release }
func (t *torch) close() error    { return os.RemoveAll(t.dir) }

// torchSession talks to one process.
type torchSession struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	messages strings.Builder
	results  string
	m        *runtime.Module
}

func (t *torch) open(model string, threads int, inputs []runtime.Tensor, m *runtime.Module) (session, error) {
	s := &torchSession{results: filepath.Join(t.dir, "outputs.npz"), m: m}
	file := filepath.Join(t.dir, "inputs.npz")
	if err := saveInputs(file, inputs); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(t.python, t.program, model, fmt.Sprint(threads), file, s.results)
	s.cmd.Stderr = &s.messages
	s.cmd.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", threads))
	if here, err := toolchain.Native(); err == nil && here.Has("avx512f") {
		s.cmd.Env = append(s.cmd.Env, "OPENBLAS_CORETYPE=SkylakeX") // older versions do not know newer CPUs
	}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct{ Unsupported string }
	err = s.answer(&ready)
	if err == nil && ready.Unsupported != "" {
		err = fmt.Errorf("%w: %s", errUnsupported, ready.Unsupported)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// answer reads a line of JSON.
func (s *torchSession) answer(v any) error {
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.in.Close()
		s.cmd.Wait()
		s.cmd = nil
		lines := strings.Split(strings.TrimSpace(s.messages.String()), "\n")
		return fmt.Errorf("PyTorch ended: %s", lines[len(lines)-1])
	}
	return json.Unmarshal(line, v)
}

func (s *torchSession) block(n int, gap time.Duration) (block, error) {
	if gap > 0 {
		return block{}, fmt.Errorf("runs with a gap before each are %w", errUnsupported)
	}
	if _, err := fmt.Fprintf(s.in, "run %d\n", n); err != nil {
		return block{}, err
	}
	var times struct{ Wall, CPU []time.Duration }
	err := s.answer(&times)
	return block{times.Wall, times.CPU}, err
}

func (s *torchSession) outputs() ([][]float64, error) {
	arrays, err := npz.ReadFile(s.results)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(arrays, func(a, b npz.Array) int { return strings.Compare(a.Name, b.Name) })
	var list [][]float64
	for _, a := range arrays {
		v, err := runtime.Tensor{DType: a.DType, Shape: a.Shape, Data: a.Data}.Numbers()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (s *torchSession) close() error {
	if s.cmd == nil {
		return nil
	}
	return errors.Join(s.in.Close(), s.cmd.Wait())
}
