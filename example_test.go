package lathe_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"lathe"
	"lathe/runtime"
)

// A model file becomes a package for this machine.
func Example() {
	m, err := lathe.Load("examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("input ", m.Inputs()[0])
	fmt.Println("output", m.Outputs()[0])

	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{Target: "llvm"})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "lathe")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "digits.tar")
	if err := p.Save(file); err != nil {
		log.Fatal(err)
	}

	r, err := runtime.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Println("from  ", r.Info().Source.File)
	// Output:
	// input  {data float32 [1 3 64 64]}
	// output {logits float32 [1 36]}
	// from   digits.onnx
}

// The same package for any x86-64 CPU with AVX2, with the graph after all passes as text.
func ExampleCompile() {
	m, err := lathe.Load("examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{
		Target:   "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3",
		DumpCode: []string{"relay"},
	})
	if err != nil {
		log.Fatal(err)
	}
	graph, ok := p.Code("relay")
	fmt.Println(ok, graph[:len("graph torch_jit(%data: float32[1,3,64,64])")])
	// Output: true graph torch_jit(%data: float32[1,3,64,64])
}

// The zero value compiles as 'lathe compile' without flags. The file's extension chooses the form; here C source.
func ExampleCompileOptions() {
	o, err := lathe.CompileOptions{Output: "digits.c"}.Resolved()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Format, o.Target, "-O"+o.OptLevel)
	_, err = lathe.CompileOptions{Output: "digits.wasm", Format: "c"}.Resolved()
	fmt.Println(err)
	// Output:
	// c c -O3
	// output digits.wasm: -f c writes files that end in .c (.wasm is for -f wasm)
}
