package mxnet

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// array writes one array in the form of a magic number; 0 is the oldest.
func array(magic uint32, shape []int, values []float32) []byte {
	var b []byte
	u32 := func(v ...uint32) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
	}
	switch magic {
	case 0:
		u32(uint32(len(shape)))
		for _, d := range shape {
			u32(uint32(d))
		}
	default:
		if u32(magic); magic != magicV1 {
			u32(0)
		}
		u32(uint32(len(shape)))
		for _, d := range shape {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
	}
	u32(1, 0, 0) // device, element type
	for _, v := range values {
		u32(math.Float32bits(v))
	}
	return b
}

// params writes a file of arrays.
func params(names []string, arrays ...[]byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, magicFile)
	b = binary.LittleEndian.AppendUint64(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(arrays)))
	for _, a := range arrays {
		b = append(b, a...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(names)))
	for _, n := range names {
		b = append(binary.LittleEndian.AppendUint64(b, uint64(len(n))), n...)
	}
	return b
}

func smallParams() []byte {
	return params([]string{"arg:fc_weight", "arg:fc_bias", "arg:bn_gamma", "arg:bn_beta", "bn_moving_mean", "aux:bn_moving_var"},
		array(magicV2, []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}), array(magicV3, []int{2}, []float32{1, -1}),
		array(0, []int{2}, []float32{7, 7}), array(magicV1, []int{2}, []float32{1, 2}), array(magicV2, []int{2}, []float32{3, 4}), array(magicV2, []int{2}, []float32{4, 9}))
}

// small is a dense layer, a batch normalization of the old kind, which fixes gamma to 1, and a loss.
const small = `{"nodes": [{"op": "null", "name": "data", "inputs": [], "attr": {"__shape__": "(0, 3)"}},
	{"op": "null", "name": "fc_weight", "inputs": []}, {"op": "null", "name": "fc_bias", "inputs": []},
	{"op": "FullyConnected", "name": "fc", "param": {"num_hidden": "2", "no_bias": "False"}, "inputs": [[0, 0], [1, 0], [2, 0]]},
	{"op": "null", "name": "bn_gamma", "inputs": []}, {"op": "null", "name": "bn_beta", "inputs": []},
	{"op": "BatchNorm", "name": "bn", "attrs": {"eps": "0.0", "momentum": "0.9"}, "inputs": [[3, 0], [4, 0], [5, 0]]},
	{"op": "_mul_scalar", "name": "twice", "attrs": {"scalar": "2"}, "inputs": [[6, 0]]},
	{"op": "null", "name": "label", "inputs": []},
	{"op": "LinearRegressionOutput", "name": "out", "inputs": [[7, 0], [8, 0]]}], "heads": [[9, 0, 0]]}`

func TestSmall(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"net-symbol.json": []byte(small), "net-0007.params": smallParams(), "net-0002.params": nil} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "net-symbol.json")
	if !Format.Identify([]byte(small), path) {
		t.Error("not recognised")
	}
	m, err := Format.Open(path, frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Inputs) != 1 || g.Inputs[0].Name != "data" || g.Outputs[0].Name != "out" {
		t.Errorf("%v %v", g.Inputs, g.Outputs)
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1, 3}, []float32{1, 0, -1})})
	if err != nil {
		t.Fatal(err)
	}
	// (1-3+1, 4-6-1) = (-1, -3); ((-1-3)/2+1, (-3-4)/3+2) = (-1, -1/3); twice that
	for i, want := range []float64{-2, -2. / 3} {
		if got := out[0].Float(i); math.Abs(got-want) > 1e-6 {
			t.Errorf("element %d is %v instead of %v", i, got, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "net-0007.params")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "net-0002.params")); err != nil {
		t.Fatal(err)
	}
	if m, err := Format.Open(path, frontend.Weights{}); err != nil || m.Err == nil || !strings.Contains(m.Err.Error(), "net-NNNN.params") {
		t.Error(err)
	}
	if m, err = Format.Open(path, frontend.Weights{MadeUp: true}); err != nil {
		t.Fatal(err)
	}
	if len(m.Graph.Inputs) != 1 {
		t.Errorf("inputs %v", m.Graph.Inputs)
	}
	if _, err = frontend.Import(m, frontend.Options{Shapes: map[string][]int{g.Inputs[0].Name: g.Inputs[0].Type.Shape}}); err != nil {
		t.Fatal(err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"_mul_scalar"`, `"_mul_scalars"`, "1 unsupported operator: _mul_scalars"},
		{`[[6, 0]]`, `[[7, 0]]`, `node "twice": a reference`},
		{`"heads": [[9, 0, 0]]`, `"heads": []`, "no heads"},
		{`"name": "fc_bias"`, `"name": "fc_weight"`, "two nodes"},
		{`"eps": "0.0"`, `"eps": "0.0", "wave": "1"`, `attribute "wave"`},
		{`"scalar": "2"`, `"scalar": 2`, `"scalar" is no text`},
		{`"bn_beta"`, `"gone"`, "gone"},
	} {
		m, err := Read([]byte(strings.Replace(small, c.old, c.new, 1)), smallParams())
		if err == nil {
			_, err = frontend.Import(m, frontend.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	good := smallParams()
	for n := range good {
		if _, err := readParams(good[:n]); err == nil {
			t.Errorf("%d bytes of %d are enough", n, len(good))
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{"(3, 3)": "[3 3]", "(3,)": "[3]", "[]": "[]", "True": "true", "None": "<nil>", "1e-05": "1e-05", "relu": "relu", "2L": "2", "(": "("} {
		if got := fmt.Sprint(parse(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add(smallParams())
	f.Fuzz(func(t *testing.T, data []byte) {
		arrays, err := readParams(data)
		total := 0
		for _, a := range arrays {
			total += len(a.Bytes())
		}
		if err == nil && total > len(data) {
			t.Errorf("%d bytes hold %d", len(data), total)
		}
	})
}

func FuzzSymbol(f *testing.F) {
	f.Add([]byte(small))
	weights := smallParams()
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(data, weights); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}

// TestWrongWeights: an error about the weights names their file, one about the symbol that.
func TestWrongWeights(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	symbol, broken, garbage := file("net-symbol.json", small), file("broken-symbol.json", small[:100]), file("garbage", "garbage")
	other := file("other", string(params([]string{"arg:fc_weight"}, array(magicV2, []int{2, 3}, make([]float32, 6)))))
	for _, c := range []struct{ model, weights, want string }{
		{symbol, garbage, "read " + garbage + ", the weights of " + symbol + ": mxnet: the weights: it "},
		{symbol, other, "read " + other + ", the weights of " + symbol + `: mxnet: the weights have no array "fc_bias"`},
		{symbol, filepath.Join(dir, "none"), "read " + filepath.Join(dir, "none") + ", the weights of "},
		{broken, garbage, "read " + broken + ": mxnet: the symbol"},
	} {
		if m, err := Format.Open(c.model, frontend.Weights{Path: c.weights}); err == nil {
			m.Close()
			t.Errorf("%s with %s is read", c.model, c.weights)
		} else if !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v\nwant %s", err, c.want)
		}
	}
}
