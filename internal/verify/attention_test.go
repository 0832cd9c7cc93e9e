package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// attentionText is attention from one matrix of queries, keys and values, as networks write it: heads cut out of rows,
// masked scores, heads joined again.
func attentionText(batch, heads, words, width int, transposed bool, mask string) string {
	all := heads * width
	cut := func(name string, at int, axes string) string {
		return fmt.Sprintf(`%%%[1]s0 = strided_slice(%%x) {begin=[0,0,%[2]d], end=[%[3]d,%[4]d,%[5]d], strides=[1,1,1]}
			%%%[1]s1 = reshape(%%%[1]s0) {new_shape=[%[3]d,%[4]d,%[6]d,%[7]d]} %%%[1]s = transpose(%%%[1]s1) {axes=[%[8]s]}
			`, name, at*all, batch, words, (at+1)*all, heads, width, axes)
	}
	keys := "0,2,3,1"
	if transposed {
		keys = "0,2,1,3"
	}
	return fmt.Sprintf(`graph main(%%x: float32[%d,%d,%d], %%mask: %s) {
			@scale = float32[]{0.3}
			`, batch, words, 3*all, mask) + cut("q", 0, "0,2,1,3") + cut("k", 1, keys) + cut("v", 2, "0,2,1,3") +
		fmt.Sprintf(`%%s0 = nn.matmul(%%q, %%k) {transpose_a=false, transpose_b=%t} %%s1 = multiply(%%s0, @scale) %%s = add(%%s1, %%mask)
			%%w = nn.softmax(%%s) {axis=3} %%y0 = nn.matmul(%%w, %%v) {transpose_a=false, transpose_b=false} origin "product"
			%%y1 = transpose(%%y0) {axes=[0,2,1,3]} %%y = reshape(%%y1) {new_shape=[%d,%d,%d]} return %%y }`, transposed, batch, words, all)
}

// TestAttention compiles attention of all sorts of sizes for vectors of all widths. It is right as costs decide, and where one kernel is decided it is one.
func TestAttention(t *testing.T) {
	t.Parallel()
	for _, m := range []struct{ bits, registers int }{{512, 32}, {256, 16}, {128, 32}, {128, 16}} {
		tgt := targettest.Registers(t, m.bits, m.registers)
		for _, c := range []struct {
			batch, heads, words, width int
			transposed                 bool
			mask                       string
		}{
			{1, 2, 197, 64, false, "float32[1]"},
			{2, 3, 37, 40, true, "float32[2,1,1,37]"},
			{1, 1, 16, 72, false, "float32[16,16]"},
			{1, 4, 31, 5, true, "float32[1,4,31,31]"},
			{3, 1, 5, 16, false, "float32[1,1,1,5]"},
			{1, 2, 128, 32, true, "float32[1,1,1,128]"},
		} {
			t.Run(fmt.Sprintf("%dx%d/%+v", m.registers, m.bits, c), func(t *testing.T) {
				text := attentionText(c.batch, c.heads, c.words, c.width, c.transposed, c.mask)
				as := func(i int, x *tensor.Tensor) {}
				res, in, want := compileAndEval(t, text, compile.Options{Target: tgt}, as)
				if err := sameOutputs(res, in, want, 1, 2, 7); err != nil {
					t.Errorf("as costs decide: %v", err)
				}
				res, in, want = compileAndEval(t, text, compile.Options{Target: tgt, Choices: map[string]choice.Point{"product": {"attention": "on"}}}, as)
				if err := sameOutputs(res, in, want, 1, 2, 7); err != nil {
					t.Error(err)
				}
				kernels := 0
				for _, s := range res.Contents.Manifest.Steps {
					if !strings.HasPrefix(s.Name, "fused_reshape") {
						kernels++
					}
				}
				if kernels != 1 {
					t.Errorf("%d kernels instead of one", kernels)
				}
			})
		}
	}
}

// TestAttentionExtremes: scores of any size, masked keys, and rows that are masked throughout or hold NaN, which stay NaN.
func TestAttentionExtremes(t *testing.T) {
	t.Parallel()
	text := attentionText(1, 2, 19, 8, false, "float32[19,19]")
	for name, fill := range map[string]func(x, mask *tensor.Tensor){
		"large": func(x, mask *tensor.Tensor) {
			for i := range x.Len() {
				x.SetFloat(i, 1000*x.Float(i))
			}
		},
		"causal": func(x, mask *tensor.Tensor) {
			for i := range mask.Len() {
				if i%19 > i/19 {
					mask.SetFloat(i, math.Inf(-1))
				}
			}
		},
		"masked row": func(x, mask *tensor.Tensor) {
			for i := range 19 {
				mask.SetFloat(3*19+i, math.Inf(-1))
			}
		},
		"NaN":      func(x, mask *tensor.Tensor) { x.SetFloat(5, math.NaN()) },
		"infinite": func(x, mask *tensor.Tensor) { mask.SetFloat(40, math.Inf(1)) },
	} {
		t.Run(name, func(t *testing.T) {
			var last *tensor.Tensor
			res, in, want := compileAndEval(t, text, compile.Options{Target: targettest.Resolve(t, "llvm")}, func(i int, x *tensor.Tensor) {
				if i == 1 {
					fill(last, x)
				}
				last = x
			})
			got, err := Execute(res, in, 2)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want[0].Len() {
				a, b := want[0].Float(i), got[0].Float(i)
				if math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-4*max(1, math.Abs(a)) {
					t.Fatalf("element %d is %g instead of %g", i, b, a)
				}
			}
		})
	}
}

// compileAndEval compiles a graph at -O3 for random operands, which change may change, and evaluates it.
func compileAndEval(t *testing.T, text string, o compile.Options, change func(int, *tensor.Tensor)) (*compile.Result, []*tensor.Tensor, []*tensor.Tensor) {
	t.Helper()
	g, err := graph.Parse(text, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := graphtest.Inputs(rand.New(rand.NewPCG(1, 12)), g)
	for i, x := range in {
		if x.DType == types.F32 {
			change(i, x)
		}
	}
	o.Level, o.Workers = 3, 2
	res, want := withReference(t, g, in, o)
	return res, in, want
}
