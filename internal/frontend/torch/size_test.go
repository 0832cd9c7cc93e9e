package torch

import (
	"archive/zip"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"lathe/internal/frontend"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// TestLarge: weights of 100 MiB stay in the mapped archive.
func TestLarge(t *testing.T) {
	const width, layers = 1024, 25
	attrs, body := map[string]any{"training": false}, ""
	for i := range layers {
		w := hosttensor.New(types.F32, width, width)
		w.SetFloat(i, 1) // others would be one storage
		name := fmt.Sprintf("w%d", i)
		attrs[name] = w
		body += fmt.Sprintf("x%d = torch.linear(x%s, self.%s)\n", i, strings.TrimPrefix(fmt.Sprint(i-1), "-1"), name)
	}
	body += fmt.Sprintf("return x%d", layers-1)
	data := zipped(t, scriptMembers(module(body, "x: Tensor", "Tensor"), attrs), zip.Store)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{Shapes: map[string][]int{"x": {1, width}}})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := len(g.Constants()); n != layers {
		t.Errorf("%d constants, want %d", n, layers)
	}
	if beside := after.TotalAlloc - before.TotalAlloc; beside > layers*width*width*4*3/10 {
		t.Errorf("%d MiB are allocated for %d MiB of weights", beside>>20, layers*width*width*4>>20)
	}
}
