//go:build cgo

package runtime_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"lathe"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// A package is opened once and run as often as there are inputs.
func Example() {
	dir, file := compiledDemo()
	defer os.RemoveAll(dir)

	m, err := runtime.Open(file)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	x, err := runtime.NewTensor(picture(), 1, 3, 64, 64)
	if err != nil {
		log.Fatal(err)
	}
	if err := m.SetInput("data", x); err != nil {
		log.Fatal(err)
	}
	if err := m.Run(); err != nil {
		log.Fatal(err)
	}
	y, err := m.Output(0)
	if err != nil {
		log.Fatal(err)
	}
	logits, err := y.Float32s()
	if err != nil {
		log.Fatal(err)
	}
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	fmt.Println(y.DType, y.Shape, "class", best)
	// Output: float32 [1 36] class 7
}

// compiledDemo does what "lathe compile -o digits.tar examples/demo/digits.onnx" does.
func compiledDemo() (dir, file string) {
	m, err := lathe.Load("../examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if dir, err = os.MkdirTemp("", "lathe"); err != nil {
		log.Fatal(err)
	}
	file = filepath.Join(dir, "digits.tar")
	if err := p.Save(file); err != nil {
		log.Fatal(err)
	}
	return dir, file
}

// picture is examples/demo/sample.png, a 7, as the model wants it.
func picture() []float32 {
	arrays, err := npz.ReadFile("../examples/demo/accept.npz")
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range arrays {
		if a.Name == "data" {
			values, err := runtime.Values[float32](runtime.Tensor{DType: a.DType, Shape: a.Shape, Data: a.Data})
			if err != nil {
				log.Fatal(err)
			}
			return values
		}
	}
	log.Fatal("accept.npz has no data")
	return nil
}
