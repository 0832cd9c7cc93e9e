package dpu

import (
	"strconv"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{"DPUCZDX8G-zcu104": "B4096", "dpuczdx8g-ZCU102": "B4096", "DPUCZDX8G-B1152": "B1152", "0x101000016010407": "B4096", "0x101000002010300": "B512"} {
		a, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Configuration != want {
			t.Errorf("%s is a %s, not a %s", name, a.Configuration, want)
		}
	}
	for i, s := range sizes { // the name of a size is its number of operations
		a := zynq("", i, 1, 300, 1, "")
		if "B"+strconv.Itoa(a.Peak()) != s.name {
			t.Errorf("%s has %d operations in a cycle", s.name, a.Peak())
		}
	}
	for name, want := range map[string]string{"DPUCZDX8G-zcu14": "did you mean DPUCZDX8G-zcu104", "0xzz": "no number", "0x10100001601040f": "size 15", "0x5": "no known family",
		"0x201000016010407": "DPUCAHX8H", "0x107000016010407": "version 7"} {
		if _, err := Lookup(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimits pins that a refusal names the limit and the value.
func TestLimits(t *testing.T) {
	conv := func(edit func(a *ops.ConvAttrs), channels, out, kernel, groups int) *graph.Node {
		a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: groups}
		if edit != nil {
			edit(&a)
		}
		x := &graph.Value{Name: "x", Type: types.Of(types.F32, 1, channels, 40, 40)}
		n := &graph.Node{Op: ops.Conv2d, Attrs: a, In: []*graph.Value{x, graph.NewConst("w", tensor.New(types.F32, out, channels/groups, kernel, kernel))}}
		if err := n.Infer(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	pool := func(kernel, stride int) *graph.Node {
		a := ops.PoolAttrs{PoolSize: []int{kernel, kernel}, Strides: []int{stride, stride}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}}
		n := &graph.Node{Op: ops.MaxPool2d, Attrs: a, In: []*graph.Value{{Type: types.Of(types.F32, 1, 3, 300, 300)}}}
		if err := n.Infer(); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, c := range []struct {
		arch string
		node *graph.Node
		want string
	}{
		{"DPUCZDX8G-zcu104", conv(nil, 3, 8, 16, 1), ""},
		{"DPUCZDX8G-zcu104", conv(nil, 3, 8, 17, 1), "kernel height 17 is not in [1, 16]"},
		{"DPUCZDX8G-zcu104", conv(func(a *ops.ConvAttrs) { a.Strides = []int{9, 9} }, 3, 8, 3, 1), "stride height 9 is not in [1, 8]"},
		{"DPUCZDX8G-zcu104", conv(func(a *ops.ConvAttrs) { a.Dilation, a.Strides = []int{2, 2}, []int{2, 2} }, 3, 8, 3, 1), "dilation 2 with stride 2"},
		{"DPUCZDX8G-zcu104", conv(func(a *ops.ConvAttrs) { a.Padding = []int{4, 0, 0, 0} }, 3, 8, 3, 1), "padding 4 is more than the dilated kernel's 3"},
		{"DPUCZDX8G-zcu104", conv(nil, 4, 8, 3, 2), "2 groups of 4 input and 8 output channels"},
		{"DPUCZDX8G-zcu104", conv(nil, 4, 4097, 1, 1), "4097 output channels are more than 4096"},
		{"DPUCZDX8G-zcu104", conv(nil, 2064, 1, 4, 1), "takes 2064 words of the weight bank's 2048"},
		{"DPUCZDX8G-B512", conv(nil, 2049, 1, 1, 1), "2049 input channels are more than 2048"},
		{"DPUCZDX8G-zcu104", conv(nil, 8, 8, 3, 8), ""},
		{"DPUCAHX8H", conv(nil, 8, 8, 3, 8), "DPUCAHX8H has no depthwise convolutions"},
		{"DPUCADX8G", conv(func(a *ops.ConvAttrs) { a.Strides = []int{3, 3} }, 3, 8, 3, 1), "stride 3 is none of [1 2 4 8]"},
		{"DPUCADX8G", conv(func(a *ops.ConvAttrs) { a.Dilation = []int{3, 3} }, 3, 8, 3, 1), "dilation 3 is none of [1 2 4]"},
		{"DPUCVDX8G", conv(nil, 3, 8, 9, 1), "kernel 9x9 has more than 64 taps"},
		{"DPUCZDX8G-zcu104", pool(256, 2), ""},
		{"DPUCZDX8G-zcu104", pool(257, 2), "kernel height 257 is not in [1, 256]"},
		{"DPUCAHX8H", pool(9, 2), "kernel height 9 is not in [1, 8]"},
	} {
		a, err := Lookup(c.arch)
		if err != nil {
			t.Fatal(err)
		}
		if err := Supports(a, c.node); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v instead of %q", c.arch, graph.AttrsText(c.node.Attrs), err, c.want)
		}
	}
}
