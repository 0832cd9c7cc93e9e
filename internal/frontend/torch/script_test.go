package torch

import (
	"archive/zip"
	"math"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	hosttensor "lathe/internal/tensor"
)

const layered = `class M(Module):
  __parameters__ = []
  training : bool
  conv : __torch__.Conv
  _h : Tensor
  def forward(self: __torch__.M,
    x: Tensor) -> Dict[str, Tensor]:
    y = (self.conv).forward(x, )
    self._h = torch.add(self._h, 1)
    z = __torch__.twice(y, )
    return {"a": z, "h": self._h}
class Conv(Module):
  __parameters__ = ["weight", "bias", ]
  weight : Tensor
  bias : Tensor
  stride : Final[int] = 2
  def forward(self: __torch__.Conv,
    x: Tensor) -> Tensor:
    return torch.conv1d(x, self.weight, self.bias, [self.stride], [1], [1], 1)
def twice(x: Tensor,
    n: int=2) -> Tensor:
  return torch.mul(x, n)
`

func TestModules(t *testing.T) {
	conv := objectOf{"__torch__.Conv", map[string]any{"weight": floats([]float32{1, 2, 3}, 1, 1, 3), "bias": floats([]float32{10}, 1)}}
	data := zipped(t, scriptMembers(layered, map[string]any{"training": false, "conv": conv, "_h": floats([]float32{5}, 1)}), zip.Deflate)
	m, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	g, err := frontend.Import(m, frontend.Options{Shapes: map[string][]int{"x": {1, 1, 4}}, Notes: func(s string) { notes = append(notes, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Outputs) != 2 || g.Outputs[0].Name != "a" || g.Outputs[1].Name != "h" {
		t.Errorf("outputs %v", g.Outputs)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "(_h) starts at its saved value") {
		t.Errorf("notes %q", notes)
	}
	m.Set("state", "io")
	g, err = frontend.Import(m, frontend.Options{Shapes: map[string][]int{"x": {1, 1, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Inputs) != 2 || g.Inputs[1].Name != "_h" || len(g.Outputs) != 3 || g.Outputs[2].Name != "_h:next" || !g.Outputs[2].Type.Equal(g.Inputs[1].Type) {
		t.Errorf("states as inputs and outputs: %s", g)
	}
	out, err := imported(data, frontend.Options{}, floats([]float32{1, 2, 3, 4}, 1, 1, 4))
	if err != nil {
		t.Fatal(err)
	}
	if got := hosttensor.As[float32](out[0]); !slices.Equal(got, []float32{2 * (10 + 2 + 6), 2 * (10 + 2 + 6 + 12)}) {
		t.Errorf("%v", got)
	}
	if len(m.Graph.Params) != 3 || m.Graph.Params[0].Name != "_h" {
		t.Errorf("parameters %v", m.Graph.Params)
	}
}

// TestRecurrentLayers: a layer and its cell, applied step by step, give the same.
func TestRecurrentLayers(t *testing.T) {
	weight := func(seed int, shape ...int) *hosttensor.Tensor {
		w := hosttensor.New(floats(nil, 0).DType, shape...)
		for i := range w.Len() {
			w.SetFloat(i, math.Sin(float64(seed+7*i)))
		}
		return w
	}
	for _, c := range []struct {
		layer, cell string
		gates       int
	}{
		{"y, h, c, = torch.lstm(x, [s, s], p, True, 1, 0., False, False, True)", "h, c, = torch.lstm_cell(torch.select(x, 1, i), [h, c], self.a, self.b, self.d, self.e)", 4},
		{"y, h, = torch.gru(x, s, p, True, 1, 0., False, False, True)", "h = torch.gru_cell(torch.select(x, 1, i), h, self.a, self.b, self.d, self.e)", 3},
		{"y, h, = torch.rnn_tanh(x, s, p, True, 1, 0., False, False, True)", "h = torch.rnn_tanh_cell(torch.select(x, 1, i), h, self.a, self.b, self.d, self.e)", 1},
	} {
		body := "s = torch.zeros([1, 2, 3])\np = [self.a, self.b, self.d, self.e]\n" + c.layer + "\nlast = torch.squeeze(h, 0)\n" +
			"h = torch.zeros([2, 3])\nc = torch.zeros([2, 3])\nfor i in range(6):\n  " + c.cell + "\nreturn torch.sub(last, h), torch.sub(torch.select(y, 1, -1), h), h"
		attrs := map[string]any{"a": weight(1, c.gates*3, 2), "b": weight(2, c.gates*3, 3), "d": weight(3, c.gates*3), "e": weight(4, c.gates*3)}
		out, err := imported(zipped(t, scriptMembers(module(body, "x: Tensor", "Tuple[Tensor, Tensor, Tensor]"), attrs), zip.Store), frontend.Options{}, weight(5, 2, 6, 2))
		if err != nil {
			t.Errorf("%s: %v", c.layer, err)
			continue
		}
		for _, y := range out[:2] {
			for i := range y.Len() {
				if math.Abs(y.Float(i)) > 1e-6 {
					t.Errorf("%s: they differ by %v", c.layer, y.Float(i))
				}
			}
		}
		if math.Abs(out[2].Float(0)) < 1e-3 {
			t.Errorf("%s gives nothing", c.layer)
		}
	}
}

// TestPacked: a quantised layer with packed parameters, by hand.
func TestPacked(t *testing.T) {
	code := strings.Replace(module("q = torch.quantize_per_tensor(x, 0.5, 10, 13)\ny = ops.quantized.linear_relu(q, self.p, 0.25, 3)\nreturn torch.int_repr(y)", "x: Tensor", "Tensor"),
		"  training : bool\n", "  training : bool\n  p : __torch__.torch.classes.quantized.LinearPackedParamsBase\n", 1)
	w := weightOf{hosttensor.Of([]int{2, 2}, []int8{4, -2, 1, 3}), 0.125, 0}
	p := objectOf{"__torch__.torch.classes.quantized.LinearPackedParamsBase", []any{w, floats([]float32{1, -1}, 2)}}
	out, err := imported(zipped(t, scriptMembers(code, map[string]any{"p": p}), zip.Store), frontend.Options{}, floats([]float32{2, -3}, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	// 2*0.5 + 3*0.25 + 1 = 2.75 = 11 steps of 0.25; 2*0.125 - 3*0.375 - 1 < 0, so the zero point.
	if got := hosttensor.As[uint8](out[0]); !slices.Equal(got, []uint8{14, 3}) {
		t.Errorf("%v", got)
	}
}

func TestInputs(t *testing.T) {
	code := module("y = torch.add(torch.mul(x, n), (s)[1])\nif torch.__isnot__(mask, None):\n  z = torch.mul(y, mask)\nelse:\n  z = y\nreturn z", "x: Tensor,\n    n: int,\n    s: Tuple[Tensor, Tensor],\n    mask: Optional[Tensor]=None", "Tensor")
	data := zipped(t, scriptMembers(code, map[string]any{}), zip.Store)
	one := floats([]float32{1, 2}, 2)
	fix := map[string]*hosttensor.Tensor{"n": hosttensor.Scalar(int64(3))}
	shapes := map[string][]int{"x": {2}, "s.0": {2}, "s.1": {2}}
	out, err := imported(data, frontend.Options{Shapes: shapes, Values: fix}, one, one, one)
	if err != nil || out[0].Float(1) != 8 {
		t.Errorf("%v %v", out, err)
	}
	shapes["mask"] = []int{2}
	out, err = imported(data, frontend.Options{Shapes: shapes, Values: fix}, one, one, one, one)
	if err != nil || out[0].Float(1) != 16 {
		t.Errorf("with the optional input: %v %v", out, err)
	}
	// Lists and dictionaries.
	for _, c := range []struct{ body, params string }{
		{"return torch.sub((xs)[0], (xs)[1])", "xs: List[Tensor]"},
		{"return torch.sub((xs)[\"b\"], (xs)[\"a\"])", "xs: Dict[str, Tensor]"},
		{"y = torch.mul((xs)[0], 2)\nfor i in range(torch.len(xs)):\n  y = torch.sub(y, xs[i])\nreturn y", "xs: List[Tensor]"},
	} {
		shapes := map[string][]int{"xs.0": {2}, "xs.1": {2}}
		if strings.Contains(c.params, "Dict") {
			shapes = map[string][]int{"xs.a": {2}, "xs.b": {2}}
		}
		data := zipped(t, scriptMembers(module(c.body, c.params, "Tensor"), map[string]any{}), zip.Store)
		out, err := imported(data, frontend.Options{Shapes: shapes}, floats([]float32{5, 7}, 2), floats([]float32{1, 2}, 2))
		if err != nil || out[0].Float(0) != 4 || out[0].Float(1) != 5 {
			t.Errorf("%s: %v %v", c.params, out, err)
		}
	}
	// What is taken for an index is an integer.
	code = module("return torch.embedding(self.w, torch.add(ids, 1))", "ids: Tensor", "Tensor")
	data = zipped(t, scriptMembers(code, map[string]any{"w": floats([]float32{1, 2, 3}, 3, 1)}), zip.Store)
	out, err = imported(data, frontend.Options{}, hosttensor.Of([]int{2}, []int64{1, 0}))
	if err != nil || out[0].Float(0) != 3 {
		t.Errorf("indices: %v %v", out, err)
	}
}

func TestErrors(t *testing.T) {
	x := floats([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct{ body, want string }{
		{"y = torch.nonsense(x)\nz = torch.nonsense(torch.cholesky(y))\nreturn z", `2 unsupported operators: torch.nonsense (2 nodes, first "code/__torch__.py:6"), torch.cholesky (1 node`},
		{"return torch.view(x, [4, -1])", "torch.view (code/__torch__.py:6): shape [4 -1] for 6 elements"},
		{"ops.prim.RaiseException(\"wrong size\")\nreturn x", "the code raises an exception: wrong size"},
		{"return torch.view(x, [int(torch.sum(x)), -1])", "argument size depends on input data, which is not supported (--fix x=VALUE"},
		{"_0 = True\ni = 0\nwhile _0:\n  i = torch.add(i, 1)\nreturn x", "more than 1000000 steps"},
		{"return (self).forward(x, )", "calls are nested more than 200 deep"},
		{"return self.nothing", `has no attribute "nothing"`},
		{"return undefined", "forward gives a function"},
		{"y = torch.clone(x)\nif torch.gt(torch.max(x), 1):\n  _0 = torch.relu_(y)\n  z = y\nelse:\n  z = x\nreturn z", "changed in place where the data decide"},
		{"return torch.zeros([100000000000])", "more than 1 GiB"},
		{"return torch.mul([1], 1000000000)", "list of more than"},
	} {
		_, err := imported(zipped(t, scriptMembers(module(c.body, "x: Tensor", "Tensor"), map[string]any{}), zip.Store), frontend.Options{}, x)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestDamaged(t *testing.T) {
	good := scriptMembers(module("return x", "x: Tensor", "Tensor"), map[string]any{"w": floats([]float32{1, 2}, 2)})
	states, _ := pickled(map[string]any{"w": 1})
	with := func(name, text string) map[string][]byte {
		m := map[string][]byte{}
		for k, v := range good {
			m[k] = v
		}
		m[name] = []byte(text)
		return m
	}
	bomb := with("net/code/bomb.py", "")
	bomb["net/code/bomb.py"] = make([]byte, 8<<20)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"pickle", oldMagic, "state dictionary"},
		{"states", zipped(t, map[string][]byte{"net/data.pkl": states}, zip.Store), "torch.jit.save"},
		{"nothing", zipped(t, map[string][]byte{"net/readme": nil}, zip.Store), "neither code of TorchScript nor an exported program"},
		{"machine code", zipped(t, map[string][]byte{"net/archive_format": []byte("pt2"), "net/data/aotinductor/x.so": nil}, zip.Store), "AOTInductor"},
		{"syntax", zipped(t, with("net/code/__torch__.py", "class M(Module):\n  def forward(self, x) -> Tensor:\n    return (x\n"), zip.Store), "code/__torch__.py: line"},
		{"deep", zipped(t, with("net/code/__torch__.py", "x = "+strings.Repeat("(", 1000)+strings.Repeat(")", 1000)), zip.Store), "nested too deep"},
		{"blocks", zipped(t, with("net/code/__torch__.py", strings.Repeat("if x: ", 1000)+"pass"), zip.Store), "nested too deep"},
		{"class", zipped(t, with("net/code/__torch__.py", "class N(Module):\n  pass\n"), zip.Store), "class __torch__.M is not in the archive"},
		{"order", zipped(t, with("net/byteorder", "big"), zip.Store), "big-endian"},
		{"bomb", zipped(t, bomb, zip.Deflate), "damaged or made to harm"},
		{"cut", zipped(t, good, zip.Store)[:200], "the archive"},
	} {
		if _, err := Read(c.data); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "pytorch: ") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	// Storages are looked at when they are needed.
	cut := with("net/data/0", "1234")
	cut["net/code/__torch__.py"] = []byte(module("return torch.add(x, self.w)", "x: Tensor", "Tensor"))
	if _, err := imported(zipped(t, cut, zip.Store), frontend.Options{}, floats([]float32{1, 2}, 2)); err == nil || !strings.Contains(err.Error(), "beyond its storage") {
		t.Error(err)
	}
}

func FuzzCode(f *testing.F) {
	f.Add(layered)
	f.Add("import __torch__.a\nop_version_set = 1\nclass A(NamedTuple):\n  a : int\ndef f(x: Dict[str, List[int]], *, y=None) -> Tuple[()]:\n  with x as y:\n    a, (b, c), = -1., \"\\x41\\101\\n\", {\"k\": [1, 2][0:1:]}\n  return a if not b and c or d else e ** -2 // f\n")
	f.Fuzz(func(t *testing.T, src string) {
		if u, err := parse(src, "code/a.py", "a"); err == nil {
			(&code{units: map[string]*unit{"a": u}}).uses()
		}
	})
}

// FuzzArchive changes the pickle of a module and its code.
func FuzzArchive(f *testing.F) {
	conv := objectOf{"__torch__.Conv", map[string]any{"weight": floats([]float32{1, 2, 3}, 1, 1, 3), "bias": floats([]float32{10}, 1)}}
	members := scriptMembers(layered, map[string]any{"training": false, "conv": conv, "_h": floats([]float32{5}, 1)})
	f.Add(members["net/data.pkl"], string(members["net/code/__torch__.py"]))
	w := weightOf{hosttensor.Of([]int{2, 2}, []int8{4, -2, 1, 3}), 0.125, 0}
	p, _ := pickled(objectOf{"__torch__.M", map[string]any{"p": objectOf{"__torch__.torch.classes.quantized.LinearPackedParamsBase", []any{w, nil}}}})
	f.Add(p, module("return torch.einsum(\"ab->ba\", torch.view(x, [4, 1]))", "x: Tensor", "Tensor"))
	f.Fuzz(func(t *testing.T, data []byte, code string) {
		members["net/data.pkl"], members["net/code/__torch__.py"] = data, []byte(code)
		m, err := Read(zipped(t, members, zip.Store))
		if err != nil {
			return
		}
		shapes := map[string][]int{}
		for _, in := range m.Graph.Inputs {
			if in.Assumed {
				shapes[in.Name] = []int{1, 1, 4}
			}
		}
		frontend.Import(m, frontend.Options{Shapes: shapes})
	})
}

// FuzzZip changes an archive as a whole.
func FuzzZip(f *testing.F) {
	f.Add(zipped(f, scriptMembers(module("return x", "x: Tensor", "Tensor"), map[string]any{}), zip.Deflate))
	f.Add(oldMagic)
	f.Fuzz(func(t *testing.T, data []byte) {
		Read(data)
		Format.Identify(data[:min(len(data), frontend.HeadSize)], "a.pt")
	})
}
