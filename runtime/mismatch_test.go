package runtime

import (
	"strings"
	"testing"
)

func TestMismatch(t *testing.T) {
	picture, sound := []int{1, 3, 64, 48}, []int{1, 512}
	for _, c := range []struct {
		want, got []int
		says      string
	}{
		{picture, []int{1, 64, 48, 3}, `input "x": got float32[1,64,48,3], the model expects float32[1,3,64,48]: it looks like channels last (NHWC)`},
		{[]int{1, 64, 48, 3}, picture, "it looks like channels first (NCHW)"},
		{picture, []int{3, 64, 48}, "add the batch dimension in front"},
		{picture, []int{64, 48, 3}, "add the batch dimension in front; it looks like channels last"},
		{picture, []int{2, 3, 64, 48}, "compile with --input-shapes 'x:[2,3,64,48]'"},
		{sound, []int{512}, "add the batch dimension"},
		{sound, []int{1, 513}, "compile with --input-shapes 'x:[1,513]'"},
		{sound, []int{513}, "got float32[513], the model expects float32[1,512]"},
		{[]int{}, []int{1}, "got float32[1], the model expects float32[]"},
		{[]int{1}, []int{}, "add the batch dimension"},
	} {
		err := mismatch(TensorInfo{Name: "x", DType: "float32", Shape: c.want}, Tensor{DType: "float32", Shape: c.got})
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v for %v: %v, want %s", c.got, c.want, err, c.says)
		}
	}
	if got := hint(TensorInfo{Shape: sound}, sound); got != "" {
		t.Errorf("the right shape has the hint %q", got)
	}
}
