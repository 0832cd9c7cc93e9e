package graph

import (
	"bytes"
	"strings"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestParseShort is the text a person writes: no types of results, comments, free spacing.
func TestParseShort(t *testing.T) {
	g, err := Parse(`// a block
	graph small(%x: float32[4,2]) {
	  @two = int64[2]{2, 4}
	  %r = nn.relu(%x) // keeps the type
	  %a, %b = halves(%r)
	  %sum = add(%a,
	             %b)
	  %1=reshape(%r,@two)
	  return %sum, %1 }`, testOps, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(g); err != nil {
		t.Fatal(err)
	}
	const want = `graph small(%x: float32[4,2]) {
  @two = int64[2]{2, 4}
  %r: float32[4,2] = nn.relu(%x)
  %a: float32[2,2], %b: float32[2,2] = halves(%r)
  %sum: float32[2,2] = add(%a, %b)
  %0: float32[2,4] = reshape(%r, @two)
  return %sum, %0
}
`
	if got := g.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestParsePackedConstants: the layout is where kernels find the elements, which stand in plain order in text and file.
func TestParsePackedConstants(t *testing.T) {
	c := NewConsts()
	text := "graph g() {\n  @few = float32[2,2]:BA{1, 2, 3, 4}\n  @many = float32[3,3]:AB2b#" + c.Add(ramp(3, 3)) + "\n  return @few, @many\n}\n"
	g, err := Parse(text, testOps, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := Print(g, c); got != text {
		t.Errorf("got\n%s\nof\n%s", got, text)
	}
	if few := g.Outputs[0]; few.Type.Layout != "BA" || few.Const.Float(1) != 2 {
		t.Errorf("constant %s with second element %v", few.Type, few.Const.Float(1))
	}
}

func TestParseErrors(t *testing.T) {
	body := func(lines string) string { return "graph g(%x: float32[2,2]) {\n" + lines + "\n}" }
	for text, want := range map[string]string{
		"":                              "1:1: end of text where a graph",
		"graph g(%x: float32[2,2]":      `end of text where "," is expected`,
		"graph g(%x float32[2,2]) {}":   `":" is expected`,
		"graph g(%x: float32) {}":       "tensor type",
		"graph g(%x: floaty[2]) {}":     "floaty",
		"graph g(%x: float32[2]:AB) {}": "layout",
		"graph g(%x: float32[-1]) {}":   "float32[-1]",
		"graph g(%9x: float32[2]) {}":   "neither a name nor a number",
		"graph g(%x: float32[1099511627776,1099511627776]) {}":    "too many elements",
		"graph g(%x: float32[2], %x: float32[2]) {\n return %x }": `1:27: "x" is declared twice`,
		"graph g() {\n return }\n graph h() { return }":           "3:2: text after the graph",
		body("return %y"):                                                        "2:8: %y is not declared before",
		body("return @c"):                                                        "@c is not declared before",
		body("%y = nn.rel(%x)\nreturn %y"):                                       `2:6: unknown operator "nn.rel"`,
		body("%y = nn.relu(%y)\nreturn %y"):                                      "%y is not declared before",
		body("%y = nn.relu()\nreturn %y"):                                        "nn.relu: 0 operands",
		body("%x = nn.relu(%x)\nreturn %x"):                                      `"x" is declared twice`,
		body("%a, %a = halves(%x)\nreturn %a"):                                   `"a" is declared twice`,
		body("%a = halves(%x)\nreturn %a"):                                       "1 result instead of 2",
		body("= nn.relu(%x)\nreturn %x"):                                         "no results",
		body("%y: float32[2,3] = nn.relu(%x)\nreturn %y"):                        "2:1: nn.relu: result 0 has type float32[2,2], not float32[2,3]",
		body("%y: int32[2,2] = nn.relu(%x)\nreturn %y"):                          "not int32[2,2]",
		body("%y = nn.relu(%x) {axis=1}\nreturn %y"):                             `no attribute "axis"`,
		body("%y = nn.relu(%x) impl conv\nreturn %y"):                            "quoted string",
		body("%y = nn.relu(%x)"):                                                 `"}" where "%"`,
		body("%y = group(%x)\nreturn %y"):                                        "a group's types are its sub-graph's",
		body("%y = group(%x) {x=1}\nreturn %y"):                                  "group has no attributes",
		body("%y = group(%x)\ngraph s() { return }\nreturn %y"):                  "must be given",
		body("%y: float32[2,2] = group(%x)\ngraph s() { return %x }\nreturn %y"): "3:20: %x is not declared before",
		body("@c = float32[2]{1}\nreturn @c"):                                    "1 element for float32[2]",
		body("@c = float32[1099511627776]{1}\nreturn @c"):                        "1 element for float32[1099511627776]",
		body("@c = float32[1]{1e99}\nreturn @c"):                                 "out of range",
		body("@c = int8[1]{128}\nreturn @c"):                                     "out of range",
		body("@c = uint8[1]{-1}\nreturn @c"):                                     "invalid syntax",
		body("@c = bool[1]{1}\nreturn @c"):                                       "neither true nor false",
		body("@c = float32[1,1]:BA{1,2}\nreturn @c"):                             "2 elements for float32[1,1]",
		body("@c = float32[9]#0123456789abcdef\nreturn @c"):                      "no elements for constant float32[9]#0123456789abcdef",
		body("@c = float32[9]#" + contentHash(ramp(3, 3)) + "\nreturn @c"):       "has type float32[3,3] instead of float32[9]",
		body(`%1 "a = nn.relu(%x)`):                                              "does not end",
		strings.Repeat("graph g() { %0: float32[] = group()\n", 300):             "nested deeper",
	} {
		c := NewConsts()
		c.Add(ramp(3, 3))
		if g, err := Parse(text, testOps, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, %v; want an error with %q", text, g, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	c := NewConsts()
	f.Add(Print(testNet(f), c))
	f.Add(Print(summing(f), c))
	f.Add("graph g(%x: float32[2]) { %0 = every(%x) {axis=-1, epsilon=nan, pairs=[{last=[]}], indices=[[1],nil]} return %0 }")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text, testOps, c)
		if err != nil {
			return
		}
		printed := Print(g, c)
		back, err := Parse(printed, testOps, c)
		if err != nil {
			t.Fatalf("%v\nfrom\n%s\nread as\n%s", err, text, printed)
		}
		if got := Print(back, c); got != printed {
			t.Fatalf("got\n%s\nwant\n%s", got, printed)
		}
		if ok, again := Verify(g) == nil, Verify(back) == nil; ok != again {
			t.Fatalf("valid %v, after a round trip %v:\n%s", ok, again, printed)
		} else if ok && Hash(g, ByValue) != Hash(back, ByValue) {
			t.Fatalf("another hash after a round trip:\n%s", printed)
		}
	})
}

func sideFile(t testing.TB, values ...*tensor.Tensor) []byte {
	c := NewConsts()
	for _, v := range values {
		c.Add(v)
	}
	var b bytes.Buffer
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestConsts(t *testing.T) {
	values := []*tensor.Tensor{ramp(3, 5), ramp(15), ramp(15), tensor.New(types.F32, 0, 4), tensor.Scalar(int8(3)), tensor.New(types.F16, 100)}
	b := sideFile(t, values...)
	if c := sideFile(t, values[5], values[4], values[2], values[3], values[0]); !bytes.Equal(b, c) {
		t.Error("the file depends on the order of additions")
	}
	c, err := ReadConsts(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if got := c.Lookup(contentHash(v)); !sameTensor(got, v) {
			t.Errorf("%v comes back as %v", v, got)
		}
	}
	if len(c.byKey) != 5 {
		t.Errorf("%d constants, want 5: equal ones are one, those of another shape are not", len(c.byKey))
	}
}

func TestConstsErrors(t *testing.T) {
	b := sideFile(t, ramp(3, 5))
	damaged := bytes.Clone(b)
	damaged[len(b)-1] ^= 1
	row := string(b[len(constsMagic):bytes.Index(b, []byte("\n\n"))])
	twice := constsMagic + row + "\n" + row + "\n\n"
	for range 2 {
		twice += strings.Repeat("\x00", -len(twice)&(constsAlign-1)) + string(ramp(3, 5).Bytes())
	}
	for name, c := range map[string]struct{ data, want string }{
		"empty":     {"", "does not start with"},
		"header":    {constsMagic + row, "does not end"},
		"truncated": {string(b[:len(b)-1]), "truncated"},
		"damaged":   {string(damaged), "damaged"},
		"longer":    {string(b) + "x", "1 byte after"},
		"twice":     {twice, "listed twice"},
		"huge":      {constsMagic + "00 float64[1099511627776]\n\n", "truncated"},
		"type":      {constsMagic + "00 float99[1]\n\n", "float99"},
		"layout":    {constsMagic + "00 float32[1,1]:BA\n\n", "plain layout"},
		"bare":      {constsMagic + "00\n\n", "bad tensor type"},
	} {
		if _, err := ReadConsts([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := ReadConstsFile("nosuch.consts"); err == nil {
		t.Error("a missing file is read")
	}
	if c, err := ReadConsts(sideFile(t)); err != nil || len(c.byKey) != 0 {
		t.Errorf("an empty set comes back as %v, %v", c, err)
	}
}

func FuzzReadConsts(f *testing.F) {
	f.Add(sideFile(f))
	f.Add(sideFile(f, ramp(3, 5), tensor.Scalar(true)))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ReadConsts(b)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := c.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConsts(out.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}

// summing is a graph with a loop that adds up slices of a constant.
func summing(t testing.TB) *Graph {
	typ := types.Of(types.F32, 2)
	g := &Graph{Name: "summing"}
	x := g.Input("x", typ)
	body := &Graph{Name: "body"}
	v, slice, other := body.Input("v", typ), body.Input("slice", types.Of(types.F32, 2)), body.Input("other", typ)
	sum := apply(t, body, testAdd, op.None{}, v, slice).Out[0]
	body.Outputs = []*Value{sum, apply(t, body, testAdd, op.None{}, sum, other).Out[0]}
	sequence := NewConst("sequence", tensor.Of([]int{3, 2}, []float32{1, 2, 3, 4, 5, 6}))
	loop, err := NewLoop(body, LoopAttrs{Trips: 3, Carried: 1, Sequences: 1, Reverse: true}, []*Value{x, sequence, x})
	if err != nil {
		t.Fatal(err)
	}

	g.Nodes = []*Node{loop}
	g.Outputs = loop.Out
	return g
}
