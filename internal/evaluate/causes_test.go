package evaluate

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/bundle"
)

// step is a kernel that takes a quarter of the time.
func step(node, limit, rule string, ops ...string) kernel {
	return kernel{bundle.Step{Nodes: []string{node}, Ops: ops, Rule: rule, FLOPs: 10, Multiply: "float32", Reads: []string{"float32[1,8,4,4]:ABCD8b"}, Writes: []string{"float32[1,8,4,4]:ABCD8b"}}, limit, 0.25}
}

// reading is a convolution of dequantised values of the types, whose node a converter has joined with another one.
func reading(types ...string) kernel {
	k := step("CONV_2D:a;b", "compute", "tile", "qnn.dequantize", "nn.conv2d")
	k.Reads = types
	return k
}

// Each cause by itself, and nothing where there is none.
func TestCauses(t *testing.T) {
	plain := step("/conv", "compute", "tile", "nn.conv2d")
	plain.Reads = []string{"float32[1,8,4,4]"}
	same := step("/conv2", "compute", "tile", "nn.conv2d")
	move := step("/t", "memory", "pointwise", "transpose", "reshape")
	pack := step("/p", "memory", "pointwise", "layout_transform")
	int8 := step("/q", "compute", "tile", "qnn.conv2d", "qnn.requantize")
	int8.Multiply = "int8"
	free := &bundle.Manifest{Steps: []bundle.Step{step("/conv", "", "", "nn.conv2d").Step, same.Step}}
	options := func(pairs ...string) map[string]string {
		m := map[string]string{"opt-level": "3"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for _, c := range []struct {
		name    string
		options map[string]string
		free    *bundle.Manifest
		kernels []kernel
		missing []string
		want    []string
	}{
		{"none", options(), nil, []kernel{plain, same, int8, pack}, nil, []string{"W06", "W07"}},
		{"nothing", options(), nil, []kernel{plain, same}, nil, nil},
		{"forced", options("desired-layout", "NCHW"), free, []kernel{plain, same}, nil, []string{"W01 layout NCHW was asked for, and the compiler would choose another for convolutions: 1, 25.0 % of the time (/conv)"}},
		{"missed", options("desired-layout", "NCHW", "desired-layout-ops", "nn.conv2d,nn.conv1d"), nil, []kernel{int8, int8}, nil,
			[]string{"W02 qnn.conv2d does not take layout NCHW; add qnn.conv2d to --desired-layout-ops: 2, 50.0 % of the time (/q, ...)"}},
		{"transposes", options(), nil, []kernel{move}, nil, []string{"W03 axes are transposed by kernels of their own: 1, 25.0 % of the time (/t)"}},
		{"packed for a layout", options("desired-layout", "NHWC"), nil, []kernel{pack}, nil, []string{"W03"}},
		{"level", options("opt-level", "2"), nil, []kernel{move}, nil, []string{"W03", "W04 ConvertLayout runs from -O3 on, this is -O2, and transposes are left: 1, 25.0 % of the time (/t)"}},
		{"level without transposes", options("opt-level", "2"), nil, []kernel{plain}, nil, nil},
		{"disabled", options("disabled-pass", "FuseOps,ConvertLayout"), nil, []kernel{move}, nil, []string{"W03", "W04 ConvertLayout is disabled"}},
		{"features", options(), nil, []kernel{plain}, []string{"avx2", "fma"}, []string{"W05 the target lacks what this machine has: avx2 fma: 1, 25.0 % of the time (/conv)"}},
		{"many features", options(), nil, []kernel{plain}, []string{"a", "b", "c", "d", "e", "f", "g"}, []string{"W05 the target lacks what this machine has: a b c d e and 2 more: 1"}},
		{"float among integers", options(), nil, []kernel{int8, plain}, nil, []string{"W06 layers of a quantised network compute with floats: its data are floats (quantise what it reads): 1, 25.0 % of the time (/conv)"}},
		{"float weights", options(), nil, []kernel{int8, reading("int8[1,8,4,4]:ABCD8b", "const float32[8,8,3,3]:ABCD8a")}, nil, []string{"W06 layers of a quantised network compute with floats: its weights are floats (quantise them, too): 1, 25.0 % of the time (CONV_2D:b)"}},
		{"float result", options(), nil, []kernel{int8, reading("int8[1,8,4,4]:ABCD8b", "const int8[8,8,3,3]:ABCD8a", "const float32[8]")}, nil, []string{"W06 layers of a quantised network compute with floats: its result is no integer of a scale (quantise it): 1"}},
		{"not on integers", options("disabled-pass", "FakeQuantizationToInteger"), nil, []kernel{step("/c", "compute", "tile", "qnn.dequantize", "nn.conv2d")}, nil, []string{"W06 layers of a quantised network compute with floats: FakeQuantizationToInteger is disabled"}},
		{"memory", options(), nil, []kernel{step("/add", "memory", "pointwise", "add"), step("/mul", "memory", "pointwise", "multiply")}, nil, []string{"W07 moving data takes longer than computing with it: 2, 50.0 % of the time (/add, /mul)"}},
		{"unscheduled", options(), nil, []kernel{step("/x", "compute", "serial", "x")}, nil, []string{"W08 kernels have no schedule and no vectors: 1, 25.0 % of the time (/x)"}},
	} {
		e := &evidence{Manifest: &bundle.Manifest{Options: c.options}, free: c.free, kernels: c.kernels, missing: c.missing, levels: map[string]int{"ConvertLayout": 3}}
		var got []string
		for _, x := range e.causes() {
			got = append(got, x.String())
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.name, got, c.want)
		}
	}
}

// Codes are stable, in order, and each stands once.
func TestCodes(t *testing.T) {
	for i, f := range finders {
		if want := "W0" + string(rune('1'+i)); f.code != want || f.doc == "" {
			t.Errorf("%s %q, want %s", f.code, f.doc, want)
		}
	}
}

// What external code generators refuse is a cause for each operator and reason, with the kernels that compute it.
func TestRefused(t *testing.T) {
	conv, other, sum := step("/conv", "compute", "tile", "nn.conv2d"), step("/conv2", "compute", "tile", "nn.conv2d"), step("/sum", "compute", "pointwise", "add")
	e := &evidence{Manifest: &bundle.Manifest{}, kernels: []kernel{conv, other, sum}, refused: []Refusal{
		{"dpu", "nn.conv2d", "kernel 17x17 is larger than 16", []string{"/conv"}}, {"dpu", "nn.conv2d", "kernel 17x17 is larger than 16", []string{"/conv2"}},
		{"dpu", "nn.conv2d", "dilation", []string{"/folded"}},
	}}
	got := refused(e)
	want := "dpu does not take nn.conv2d: kernel 17x17 is larger than 16"
	if len(got) != 1 || got[0].Text != want || got[0].Count != 2 || got[0].Share != conv.share+other.share {
		t.Errorf("%+v", got)
	}
}
