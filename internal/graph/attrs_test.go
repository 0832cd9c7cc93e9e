package graph

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"lathe/internal/op"
	"lathe/internal/types"
)

func parseAttrs(d *op.Def, text string) (any, error) {
	p := &parser{text: text}
	p.space()
	a := p.attrs(d)
	if p.err == nil && p.pos < len(text) {
		p.failf("rest")
	}
	return a, p.err
}

func TestAttrs(t *testing.T) {
	cases := []struct {
		attrs everyAttr
		want  string
	}{
		{everyAttr{}, ""},
		{everyAttr{Axis: -3, Small: -128, Count: 65535}, " {axis=-3, small=-128, count=65535}"},
		{everyAttr{Epsilon: 1e-5, Scale: 0.1, KeepDims: true}, " {epsilon=1e-05, scale=0.1, keep_dims=true}"},
		{everyAttr{Epsilon: math.Inf(-1), Values: []float64{0, 0.5, math.Copysign(0, -1)}}, " {epsilon=-inf, values=[0,0.5,-0]}"},
		{everyAttr{Epsilon: math.Copysign(0, -1)}, " {epsilon=-0}"},
		{everyAttr{Mode: "a \"b\"\n\xff", DstLayout: "ABCD8b"}, ` {mode="a \"b\"\n\xff", dst_layout="ABCD8b"}`},
		{everyAttr{OutDType: types.BF16, DTypes: []types.DType{types.Bool, types.Invalid}}, " {out_dtype=bfloat16, dtypes=[bool,invalid]}"},
		{everyAttr{Axes: []int{}, Modes: []string{"", ","}, Flags: []bool{false, true}}, ` {axes=[], modes=["",","], flags=[false,true]}`},
		{everyAttr{Indices: [][]int{{0}, nil, {}, {0, 1}}, Deep: [][][]int{{{7}}}}, " {indices=[[0],nil,[],[0,1]], deep=[[[7]]]}"},
		{everyAttr{Pair: pairAttr{First: 1}, Pairs: []pairAttr{{}, {Last: []int{2}}}}, " {pair={first=1}, pairs=[{},{last=[2]}]}"},
	}
	for _, c := range cases {
		text := string(appendAttrs(nil, c.attrs))
		if text != c.want {
			t.Errorf("got %s, want %s", text, c.want)
		}
		back, err := parseAttrs(testEvery, text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if !reflect.DeepEqual(back, any(c.attrs)) {
			t.Errorf("%s comes back as %+v", text, back)
		}
	}
}

func TestAttrErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{axis=1, axis=2}`:    `"axis" twice`,
		`{nothing=1}`:         `no attribute "nothing"`,
		`{small=128}`:         "out of range",
		`{count=-1}`:          "invalid syntax",
		`{axis=1.5}`:          "invalid syntax",
		`{keep_dims=1}`:       "neither true nor false",
		`{out_dtype=float12}`: "float12",
		`{axes=[1 2]}`:        `"," is expected`,
		`{mode=x}`:            "quoted string",
		`{mode="x`:            "does not end",
		`{axes=[`:             "end of text",
		`{indices=[1]}`:       `"[" is expected`,
		`{axis=}`:             "a value is expected",
	} {
		if a, err := parseAttrs(testEvery, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want an error with %q", text, a, err, want)
		}
	}
}

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"Axis": "axis", "K": "k", "PadBefore": "pad_before", "OutDType": "out_dtype", "DType": "dtype",
		"HasMin": "has_min", "LHSAxis": "lhs_axis", "Conv2DMode": "conv2_d_mode",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestCheckAttrs(t *testing.T) {
	type recursive struct{ Sub []struct{ Next []int } }
	for _, d := range []*op.Def{testEvery, testConv, testRelu, Group, unary[recursive]("nested")} {
		if err := CheckAttrs(d); err != nil {
			t.Error(err)
		}
	}
	//lint:ignore U1000 the field is there to be refused
	type hidden struct{ axis int }
	type twins struct{ OutDType, OutDtype int }
	type node struct{ Next []node }
	for want, d := range map[string]*op.Def{
		"no text form":  unary[struct{ F map[string]int }]("a"),
		"*int":          unary[struct{ F []*int }]("a"),
		"not exported":  unary[hidden]("a"),
		"two fields":    unary[twins]("a"),
		"recursive":     unary[node]("a"),
		"is no struct":  unary[int]("a"),
		"func()":        unary[struct{ F func() }]("a"),
		"interface {}":  unary[struct{ F any }]("a"),
		"complex128":    unary[struct{ F complex128 }]("a"),
		"[2]int":        unary[struct{ F [2]int }]("a"),
		"field Inner: ": unary[struct{ Inner hidden }]("a"),
	} {
		if err := CheckAttrs(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
