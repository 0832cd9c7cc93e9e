package verify

import (
	"lathe/internal/compile"
	"slices"
	"strings"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
)

// TestRewrites: graphs at the edge of what passes rewrite keep their results, shapes included.
func TestRewrites(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a constant that is an output and is read": `graph main(%x: float32[2,3]) {
@a = float32[3]{1,2,3}
%w = exp(@a)
%y = add(%x, %w)
return %y, %w
}`,
		"an epsilon that adds an axis": `graph main(%x: float32[2,3,5]) {
@e = float32[1,1,1,1]{0.00001}
%m = mean(%x) {axis=[2], keep_dims=true}
%d = subtract(%x, %m)
%q = multiply(%d, %d)
%v = mean(%q) {axis=[2], keep_dims=true}
%w = add(%v, @e)
%s = sqrt(%w)
%y = divide(%d, %s)
return %y
}`,
		"no channels of a shuffle": `graph main(%c: float32[1,32,4,4], %w: float32[32,16,1,1]) {
%r = reshape(%c) {new_shape=[1,2,16,4,4]}
%t = transpose(%r) {axes=[0,2,1,3,4]}
%s = reshape(%t) {new_shape=[1,32,4,4]}
%a = strided_slice(%s) {begin=[0,0,0,0], end=[1,16,4,4], strides=[1,1,1,1]}
%e = strided_slice(%s) {begin=[0,16,0,0], end=[1,16,4,4], strides=[1,1,1,1]}
%f = nn.relu(%e)
%y = nn.conv2d(%a, %w) {strides=[1,1], padding=[0,0,0,0], dilation=[1,1], groups=1}
return %y, %f
}`,
	} {
		t.Run(name, func(t *testing.T) {
			res, in, want := compileAndEval(t, text, compile.Options{Target: targettest.Resolve(t, "llvm")}, func(int, *tensor.Tensor) {})
			if err := sameOutputs(res, in, want, 1, 2); err != nil {
				t.Error(err)
			}
			for i, o := range res.Contents.Manifest.Outputs {
				if !slices.Equal(o.Shape, want[i].Shape) {
					t.Errorf("output %d has shape %v, want %v", i, o.Shape, want[i].Shape)
				}
				if _, outputs, _ := strings.Cut(text, "return"); !strings.Contains(outputs, "%"+o.Name) {
					t.Errorf("output %d is named %q", i, o.Name)
				}
			}
		})
	}
}
