package formats

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
	"lathe/internal/frontend/formats"
	"lathe/internal/testkit/kerastest"
)

// A dense network of 100 MiB: layers without bias, from width to width.
const (
	width  = 1024
	layers = 25
)

// weight is that of a layer, the same for all.
var weight = func() []float32 {
	w := make([]float32, width*width)
	for i := range w {
		w[i] = float32(i%255) / 255
	}
	return w
}()

func weightBytes() []byte {
	b := make([]byte, 0, 4*len(weight))
	for _, v := range weight {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// large writes the network in each format that keeps numbers as they are. The first file is the one to open.
var large = []struct {
	name  string
	files func(w []byte) map[string][]byte
	open  string
}{
	{"keras", func([]byte) map[string][]byte {
		m, from := kerastest.New("x", 1, width), "x"
		for i := range layers {
			name := fmt.Sprintf("d%d", i)
			m.Layer("Dense", name, fmt.Sprintf(`"units": %d, "activation": "linear", "use_bias": false`, width), []string{from}, kerastest.Array{Shape: []int{width, width}, Data: weight})
			from = name
		}
		return map[string][]byte{"m.h5": m.File(from)}
	}, "m.h5"},
	{"pb", func(w []byte) map[string][]byte {
		var g []byte
		node := func(name, op string, in []string, attrs ...[]byte) {
			n := text(text(nil, 1, name), 2, op)
			for _, x := range in {
				n = text(n, 3, x)
			}
			for _, a := range attrs {
				n = message(n, 5, a)
			}
			g = message(g, 1, n)
		}
		attr := func(name string, value []byte) []byte { return message(text(nil, 1, name), 2, value) }
		shape := func(dims ...int) (s []byte) {
			for _, d := range dims {
				s = message(s, 2, number(nil, 1, d))
			}
			return s
		}
		float := attr("dtype", number(nil, 6, 1))
		node("x", "Placeholder", nil, float, attr("shape", message(nil, 7, shape(1, width))))
		from := "x"
		for i := range layers {
			name := fmt.Sprintf("w%d", i)
			tensor := message(message(number(nil, 1, 1), 2, shape(width, width)), 4, w)
			node(name, "Const", nil, float, attr("value", message(nil, 8, tensor)))
			node(fmt.Sprintf("d%d", i), "MatMul", []string{from, name}, attr("T", number(nil, 6, 1)))
			from = fmt.Sprintf("d%d", i)
		}
		return map[string][]byte{"m.pb": g}
	}, "m.pb"},
	{"mxnet", func(w []byte) map[string][]byte {
		nodes, from := []string{fmt.Sprintf(`{"op": "null", "name": "x", "inputs": [], "attrs": {"__shape__": "(1, %d)"}}`, width)}, 0
		u64 := func(b []byte, v ...int) []byte {
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, uint64(x))
			}
			return b
		}
		u32 := func(b []byte, v ...uint32) []byte {
			for _, x := range v {
				b = binary.LittleEndian.AppendUint32(b, x)
			}
			return b
		}
		arrays, names := u64(nil, 0x112, 0, layers), u64(nil, layers)
		for i := range layers {
			name := fmt.Sprintf("arg:w%d", i)
			nodes = append(nodes, fmt.Sprintf(`{"op": "null", "name": "w%d", "inputs": []}`, i),
				fmt.Sprintf(`{"op": "FullyConnected", "name": "d%d", "attrs": {"num_hidden": "%d", "no_bias": "True"}, "inputs": [[%d, 0], [%d, 0]]}`, i, width, from, len(nodes)))
			from = len(nodes) - 1
			arrays = append(u32(u64(u32(arrays, 0xF993FAC9, 0, 2), width, width), 1, 0, 0), w...)
			names = append(u64(names, len(name)), name...)
		}
		symbol := fmt.Sprintf(`{"nodes": [%s], "heads": [[%d, 0]]}`, strings.Join(nodes, ", "), from)
		return map[string][]byte{"m-symbol.json": []byte(symbol), "m-0000.params": append(arrays, names...)}
	}, "m-symbol.json"},
	{"caffe", func(w []byte) map[string][]byte {
		net, blobs := fmt.Sprintf("input: \"x\" input_shape { dim: 1 dim: %d }\n", width), []byte(nil)
		from := "x"
		for i := range layers {
			name := fmt.Sprintf("d%d", i)
			net += fmt.Sprintf("layer { name: %q type: \"InnerProduct\" bottom: %q top: %q inner_product_param { num_output: %d bias_term: false } }\n", name, from, name, width)
			blob := message(message(nil, 7, number(number(nil, 1, width), 1, width)), 5, w)
			blobs = message(blobs, 100, message(text(text(nil, 1, name), 2, "InnerProduct"), 7, blob))
			from = name
		}
		return map[string][]byte{"m.prototxt": []byte(net), "m.caffemodel": blobs}
	}, "m.prototxt"},
	{"darknet", func(w []byte) map[string][]byte {
		cfg, weights := fmt.Sprintf("[net]\nbatch=1\nheight=1\nwidth=1\nchannels=%d\n", width), make([]byte, 20)
		binary.LittleEndian.PutUint32(weights[4:], 2) // version 0.2: images seen in 8 bytes
		for range layers {
			cfg += fmt.Sprintf("[connected]\noutput=%d\nactivation=linear\n", width)
			weights = append(append(weights, make([]byte, 4*width)...), w...)
		}
		return map[string][]byte{"m.cfg": []byte(cfg), "m.weights": weights}
	}, "m.cfg"},
	{"paddle", func(w []byte) map[string][]byte {
		desc := func(dims ...int) []byte {
			d := number(nil, 1, 5)
			for _, n := range dims {
				d = number(d, 2, n)
			}
			return d
		}
		variable := func(name string, kind int, persistable bool, dims ...int) []byte {
			typ := number(nil, 1, kind)
			if kind == 7 {
				typ = message(typ, 3, message(nil, 1, desc(dims...)))
			}
			v := message(text(nil, 1, name), 2, typ)
			if persistable {
				v = number(v, 3, 1)
			}
			return v
		}
		slot := func(name, value string) []byte { return text(text(nil, 1, name), 2, value) }
		integer := func(name string, v int) []byte { return number(number(text(nil, 1, name), 2, 0), 3, v) }
		block, params := number(number(nil, 1, 0), 2, -1), []byte(nil)
		vars := [][]byte{variable("feed", 9, true), variable("fetch", 10, true), variable("x", 7, false, 1, width)}
		ops := [][]byte{message(message(message(text(nil, 3, "feed"), 1, slot("X", "feed")), 2, slot("Out", "x")), 4, integer("col", 0))}
		from := "x"
		for i := range layers {
			name, out := fmt.Sprintf("w%02d", i), fmt.Sprintf("d%02d", i)
			vars = append(vars, variable(name, 7, true, width, width), variable(out, 7, false, 1, width))
			op := message(message(message(text(nil, 3, "mul"), 1, slot("X", from)), 1, slot("Y", name)), 2, slot("Out", out))
			ops = append(ops, message(message(op, 4, integer("x_num_col_dims", 1)), 4, integer("y_num_col_dims", 1)))
			head := desc(width, width)
			params = append(params, make([]byte, 16)...) // versions, and no levels of sequences
			params = append(binary.LittleEndian.AppendUint32(params, uint32(len(head))), head...)
			params = append(params, w...)
			from = out
		}
		ops = append(ops, message(message(message(text(nil, 3, "fetch"), 1, slot("X", from)), 2, slot("Out", "fetch")), 4, integer("col", 0)))
		for _, v := range vars {
			block = message(block, 3, v)
		}
		for _, o := range ops {
			block = message(block, 4, o)
		}
		return map[string][]byte{"m.pdmodel": message(nil, 1, block), "m.pdiparams": params}
	}, "m.pdmodel"},
}

func message(b []byte, field protowire.Number, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}

func text(b []byte, field protowire.Number, s string) []byte { return message(b, field, []byte(s)) }

func number(b []byte, field protowire.Number, v int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

// TestLarge: a model of 100 MiB is a graph within half a second of a core, and takes a third of its weights beside them at most: they stay in the
// mapped file.
func TestLarge(t *testing.T) {
	w := weightBytes()
	for _, c := range large {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, data := range c.files(w) {
				if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, c.open)
			f, err := formats.Of(path)
			if err != nil || f == nil || f.Name != c.name {
				t.Fatalf("taken for %v (%v)", f, err)
			}
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime(t)
			m, err := f.Open(path, frontend.Weights{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			g, err := frontend.Import(m, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			took := processorTime(t) - start
			runtime.ReadMemStats(&after)
			if n := g.Outputs[0].Type.Shape; len(n) == 0 || n[len(n)-1] != width && n[1] != width {
				t.Errorf("the output is %v", n)
			}
			constants := 0
			for _, v := range g.Constants() {
				constants += len(v.Const.Bytes())
			}
			if constants < layers*len(w) {
				t.Errorf("constants of %d bytes, want %d", constants, layers*len(w))
			}
			if beside := after.TotalAlloc - before.TotalAlloc; beside > uint64(layers*len(w))*3/10 {
				t.Errorf("%d MiB are allocated for %d MiB of weights", beside>>20, layers*len(w)>>20)
			}
			if t.Log(took); took > 500*time.Millisecond {
				t.Errorf("import takes %v of a core", took)
			}
		})
	}
}

// processorTime is what the process has taken, which does not count waiting for others.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
