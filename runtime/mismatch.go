package runtime

import (
	"fmt"
	"slices"
	"strings"
)

// shapeText prints a shape: [1,3,224,224].
func shapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(append([]int{}, shape...)), " ", ",")
}

// mismatch is the error for a tensor that is not of the input's type, with what may be meant.
func mismatch(want TensorInfo, t Tensor) error {
	return fmt.Errorf("input %q: got %s%s, the model expects %s%s%s",
		want.Name, t.DType, shapeText(t.Shape), want.DType, shapeText(want.Shape), hint(want, t.Shape))
}

// hint tells what to do about a shape that is not the input's, if it looks like a common mistake.
func hint(want TensorInfo, got []int) string {
	w := want.Shape
	if slices.Equal(got, w) {
		return ""
	}
	switch {
	case len(got) == len(w)-1 && w[0] == 1 && slices.Equal(got, w[1:]):
		return ": add the batch dimension in front"
	case len(got) == len(w)-1 && w[0] == 1:
		if moved := channels(append([]int{1}, got...), w); moved != "" {
			return ": add the batch dimension in front; " + moved
		}
		return ""
	case len(got) != len(w):
		return ""
	}
	if moved := channels(got, w); moved != "" {
		return ": " + moved
	}
	return fmt.Sprintf(": sizes are fixed when a model is compiled; for this one, compile with --input-shapes '%s:%s'", want.Name, shapeText(got))
}

// channels tells whether the channels stand at the other end of a picture.
func channels(got, want []int) string {
	if len(got) != len(want) || len(got) < 3 || slices.Equal(got, want) {
		return ""
	}
	last := len(got) - 1
	toFirst := slices.Concat(got[:1], got[last:], got[1:last])
	toLast := slices.Concat(got[:1], got[2:], got[1:2])
	switch {
	case slices.Equal(toFirst, want):
		return "it looks like channels last (NHWC), and the model's are first: transpose it"
	case slices.Equal(toLast, want):
		return "it looks like channels first (NCHW), and the model's are last: transpose it"
	}
	return ""
}
