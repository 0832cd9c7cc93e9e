package pass

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/graphtest"
)

// conv is what follows the operands of a convolution of images.
func conv(strides, padding, groups int) string {
	return fmt.Sprintf("{strides=[%[1]d,%[1]d], padding=[%[2]d,%[2]d,%[2]d,%[2]d], dilation=[1,1], groups=%[3]d}", strides, padding, groups)
}

// unset are constants of a graph's text without elements.
var unset = regexp.MustCompile(`@\w+ = \w+\[([\d,]*)\](\s)`)

// filled gives those constants elements, small integers.
func filled(text string) string {
	return unset.ReplaceAllStringFunc(text, func(c string) string {
		n := 1
		for _, d := range strings.Split(unset.FindStringSubmatch(c)[1], ",") {
			d, _ := strconv.Atoi(d)
			n *= d
		}
		elements := make([]string, n)
		for i := range elements {
			elements[i] = strconv.Itoa(i%7 - 3)
		}
		return strings.TrimSpace(c) + "{" + strings.Join(elements, ", ") + "} "
	})
}

// layOut decides how the nodes of g are computed and gives values their layouts, as the pipeline does.
func layOut(t testing.TB, g *graph.Graph, layouts []string, only ...string) {
	t.Helper()
	c := &Context{Graph: g, Target: machine, Level: 3, Layouts: layouts, LayoutOps: only}
	for _, p := range Table {
		switch p.Name {
		case "ChooseImplementations", "Winograd", "AlterOpLayout":
			if err := p.Run(c); err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
			if err := Verify(c); err != nil {
				t.Fatalf("after %s: %v\n%s", p.Name, err, g)
			}
		}
	}
}

// TestAlterOpLayout shows the layouts of small graphs, on vectors of 8.
func TestAlterOpLayout(t *testing.T) {
	chain := `graph main(%x: float32[1,16,8,8]) {
		@a = float32[16,16,1,1] @b = float32[16] @c = float32[32,16,3,3] @s = float32[1,32,1,1] @d = float32[24,32,1,1]
		%0 = nn.conv2d(%x, @a, @b) ` + conv(1, 0, 1) + ` %1 = nn.relu(%0) %2 = nn.conv2d(%1, @c) ` + conv(2, 1, 1) + ` %3 = multiply(%2, @s)
		%4 = nn.max_pool2d(%3) {pool_size=[2,2], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
		%y = nn.conv2d(%4, @d) ` + conv(1, 0, 1) + ` return %y }`
	for _, c := range []struct {
		name, text string
		layouts    []string
	}{
		{"chain", chain, nil},
		{"chain_nchw", chain, []string{"NCHW"}},
		{"chain_nhwc", chain, []string{"NHWC"}},
		{"chain_nchw4c", chain, []string{"NCHW4c"}},
		{"residual", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @b = float32[16,16,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = nn.relu(%0) %2 = nn.conv2d(%1, @b) ` + conv(1, 0, 1) + `
			%3 = add(%2, %1) %y = add(%3, %x) return %y }`, nil},
		{"winograd", `graph main(%x: float32[1,64,28,28]) {
			@a = float32[64,64,3,3] @b = float32[64]
			%0 = nn.conv2d(%x, @a, @b) ` + conv(1, 1, 1) + ` %y = nn.relu(%0) return %y }`, nil},
		{"depthwise", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[20,16,1,1] @d = float32[20,1,3,3]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = clip(%0) {min=0, max=6, has_min=true, has_max=true}
			%2 = nn.conv2d(%1, @d) ` + conv(1, 1, 20) + ` %y = mean(%2) {axis=[2,3], keep_dims=true} return %y }`, nil},
		{"depthwise_alone", `graph main(%x: float32[1,20,32,32]) {
			@d = float32[20,1,3,3] %0 = nn.conv2d(%x, @d) ` + conv(1, 1, 20) + ` %y = nn.relu(%0) return %y }`, nil},
		{"depthwise_phases", `graph main(%x: float32[1,64,28,28]) {
			@a = float32[64,1,2,2] @b = float32[64,1,2,2]
			%0 = nn.conv2d(%x, @a) {strides=[1,1], padding=[1,1,0,0], dilation=[1,1], groups=64} %1 = nn.conv2d(%x, @b) {strides=[1,1], padding=[1,0,0,1], dilation=[1,1], groups=64}
			%2 = nn.conv2d(%x, @b) {strides=[1,1], padding=[0,1,1,0], dilation=[1,1], groups=64} %3 = nn.conv2d(%x, @a) {strides=[1,1], padding=[0,0,1,1], dilation=[1,1], groups=64}
			%4 = concatenate(%0, %1, %2, %3) {axis=1} %y = nn.depth_to_space_nd(%4) {block_shape=[2,2], crops=[0,0,0,0], groups=1, channels=64, step=64} return %y }`, nil},
		{"depthwise_of_tokens", `graph main(%x: float32[1,1024,64]) {
			@d = float32[64,1,3,3] %0 = transpose(%x) {axes=[0,2,1]} %1 = reshape(%0) {new_shape=[1,64,32,32]} %2 = nn.conv2d(%1, @d) ` + conv(1, 1, 64) + `
			%3 = reshape(%2) {new_shape=[1,64,1024]} %y = transpose(%3) {axes=[0,2,1]} return %y }`, nil},
		{"one_pixel", `graph main(%x: float32[1,64,1,1]) {
			@a = float32[128,64,1,1] %y = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` return %y }`, nil},
		{"first_layer", `graph main(%x: float32[1,3,8,8]) {
			@a = float32[16,3,3,3] @b = float32[16,16,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(2, 1, 1) + ` %1 = nn.relu(%0) %y = nn.conv2d(%1, @b) ` + conv(1, 0, 1) + ` return %y }`, nil},
		{"few_channels", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @b = float32[3,16,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %y = nn.conv2d(%0, @b) ` + conv(1, 0, 1) + ` return %y }`, nil},
		{"wide_groups", `graph main(%x: float32[1,32,8,8]) {
			@a = float32[32,16,3,3] %y = nn.conv2d(%x, @a) ` + conv(1, 1, 2) + ` return %y }`, nil},
		{"narrow_groups", `graph main(%x: float32[1,24,8,8]) {
			@a = float32[24,24,1,1] @g = float32[24,4,3,3]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = nn.conv2d(%0, @g) ` + conv(1, 1, 6) + ` %y = nn.conv2d(%1, @a) ` + conv(1, 0, 1) + ` return %y }`, nil},
		{"odd_groups", `graph main(%x: float32[1,15,8,8]) {
			@g = float32[15,5,3,3] %0 = nn.conv2d(%x, @g) ` + conv(1, 1, 3) + ` %y = nn.conv2d(%0, @g) ` + conv(2, 1, 3) + ` return %y }`, nil},
		{"integers", `graph main(%f: float32[1,16,8,8]) {
			@z = uint8[]{0} @zw = int8[]{0} @a = int8[16,16,1,1] @d = int8[16,1,3,3] @s = float32[]{0.5} @zy = uint8[]{7} @zi = int32[]{0} %x = cast(%f) {dtype=uint8}
			%0 = qnn.conv2d(%x, @z, @a, @zw) ` + conv(1, 0, 1) + ` %1 = qnn.requantize(%0, @s, @zi, @s, @zy) {axis=0, out_dtype=uint8, rounding="half_even"}
			%2 = qnn.conv2d(%1, @z, @d, @zw) ` + conv(1, 0, 16) + ` return %2 }`, nil},
		{"integers_first_layer", `graph main(%f: float32[1,3,8,8]) {
			@z = uint8[]{0} @zw = int8[]{0} @a = int8[16,3,3,3] %x = cast(%f) {dtype=uint8}
			%y = qnn.conv2d(%x, @z, @a, @zw) ` + conv(2, 1, 1) + ` return %y }`, nil},
		{"integers_in_groups", `graph main(%f: float32[1,24,8,8]) {
			@z = uint8[]{0} @zw = int8[]{0} @a = int8[24,4,3,3] @b = int8[24,3,3,3] %x = cast(%f) {dtype=uint8}
			%y = qnn.conv2d(%x, @z, @a, @zw) ` + conv(1, 1, 6) + ` %v = qnn.conv2d(%x, @z, @b, @zw) ` + conv(2, 1, 8) + ` return %y, %v }`, nil},
		{"matrices", `graph main(%x: float32[4,50], %f: float32[4,32], %v: float32[50,20]) {
			@w = float32[40,50] @u = float32[50,24] @k = int8[32,24] @z = uint8[]{0} @zw = int8[]{0} %q = cast(%f) {dtype=uint8}
			%0 = nn.dense(%x, @w) %1 = nn.matmul(%x, @u) {transpose_a=false, transpose_b=false} %2 = nn.matmul(%x, %v) {transpose_a=false, transpose_b=false}
			%3 = qnn.matmul(%q, @z, @k, @zw) return %0, %1, %2, %3 }`, nil},
		{"stacks", `graph main(%x: float32[3,4,50], %v: float32[2,1,4,50]) {
			@w = float32[3,40,50] @u = float32[3,50,24] @t = float32[1,50,9]
			%0 = nn.matmul(%x, @w) {transpose_a=false, transpose_b=true} %1 = nn.matmul(%v, @u) {transpose_a=false, transpose_b=false}
			%2 = nn.matmul(%x, @t) {transpose_a=false, transpose_b=false} return %0, %1, %2 }`, nil},
		{"concatenated", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @b = float32[12,16,1,1] @c = float32[16,32,1,1] @d = float32[16,28,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = nn.conv2d(%x, @b) ` + conv(1, 0, 1) + `
			%2 = concatenate(%0, %0) {axis=1} %3 = concatenate(%0, %1) {axis=1} %4 = concatenate(%0, %x) {axis=1}
			%5 = nn.conv2d(%2, @c) ` + conv(1, 0, 1) + ` %6 = nn.conv2d(%3, @d) ` + conv(1, 0, 1) + ` %7 = nn.conv2d(%4, @c) ` + conv(1, 0, 1) + ` return %5, %6, %7 }`, nil},
		{"plain_readers", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = cumsum(%0) {axis=1, exclusive=false, reverse=false} %2 = cumsum(%0) {axis=2, exclusive=false, reverse=false}
			%3 = reshape(%0) {new_shape=[1,1024]} %4 = nn.softmax(%3) {axis=1} return %1, %2, %4 }`, nil},
		{"normalised_lines", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @b = float32[16,16,1,1]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = nn.softmax(%0) {axis=3} %2 = nn.log_softmax(%0) {axis=2} %3 = nn.softmax(%0) {axis=1}
			%y = nn.conv2d(%1, @b) ` + conv(1, 0, 1) + ` return %2, %3, %y }`, nil},
		{"kept_channels", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @at = uint16[3]{3, 0, 2} @z = float32[]{0}
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = take(%0, @at) {axis=1} %2 = sum(%0) {axis=[2,3], keep_dims=true} %3 = sigmoid(%2) %4 = multiply(%0, %3)
			%5 = strided_slice(%4) {begin=[0,0,0,0], end=[1,16,4,4], strides=[1,1,1,1]} return %1, %5 }`, nil},
		{"folded_lines", `graph main(%x: float32[1,16,8,8]) {
			@a = float32[16,16,1,1] @b = float32[16,16,3]
			%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = max(%0) {axis=[2], keep_dims=false} %2 = mean(%0) {axis=[3], keep_dims=true} %3 = sigmoid(%2)
			%4 = multiply(%0, %3) %5 = nn.conv1d(%1, @b) {strides=[1], padding=[1,1], dilation=[1], groups=1} %6 = sum(%0) {axis=[1], keep_dims=true}
			%7 = max(%0) {axis=[2,3], keep_dims=false} return %4, %5, %6, %7 }`, nil},
		{"scaled_weights", `graph main(%x: float32[1,16,8,8], %s: float32[16,1,1,1]) {
			@a = float32[16,16,1,1] %w = multiply(@a, %s) %y = nn.conv2d(%x, %w) ` + conv(1, 0, 1) + ` return %y }`, nil},
		{"lines_and_volumes", `graph main(%x: float32[1,16,32], %v: float32[1,16,4,4,4]) {
			@a = float32[16,16,3] @b = float32[16,16,1,1,1]
			%y = nn.conv1d(%x, @a) {strides=[1], padding=[1,1], dilation=[1], groups=1}
			%z = nn.conv3d(%v, @b) {strides=[1,1,1], padding=[0,0,0,0,0,0], dilation=[1,1,1], groups=1} return %y, %z }`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := graph.Parse(filled(c.text), ops.Lookup, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := g.String()
			in := graphtest.Inputs(rand.New(rand.NewPCG(1, 5)), g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			layOut(t, g, c.layouts)
			golden.Check(t, "layout_"+c.name, []byte("// before\n"+before+"\n// after\n"+g.String()))
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLayoutsOfNetworks: whatever is asked for, inputs and results stay plain, nothing is brought into another layout twice,
// constants are packed here and not by a kernel, and a second run changes nothing.
func TestLayoutsOfNetworks(t *testing.T) {
	samples := uint64(60)
	if testing.Short() {
		samples = 15
	}
	transforms := 0
	only := [][]string{nil, {"nn.conv2d"}, {"qnn.conv2d", "nn.conv1d"}}
	for seed := range samples {
		for _, layouts := range [][]string{nil, {"NCHW"}, {"NHWC"}, {"NCHW4c"}, {"NCHW16c"}} {
			g := graphtest.New(rand.New(rand.NewPCG(seed, 11)))
			only := only[seed%3]
			layOut(t, g, layouts, only...)
			n, err := wellLaidOut(g)
			if err != nil {
				t.Fatalf("seed %d, %v: %v\n%s", seed, layouts, err, g)
			}
			transforms += n
			after := g.String()
			if layOut(t, g, layouts, only...); g.String() != after {
				t.Fatalf("seed %d, %v: a second run changes the graph:\n%s\nto:\n%s", seed, layouts, after, g)
			}
		}
	}
	if transforms == 0 {
		t.Error("no network had a value in another layout")
	}
}

// wellLaidOut counts the transforms of a graph, and refuses those that nothing needs.
func wellLaidOut(g *graph.Graph) (transforms int, err error) {
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		if v.Type.Layout != "" {
			return 0, fmt.Errorf("%s, seen from outside, has layout %s", v.Name, v.Type.Layout)
		}
	}
	made := map[transform]bool{}
	for _, n := range g.Nodes {
		if n.Op != ops.LayoutTransform {
			continue
		}
		transforms++
		x, key := n.In[0], transform{n.In[0], n.Out[0].Type.Layout}
		switch {
		case x.IsConst():
			return 0, fmt.Errorf("constant %s is packed by a kernel", x.Name)
		case x.Def != nil && x.Def.Op == ops.LayoutTransform:
			return 0, fmt.Errorf("%s comes into a third layout", x.Name)
		case x.Type.Layout == key.to || made[key]:
			return 0, fmt.Errorf("%s comes into layout %q again", x.Name, key.to)
		}
		made[key] = true
	}
	return transforms, nil
}

// TestLayoutOps: a layout is for the operators that are named, others lie as they do without it, and values are the same.
func TestLayoutOps(t *testing.T) {
	text := `graph main(%x: float32[1,16,8,8]) {
		@a = float32[16,16,1,1] @b = float32[16,16,1,1] @z = uint8[]{0} @zw = int8[]{0} @q = int8[16,16,1,1]
		%0 = nn.conv2d(%x, @a) ` + conv(1, 0, 1) + ` %1 = nn.max_pool2d(%0) {pool_size=[2,2], strides=[2,2], padding=[0,0,0,0], dilation=[1,1], ceil_mode=false}
		%2 = nn.relu(%1) %3 = cast(%2) {dtype=uint8} %y = qnn.conv2d(%3, @z, @q, @zw) ` + conv(1, 0, 1) + ` return %y }`
	for _, c := range []struct {
		only         []string
		float, bytes string // layouts of the two convolutions
	}{{nil, "ACDB", "ACDB"}, {[]string{"nn.conv2d"}, "ACDB", "ABCD8b"}, {[]string{"qnn.conv2d"}, "ABCD8b", "ACDB"}, {[]string{"nn.conv1d"}, "ABCD8b", "ABCD8b"}} {
		g, err := graph.Parse(filled(text), ops.Lookup, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := graphtest.Inputs(rand.New(rand.NewPCG(1, 5)), g)
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		layOut(t, g, []string{"NHWC"}, c.only...)
		for _, n := range g.Nodes {
			layout := string(n.Out[0].Type.Layout)
			if n.Op == ops.Conv2d && layout != c.float || n.Op == ops.QnnConv2d && layout != c.bytes || n.Op.Name == "nn.max_pool2d" && layout != c.float {
				t.Errorf("%v: %s has layout %q\n%s", c.only, n.Op.Name, layout, g)
			}
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Error(err)
		}
	}
}
