package compile

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lathe/internal/fault"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// places are where Options.at is called, by all formats together.
func places(t *testing.T, o Options) (list []string, times map[string]int) {
	times = map[string]int{}
	o.Workers = 1
	o.at = func(p string) {
		if times[p]++; times[p] == 1 {
			list = append(list, p)
		}
	}
	if _, err := Compile(context.Background(), family(t, "dense chain", 6), o); err != nil {
		t.Fatal(err)
	}
	return list, times
}

func family(t testing.TB, name string, n int) *graph.Graph {
	for _, f := range graphtest.Families {
		if f.Name == name {
			return f.Make(n)
		}
	}
	t.Fatalf("no family %q", name)
	return nil
}

// TestInjectedPanics: a panic in any piece of work of any phase is an error, and one on a kernel names its nodes.
func TestInjectedPanics(t *testing.T) {
	for _, format := range []string{"", "tar", "c", "wasm"} {
		o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Format: format, Workers: 3}
		for _, f := range Formats {
			if f.Name == format && f.Target != "" {
				o.Target = targettest.Resolve(t, f.Target)
			}
		}
		list, times := places(t, o)
		if len(list) < 8 {
			t.Errorf("format %q: pieces of work %v", format, list)
		}
		for _, p := range list {
			for _, at := range []int{1, times[p]} {
				var n atomic.Int64
				o.at = func(q string) {
					if p == q && int(n.Add(1)) == at {
						var none []int
						_ = none[at]
					}
				}
				_, err := Compile(context.Background(), family(t, "dense chain", 6), o)
				var caught *fault.Error
				if !errors.As(err, &caught) || !strings.Contains(err.Error(), "internal error") || strings.Contains(err.Error(), "\n") {
					t.Errorf("format %q, %s: error %v", format, p, err)
				}
				if onKernel := p == "lower" || p == "schedule" || p == "divide" || p == "build"; onKernel && !strings.Contains(err.Error(), "node \"") {
					t.Errorf("format %q, %s: error does not name the node: %v", format, p, err)
				}
			}
		}
	}
}

// TestBrokenOperator: an operator whose functions panic ends in an error as well.
func TestBrokenOperator(t *testing.T) {
	broken := op.Define(op.Spec[op.None]{
		Name: "broken", Args: []string{"x"}, Fusion: op.Elementwise,
		Infer:   func(_ op.None, in []op.Arg) ([]types.Tensor, error) { return []types.Tensor{in[0].Tensor}, nil },
		Compute: func(op.None, []*te.Stage, []types.Tensor) []*te.Stage { panic("no luck") },
	})
	g := &graph.Graph{}
	n, err := g.Apply(broken, op.None{}, g.Input("x", types.Of(types.F32, 3)))
	if err != nil {
		t.Fatal(err)
	}
	n.Out[0].Name, n.Origin = "y", []string{"the node"}
	g.Outputs = n.Out
	for _, level := range []int{0, 3} {
		_, err := Compile(context.Background(), g.Clone(), Options{Target: targettest.Resolve(t, "llvm"), Level: level, Workers: 2})
		if err == nil || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("-O%d: error %v", level, err)
		}
	}
}

// TestCancel ends the context in the middle of each phase: hardly any work is begun after that. The compilation of a
// kernel by LLVM cannot be interrupted, so that a few are.
func TestCancel(t *testing.T) {
	const workers = 3
	o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: workers}
	list, times := places(t, o)
	for _, p := range list {
		ctx, cancel := context.WithCancel(context.Background())
		var before, after atomic.Int64
		o.at = func(q string) {
			if p == q && before.Add(1) == int64(times[p]+1)/2 {
				cancel()
			} else if ctx.Err() != nil {
				after.Add(1)
			}
		}
		done := make(chan error, 1)
		go func() {
			_, err := Compile(ctx, family(t, "dense chain", 6), o)
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) && !(err == nil && p == list[len(list)-1]) {
				t.Errorf("%s: error %v", p, err)
			}
			if after.Load() > workers {
				t.Errorf("%s: %d pieces of work were begun after the end", p, after.Load())
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the compilation hangs", p)
		}
		cancel()
	}
}

// TestLLVMFault: where LLVM would end the process at a kernel, the error names the kernel and its nodes, and the next compilation works.
func TestLLVMFault(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 3, llvmPasses: "trigger-crash-module"}
	_, err := Compile(context.Background(), digits(t), o)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"kernel fused_", `node "/`, ": LLVM: LLVM cannot compile this: a fault of LLVM itself, signal "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	o.llvmPasses = ""
	if _, err := Compile(context.Background(), digits(t), o); err != nil {
		t.Error(err)
	}
}
