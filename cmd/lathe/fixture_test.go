package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/tool/cli"
	"lathe/internal/toolchain"
)

// lathe runs the command line and returns what it printed and its exit code.
func latheCommand(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{&cli.App{Name: "lathe", Out: &o, Err: &e}}
	code = a.run(t.Context(), args)
	return o.String(), e.String(), code
}

// copyIR is a module that copies its first input to its first output, as 32-bit words.
const copyIR = `
define i32 @lathe_fixture_run(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%first, i32 %%last) {
  %%ins.p = getelementptr i8, ptr %%ctx, i64 8
  %%ins = load ptr, ptr %%ins.p
  %%outs.p = getelementptr i8, ptr %%ctx, i64 16
  %%outs = load ptr, ptr %%outs.p
  %%in = load ptr, ptr %%ins
  %%out = load ptr, ptr %%outs
  br label %%loop
loop:
  %%i = phi i64 [ 0, %%0 ], [ %%next, %%loop ]
  %%from = getelementptr i32, ptr %%in, i64 %%i
  %%to = getelementptr i32, ptr %%out, i64 %%i
  %%v = load i32, ptr %%from
  store i32 %%v, ptr %%to
  %%next = add i64 %%i, 1
  %%more = icmp ult i64 %%next, %d
  br i1 %%more, label %%loop, label %%done
done:
  ret i32 0
}
`

var toolchainMachine = sync.OnceValues(func() (*toolchain.Machine, error) { return toolchain.Open(toolchain.Options{}) })

// copyPackage writes a package whose output is its first input. Every input but the first is ignored.
func copyPackage(t *testing.T, output []int, inputs ...bundle.TensorInfo) string {
	t.Helper()
	m, err := toolchainMachine()
	if err != nil {
		t.Fatal(err)
	}
	size, err := inputs[0].ByteSize()
	if err != nil {
		t.Fatal(err)
	}
	object, err := m.Compile(fmt.Sprintf(copyIR, size/4), "")
	if err != nil {
		t.Fatal(err)
	}
	library, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Exports: []string{"lathe_fixture_run"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fixture.tar")
	err = bundle.Write(path, &bundle.Contents{
		Manifest: &bundle.Manifest{
			Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: "test", Module: "fixture", MaxWorkers: 1,
			Target: bundle.Target{String: "llvm -mcpu=x86-64", Triple: "x86_64-linux-gnu", CPU: "x86-64"},
			Source: bundle.Source{File: "fixture.onnx", SHA256: strings.Repeat("0", 64)},
			Steps:  []bundle.Step{{Name: "copy", Ops: []string{"copy"}, Nodes: []string{"Identity_0"}, FLOPs: 1000, Bytes: 2 * int64(size)}},
			Inputs: inputs, Outputs: []bundle.TensorInfo{{Name: "out", DType: inputs[0].DType, Shape: output}},
		},
		Graph:   &bundle.GraphJSON{NodeRowPtr: []int{0}},
		Library: library,
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}
