package interp

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/loop"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func parse(t testing.TB, text string) *loop.Func {
	t.Helper()
	f, err := loop.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func floats(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7)%11) - 5
	}
	return v
}

// product is the plain matrix product of a m×k and a k×n matrix.
func product(a, b []float32, m, k, n int) []float32 {
	c := make([]float32, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				c[i*n+j] += a[i*k+l] * b[l*n+j]
			}
		}
	}
	return c
}

// TestMatmul runs one product in several forms: all must agree.
func TestMatmul(t *testing.T) {
	const head = "func matmul(a: float32[5,6], b: float32[6,8], c: float32[5,8]) {\n"
	a, b := floats(30), floats(48)
	want := product(a, b, 5, 6, 8)
	for name, body := range map[string]string{
		"block": `for i in 0..5 { for j in 0..8 { for k in 0..6 {
			block mm(x: 5 = i, y: 8 = j, z: reduce 6 = k) { init c[x, y] = 0.0 c[x, y] = (c[x, y] + (a[x, z] * b[z, y])) } } } }`,
		"split block": `parallel i.o in 0..3 { for i.i in 0..2 { for k in 0..6 { for j in 0..8 {
			block mm(x: 5 = ((i.o * 2) + i.i), y: 8 = j, z: reduce 6 = k) where (x < 5) {
				init c[x, y] = 0.0 c[x, y] = (c[x, y] + (a[x, z] * b[z, y])) } } } } }`,
		"registers": `parallel i in 0..5 {
			alloc acc: float32[2,4] reg
			unroll t in 0..2 { vector l in 0..4 { acc[t, l] = 0.0 } }
			for k in 0..6 { unroll t in 0..2 { vector l in 0..4 { acc[t, l] = (acc[t, l] + (a[i, k] * b[k, ((t * 4) + l)])) } } }
			unroll t in 0..2 { vector l in 0..4 { c[i, ((t * 4) + l)] = acc[t, l] } } }`,
		"horizontal": `for i in 0..5 { for j in 0..8 { c[i, j] = 0.0 vector k in 0..6 { c[i, j] = (c[i, j] + (a[i, k] * b[k, j])) } } }`,
		"scratch around": `alloc row: float32[8] worker
			parallel i in 0..5 {
				for j in 0..8 { row[j] = 0.0 }
				for k in 0..6 { for j in 0..8 { row[j] = (row[j] + (a[i, k] * b[k, j])) } }
				for j in 0..8 { c[i, j] = row[j] } }`,
	} {
		f := parse(t, head+body+"}")
		for _, workers := range []int{1, 2, 7} {
			c := tensor.New(types.F32, 5, 8)
			if err := Run(f, []*tensor.Tensor{tensor.Of([]int{5, 6}, a), tensor.Of([]int{6, 8}, b), c}, workers); err != nil {
				t.Errorf("%s, %d workers: %v", name, workers, err)
				continue
			}
			if got := tensor.As[float32](c); !slices.Equal(got, want) {
				t.Errorf("%s, %d workers: %v, want %v", name, workers, got, want)
			}
		}
	}
}

// TestStatements has one output of eight elements per case.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		body string
		want []int32
	}{
		{"for i in 2..5 { y[i] = int32(i) }", []int32{0, 0, 2, 3, 4, 0, 0, 0}},
		{"for i in 0..-3 { y[i] = 1:int32 }", []int32{0, 0, 0, 0, 0, 0, 0, 0}},
		{"for i in 0..8 { if ((i % 2) == 0) { y[i] = 1:int32 } else { y[i] = 2:int32 } }", []int32{1, 2, 1, 2, 1, 2, 1, 2}},
		{"for i in 0..8 { if (i < 3) { y[i] = 1:int32 } }", []int32{1, 1, 1, 0, 0, 0, 0, 0}},
		{"for i in 0..4 { let k: int64 = (i * 2) y[k] = int32(k) }", []int32{0, 0, 2, 0, 4, 0, 6, 0}},
		{"for i in 0..3 { for j in i..+2 { y[j] = (y[j] + 1:int32) } }", []int32{1, 2, 2, 1, 0, 0, 0, 0}},
		{"y[0] = 1:int32 parallel i in 1..8 { y[i] = int32(i) }", []int32{1, 1, 2, 3, 4, 5, 6, 7}},
		{"let n: int64 = 3 parallel i in 0..n { y[i] = 7:int32 }", []int32{7, 7, 7, 0, 0, 0, 0, 0}},
		{"parallel i in 0..2 { parallel j in 0..4 { y[((i * 4) + j)] = int32(i) } }", []int32{0, 0, 0, 0, 1, 1, 1, 1}},
		{"for i in 0..2 { parallel j in 0..4 { y[((j * 2) + i)] = int32(i) } parallel j in 0..4 { y[((j * 2) + i)] = (y[((j * 2) + i)] + 2:int32) } }", []int32{2, 3, 2, 3, 2, 3, 2, 3}},
		{"for i in 0..8 { y[i] = select(((i > 0) & (y[max((i - 1), 0)] < 3:int32)), (y[(i - 1)] + 1:int32), 0:int32) }", []int32{0, 1, 2, 3, 0, 1, 2, 3}},
	} {
		for _, workers := range []int{1, 3} {
			y := tensor.New(types.I32, 8)
			if err := Run(parse(t, "func f(y: int32[8]) {\n"+c.body+"}"), []*tensor.Tensor{y}, workers); err != nil {
				t.Errorf("%s: %v", c.body, err)
				continue
			}
			if got := tensor.As[int32](y); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.body, got, c.want)
			}
		}
	}
}

// TestTypes copies values through each element type.
func TestTypes(t *testing.T) {
	for _, d := range types.DTypes() {
		text := "func f(x: T[4], y: T[4], z: float64[4]) {\n for i in 0..4 { y[i] = C(float64(x[i])) z[i] = float64(y[i]) } }"
		f := parse(t, strings.NewReplacer("T", d.String(), "C", d.Compute().String()).Replace(text))
		x, y, z := tensor.New(d, 4), tensor.New(d, 4), tensor.New(types.F64, 4)
		for i, v := range []float64{0, 1, 100, 0.333} {
			x.SetFloat(i, v)
		}
		if d.IsSigned() || d.IsFloat() {
			x.SetFloat(2, -100)
		}
		if err := Run(f, []*tensor.Tensor{x, y, z}, 1); err != nil {
			t.Error(err)
			continue
		}
		if !slices.Equal(x.Bytes(), y.Bytes()) {
			t.Errorf("%s: %v became %v", d, x.Bytes(), y.Bytes())
		}
		for i := range 4 {
			if z.Float(i) != x.Float(i) {
				t.Errorf("%s: element %d is %v, want %v", d, i, z.Float(i), x.Float(i))
			}
		}
	}
}

func TestNarrowingStores(t *testing.T) {
	f := parse(t, `func f(h: float16[2], b: bfloat16[2], u: uint8[2], t: bool[1]) {
		h[0] = 2049.0 h[1] = 1e9 b[0] = 257.0 b[1] = nan u[0] = (200:uint8 + 100:uint8) u[1] = uint8(-1) t[0] = (u[0] == 44:uint8)
	}`)
	args := []*tensor.Tensor{tensor.New(types.F16, 2), tensor.New(types.BF16, 2), tensor.New(types.U8, 2), tensor.New(types.Bool, 1)}
	if err := Run(f, args, 1); err != nil {
		t.Fatal(err)
	}
	if h, b := args[0], args[1]; h.Float(0) != 2048 || !(h.Float(1) > 1e30) || b.Float(0) != 256 || b.Float(1) == b.Float(1) {
		t.Errorf("float16 %v %v, bfloat16 %v %v", h.Float(0), h.Float(1), b.Float(0), b.Float(1))
	}
	if u, b := args[2], args[3]; u.Int(0) != 44 || u.Int(1) != 255 || b.Int(0) != 1 {
		t.Errorf("uint8 %v %v, bool %v", u.Int(0), u.Int(1), b.Int(0))
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"for i in 0..9 { y[i] = 0.0 }", "y[8] is outside of its shape [8], in:\n  y[i] = 0.0\n  with i = 8"},
		{"for i in 0..8 { y[i] = x[(i - 1), 0] }", "x[-1 0] is outside of its shape [4 4], in:\n  y[i] = x[(i - 1), 0]\n  with i = 0"},
		{"y[0] = x[0, 4]", "x[0 4] is outside"},
		{"y[n[0]] = 0.0", "y[99] is outside"},
		{"for i in 0..int64(x[5, 0]) { y[i] = 0.0 }", "x[5 0] is outside of its shape [4 4], in:\n  for i in"},
		{"alloc t: float32[4] worker y[0] = t[2]", "t[2] is read before it is written"},
		{"alloc t: float32[4] worker { t[1] = 1.0 y[0] = t[1] } y[1] = 1.0 for i in 0..2 { alloc s: float32[1] reg if (i == 0) { s[0] = 1.0 } y[i] = s[0] }", "s[0] is read before it is written, in:\n  y[i] = s[0]\n  with i = 1"},
		{"alloc t: float32[4] worker parallel i in 0..4 { if (i == 0) { t[0] = 1.0 } y[i] = t[0] }", "t[0] is read before it is written"},
		{"for i in 0..4 { block b(k: 3 = i) { y[k] = 0.0 } }", "block b: k = 3 is outside of 0..3"},
		{"alloc t: float32[99999,99999] worker y[0] = 0.0", "t: too large"},
		{"y[0] = z[0]", `no tensor or buffer "z"`},
	} {
		f, err := loop.Parse("func f(x: float32[4,4], n: int64[1], y: float32[8]) {\n" + c.body + "}")
		if err == nil {
			err = Run(f, []*tensor.Tensor{tensor.New(types.F32, 4, 4), tensor.Of([]int{1}, []int64{99}), tensor.New(types.F32, 8)}, 1)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.body, err, c.want)
		}
	}
}

// TestWorkersDoNotShare has a kernel whose answer depends on another worker's work: it must not come out right.
func TestWorkersDoNotShare(t *testing.T) {
	f := parse(t, "func f(y: int32[8]) { parallel i in 0..8 { y[i] = int32((i + 1)) } parallel j in 0..8 { y[j] = (y[j] + y[(7 - j)]) } }")
	y := tensor.New(types.I32, 8)
	if err := Run(f, []*tensor.Tensor{y}, 2); err != nil {
		t.Fatal(err)
	}
	if got := tensor.As[int32](y); got[7] != 8 {
		t.Errorf("worker 1 saw the work of worker 0: %v", got)
	}
}

func TestArguments(t *testing.T) {
	f := parse(t, "func f(x: float32[2,3], y: float32[2]) { y[0] = x[1, 1] y[1] = 0.0 }")
	x, y := tensor.New(types.F32, 6), tensor.New(types.F32, 2)
	for _, c := range []struct {
		args    []*tensor.Tensor
		workers int
		want    string
	}{
		{[]*tensor.Tensor{x, y}, 1, ""},
		{[]*tensor.Tensor{x, y}, 0, "0 workers"},
		{[]*tensor.Tensor{x}, 1, "1 arguments for 2 parameters"},
		{[]*tensor.Tensor{x, nil}, 1, "no argument for y"},
		{[]*tensor.Tensor{y, y}, 1, "x spans 6 elements, its argument has 2"},
		{[]*tensor.Tensor{x, tensor.New(types.I32, 2)}, 1, "y is float32, its argument int32"},
	} {
		err := Run(f, c.args, c.workers)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
	bad := &loop.Func{Name: "bad"}
	if err := Run(bad, nil, 1); err == nil || !strings.Contains(err.Error(), "no body") {
		t.Errorf("an invalid function: %v", err)
	}
}

// BenchmarkMatmul measures what a test kernel of 64^3 multiplications costs.
func BenchmarkMatmul(b *testing.B) {
	f := parse(b, `func matmul(a: float32[64,64], b: float32[64,64], c: float32[64,64]) {
		for i in 0..64 { for j in 0..64 { c[i, j] = 0.0 for k in 0..64 { c[i, j] = (c[i, j] + (a[i, k] * b[k, j])) } } } }`)
	m := tensor.Of([]int{64, 64}, floats(64*64))
	c := tensor.New(types.F32, 64, 64)
	for b.Loop() {
		if err := Run(f, []*tensor.Tensor{m, m, c}, 1); err != nil {
			b.Fatal(err)
		}
	}
}
