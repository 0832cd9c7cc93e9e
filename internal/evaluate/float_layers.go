package evaluate

import (
	"slices"
	"strings"
)

// quantised reports whether a kernel reads or writes values by a scale.
func (k kernel) quantised() bool {
	return slices.ContainsFunc(k.Ops, func(op string) bool { return strings.HasPrefix(op, "qnn.") })
}

// product reports whether a kernel sums products.
func (k kernel) product() bool {
	return slices.ContainsFunc(k.Ops, func(op string) bool {
		return isConv(op) || strings.HasPrefix(op, "nn.dense") || strings.HasPrefix(op, "nn.matmul") || strings.HasPrefix(op, "nn.batch_matmul")
	})
}

// floatLayers finds sums of products of floats in a network that is quantised, each with its reason.
func floatLayers(e *evidence) []Cause {
	if !slices.ContainsFunc(e.kernels, kernel.quantised) {
		return nil
	}
	disabled := slices.Contains(strings.Split(e.Options["disabled-pass"], ","), "FakeQuantizationToInteger")
	var list []Cause
	for _, r := range floatReasons {
		list = append(list, e.count("layers of a quantised network compute with floats: "+r.why, func(k kernel) bool {
			return k.product() && strings.HasPrefix(k.Multiply, "float") && floatReason(k, disabled) == r.why
		})...)
	}
	return list
}

// floatReasons are why a layer computes with floats; the first that holds is its reason.
var floatReasons = []struct {
	why   string
	holds func(k kernel, disabled bool) bool
}{
	{"FakeQuantizationToInteger is disabled", func(_ kernel, disabled bool) bool { return disabled }},
	{"its data are floats (quantise what it reads)", func(k kernel, _ bool) bool {
		return len(k.Reads) > 0 && strings.HasPrefix(k.Reads[0], "float")
	}},
	{"its weights are floats (quantise them, too)", func(k kernel, _ bool) bool {
		return slices.ContainsFunc(k.Reads, func(t string) bool { return strings.HasPrefix(t, "const float") && rank(t) > 1 })
	}},
	{"its result is no integer of a scale (quantise it)", func(k kernel, _ bool) bool {
		return len(k.Writes) > 0 && strings.HasPrefix(k.Writes[0], "float")
	}},
	{"integer products cannot say what it computes with its scales and zero points", func(kernel, bool) bool { return true }},
}

func floatReason(k kernel, disabled bool) string {
	for _, r := range floatReasons {
		if r.holds(k, disabled) {
			return r.why
		}
	}
	return ""
}

// rank is the number of axes of a type as a manifest has it, "const float32[16,3,3,3]:ABCD16a".
func rank(text string) int {
	_, dims, _ := strings.Cut(text, "[")
	dims, _, _ = strings.Cut(dims, "]")
	if dims == "" {
		return 0
	}
	return strings.Count(dims, ",") + 1
}
