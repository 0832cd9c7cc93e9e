package onnx

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzImport damages the uses of testdata/rows.txt: an import gives a graph or an error, and soon.
func FuzzImport(f *testing.F) {
	text, err := os.ReadFile(rowsFile)
	if err != nil {
		f.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.Split(string(text), "\n"), func(s string) bool { return s == "" || s[0] == '#' })
	for i := range lines {
		for seed := range uint64(8) {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, line int, seed uint64) {
		if line < 0 || line >= len(lines) {
			return
		}
		m := parseRow(t, lines[line]).model
		damage(rand.New(rand.NewPCG(seed, 1)), m.Graph)
		start := time.Now()
		_, err := Import(m, Options{})
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v: %v", lines[line], took, err)
		}
	})
}

// damage changes operands, attributes and declared inputs of a graph.
func damage(r *rand.Rand, g *Graph) {
	for range 1 + r.IntN(2) {
		n := g.Nodes[r.IntN(len(g.Nodes))]
		switch r.IntN(6) {
		case 0:
			n.Inputs = n.Inputs[:r.IntN(len(n.Inputs)+1)]
		case 1:
			if k := len(n.Inputs); k > 1 {
				n.Inputs[r.IntN(k)] = n.Inputs[r.IntN(k)]
			}
		case 2:
			n.Outputs = append(n.Outputs, "extra")
			g.Outputs = append(g.Outputs, ValueInfo{Name: "extra"})
		case 3:
			if len(n.Attrs) > 0 {
				damageAttr(r, &n.Attrs[r.IntN(len(n.Attrs))])
			}
		case 4:
			if len(g.Inputs) > 0 {
				damageInput(r, &g.Inputs[r.IntN(len(g.Inputs))])
			}
		case 5:
			if len(g.Initializers) > 0 {
				damageTensor(r, g.Initializers[r.IntN(len(g.Initializers))])
			}
		}
	}
}

var strangeInts = []int64{-9, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 100, 1 << 31, 1 << 62, math.MinInt64, math.MaxInt64}

func strange(r *rand.Rand) int64 { return strangeInts[r.IntN(len(strangeInts))] }

func damageAttr(r *rand.Rand, a *Attr) {
	switch v := a.value.(type) {
	case int64:
		a.value = strange(r)
	case float32:
		a.value = []float32{0, -1, 1e30, float32(math.Inf(1)), float32(math.NaN())}[r.IntN(5)]
	case []int64:
		v = slices.Clone(v)
		if len(v) > 0 {
			v[r.IntN(len(v))] = strange(r)
		}
		a.value = v[:r.IntN(len(v)+1)]
	}
}

func damageInput(r *rand.Rand, in *ValueInfo) {
	if r.IntN(3) == 0 {
		in.Elem = []DType{Float, Double, Float16, Int8, Int32, Int64, Bool, Uint8}[r.IntN(8)]
		return
	}
	in.Dims = slices.Clone(in.Dims)
	if len(in.Dims) > 0 {
		in.Dims[r.IntN(len(in.Dims))].Value = []int64{0, 1, 2, 5, 1 << 20, 1 << 40}[r.IntN(6)]
	}
	in.Dims = in.Dims[:r.IntN(len(in.Dims)+1)]
}

// damageTensor replaces an element of an int64 constant.
func damageTensor(r *rand.Rand, t *Tensor) {
	if t.DType != Int64 || t.Len() == 0 {
		return
	}
	v := uint64(strange(r))
	at := 8 * r.IntN(t.Len())
	for i := range 8 {
		t.Data[at+i] = byte(v >> (8 * i))
	}
}
