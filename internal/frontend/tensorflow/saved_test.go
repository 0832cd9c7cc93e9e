package tensorflow

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
)

// table writes a sorted table of one block.
func tableOf(entries map[string][]byte) []byte {
	var keys []string
	for k := range entries {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	block := func(keys []string, value func(k string) []byte) []byte {
		var b []byte
		for _, k := range keys {
			v := value(k)
			b = binary.AppendUvarint(b, 0)
			b = binary.AppendUvarint(b, uint64(len(k)))
			b = binary.AppendUvarint(b, uint64(len(v)))
			b = append(append(b, k...), v...)
		}
		b = binary.LittleEndian.AppendUint32(b, 0)
		return append(binary.LittleEndian.AppendUint32(b, 1), 0, 0, 0, 0, 0) // where keys begin, how often, packing, checksum
	}
	handle := func(offset, size int) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(nil, uint64(offset)), uint64(size))
	}
	data := block(keys, func(k string) []byte { return entries[k] })
	index := block([]string{"\xff"}, func(string) []byte { return handle(0, len(data)-5) })
	at := len(data)
	out := append(data, index...)
	footer := append(handle(at, len(index)-5), handle(at, len(index)-5)...)
	footer = append(footer, make([]byte, 40-len(footer))...)
	return binary.LittleEndian.AppendUint64(append(out, footer...), 0xDB4775248B80FB57)
}

// checkpoint is an index and data of vectors of float32.
func checkpoint(names []string, values [][]float32) (index, data []byte) {
	varint := func(b []byte, num protowire.Number, v int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
	}
	entries := map[string][]byte{"": varint(nil, 1, 1)}
	for i, n := range names {
		dim := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), varint(nil, 1, len(values[i])))
		e := protowire.AppendBytes(protowire.AppendTag(varint(nil, 1, 1), 2, protowire.BytesType), dim)
		entries[n] = varint(varint(e, 4, len(data)), 5, 4*len(values[i]))
		for _, v := range values[i] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return tableOf(entries), data
}

// savedText is a SavedModel of TensorFlow 2: a function multiplies by one variable and adds another, and another one restores both in the opposite order.
const savedText = `saved_model_schema_version: 1 meta_graphs {
  meta_info_def { tags: "serve" tensorflow_version: "2.9.1" }
  graph_def {
    node { name: "scale" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 2 } } } } } node { name: "offset" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 2 } } } } }
    node { name: "serving_default_x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
    node { name: "saver_filename" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
    node { name: "call" op: "StatefulPartitionedCall" input: "serving_default_x" input: "scale" input: "offset" attr { key: "f" value { func { name: "serve" } } } }
    node { name: "restore" op: "StatefulPartitionedCall" input: "saver_filename" input: "offset" input: "scale" attr { key: "f" value { func { name: "load" } } } }
    library {
      function { signature { name: "serve" input_arg { name: "x" } input_arg { name: "s" } input_arg { name: "o" } output_arg { name: "y" } output_arg { name: "z" } }
        node_def { name: "rs" op: "ReadVariableOp" input: "s" } node_def { name: "ro" op: "ReadVariableOp" input: "o" }
        node_def { name: "mul" op: "Mul" input: "x" input: "rs:value:0" } node_def { name: "add" op: "AddV2" input: "mul:z:0" input: "ro:value:0" }
        ret { key: "y" value: "add:z:0" } ret { key: "z" value: "mul:z:0" } }
      function { signature { name: "load" input_arg { name: "file" } input_arg { name: "a" } input_arg { name: "b" } }
        node_def { name: "names" op: "Const" attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "variables/0" string_val: "variables/1" } } } }
        node_def { name: "r" op: "RestoreV2" input: "file" input: "names:output:0" }
        node_def { name: "i" op: "Identity" input: "r:tensors:1" }
        node_def { name: "a0" op: "AssignVariableOp" input: "a" input: "r:tensors:0" } node_def { name: "a1" op: "AssignVariableOp" input: "b" input: "i:output:0" } }
    }
  }
  saver_def { filename_tensor_name: "saver_filename:0" restore_op_name: "restore" }
  signature_def { key: "serving_default" value { inputs { key: "x" value { name: "serving_default_x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } dim { size: 2 } } } }
    outputs { key: "sum" value { name: "call:0" dtype: DT_FLOAT } } outputs { key: "product" value { name: "call:1" dtype: DT_FLOAT } } } }
  signature_def { key: "__saved_model_init_op" value { outputs { key: "op" value { name: "restore" } } } }
}`

func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSavedModel(t *testing.T) {
	index, data := checkpoint([]string{"variables/0", "variables/1"}, [][]float32{{10, 20}, {2, 3}})
	binary, err := binaryForm([]byte(savedText), savedSchema)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"saved_model.pb": binary, "saved_model.pbtxt": []byte(savedText)} {
		dir := folder(t, map[string][]byte{name: content, "variables/variables.index": index, "variables/variables.data-00000-of-00001": data})
		if !Format.Identify(nil, dir) || !Format.Identify(content[:min(len(content), frontend.HeadSize)], filepath.Join(dir, name)) {
			t.Errorf("%s is not recognised", name)
		}
		m, err := Format.Open(dir, frontend.Weights{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if got := strings.ReplaceAll(strings.Join(m.Files(), " "), dir+"/", ""); got != "variables/variables.index variables/variables.data-00000-of-00001" {
			t.Errorf("files %q", got)
		}
		g, err := frontend.Import(m, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := results(t, g, numbers([]int{1, 2}, 1, 10))
		same(t, got, "sum", 12, 50)
		same(t, got, "product", 2, 30)
	}
}

func TestSavedModelRefused(t *testing.T) {
	index, data := checkpoint([]string{"variables/0", "variables/1"}, [][]float32{{10, 20}, {2, 3}})
	one, _ := checkpoint([]string{"variables/0"}, [][]float32{{10, 20}})
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"no checkpoint": {map[string][]byte{"saved_model.pbtxt": []byte(savedText)}, "its weights are missing: there is no file variables/variables.index"},
		"no data":       {map[string][]byte{"saved_model.pbtxt": []byte(savedText), "variables/variables.index": index}, "its weights are missing: file variables/variables.data-00000-of-00001"},
		"cut data":      {map[string][]byte{"saved_model.pbtxt": []byte(savedText), "variables/variables.index": index, "variables/variables.data-00000-of-00001": data[:12]}, "8 bytes at 8 of a file of 12"},
		"other index":   {map[string][]byte{"saved_model.pbtxt": []byte(savedText), "variables/variables.index": one, "variables/variables.data-00000-of-00001": data}, `there is no "variables/1"`},
		"two graphs":    {map[string][]byte{"a.pb": nil, "b.pb": nil}, "several models (a.pb, b.pb)"},
		"none":          {map[string][]byte{"a.txt": nil}, "holds no model of TensorFlow"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Format.Open(folder(t, c.files), frontend.Weights{})
			if err == nil {
				_, err = frontend.Import(m, frontend.Options{})
				m.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestMadeUp: variables without a checkpoint have values by the shapes that the graph says; of a graph without variables there is nothing to make up.
func TestMadeUp(t *testing.T) {
	made := func(files map[string][]byte) ([]float64, error) {
		m, err := Format.Open(folder(t, files), frontend.Weights{MadeUp: true})
		if err != nil {
			return nil, err
		}
		defer m.Close()
		g, err := frontend.Import(m, frontend.Options{})
		if err != nil {
			return nil, err
		}
		return results(t, g, numbers([]int{1, 2}, 1, 1))["product"], nil
	}
	saved := []byte(savedText)
	v, err := made(map[string][]byte{"saved_model.pbtxt": saved})
	if err != nil || v[0] == v[1] || min(v[0], v[1]) < 0.5 || max(v[0], v[1]) >= 1.5 {
		t.Errorf("%v, %v", v, err)
	}
	index, data := checkpoint([]string{"variables/0", "variables/1"}, [][]float32{{10, 20}, {2, 3}})
	if w, err := made(map[string][]byte{"saved_model.pbtxt": saved, "variables/variables.index": index, "variables/variables.data-00000-of-00001": data}); err != nil || !slices.Equal(v, w) {
		t.Errorf("with a checkpoint %v, %v, without %v", w, err, v)
	}
	if _, err := made(map[string][]byte{"saved_model.pbtxt": []byte(strings.ReplaceAll(savedText, "shape { dim { size: 2 } }", "shape { dim { size: -1 } }"))}); err == nil || !strings.Contains(err.Error(), `variable "scale" has no value`) {
		t.Errorf("a variable of an unknown shape: %v", err)
	}
	if _, err := made(map[string][]byte{"graph.pbtxt": []byte(text(input("x", 2), def("y", "Neg", "x")))}); err == nil || !strings.Contains(err.Error(), "no variables") {
		t.Errorf("a graph without variables: %v", err)
	}
}

// metaText is a meta graph of TensorFlow 1 whose variable is restored by a node.
const metaText = `graph_def {
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: 2 } } } } }
    node { name: "w" op: "VariableV2" } node { name: "w/read" op: "Identity" input: "w" } node { name: "y" op: "Mul" input: "x" input: "w/read" }
    node { name: "save/names" op: "Const" attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "weight" } } } }
    node { name: "save/RestoreV2" op: "RestoreV2" input: "save/names" input: "save/names" input: "save/names" }
    node { name: "save/Assign" op: "Assign" input: "w" input: "save/RestoreV2" }
    node { name: "save/all" op: "NoOp" input: "^save/Assign" } versions { producer: 27 } }
  saver_def { restore_op_name: "save/all" }`

func TestMetaGraph(t *testing.T) {
	index, data := checkpoint([]string{"weight"}, [][]float32{{5, 7}})
	dir := folder(t, map[string][]byte{"model-100.meta": []byte(metaText), "model-100.index": index, "model-100.data-00000-of-00001": data, "checkpoint": nil})
	m, err := Format.Open(filepath.Join(dir, "model-100.meta"), frontend.Weights{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, results(t, g, numbers([]int{2}, 1, 2)), "y", 5, 14)
}

// TestCheckpointElsewhere: --weights names a checkpoint for a meta graph, and for a graph that is not frozen; one that is not there is the file at fault.
func TestCheckpointElsewhere(t *testing.T) {
	index, data := checkpoint([]string{"weight", "w"}, [][]float32{{5, 7}, {5, 7}})
	plain := strings.Replace(strings.SplitN(metaText, "    node { name: \"save/names\"", 2)[0], "graph_def {", "", 1) + "versions { producer: 27 }"
	dir := folder(t, map[string][]byte{"model.meta": []byte(metaText), "graph.pbtxt": []byte(plain), "other/ckpt.index": index, "other/ckpt.data-00000-of-00001": data})
	for _, model := range []string{"model.meta", "graph.pbtxt"} {
		for _, weights := range []string{"ckpt", "ckpt.index", "ckpt.data-00000-of-00001"} {
			m, err := Format.Open(filepath.Join(dir, model), frontend.Weights{Path: filepath.Join(dir, "other", weights)})
			if err != nil {
				t.Errorf("%s with %s: %v", model, weights, err)
				continue
			}
			defer m.Close()
			g, err := frontend.Import(m, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			same(t, results(t, g, numbers([]int{2}, 1, 2)), "y", 5, 14)
		}
		_, err := Format.Open(filepath.Join(dir, model), frontend.Weights{Path: filepath.Join(dir, "none")})
		if err == nil || !strings.Contains(err.Error(), "checkpoint "+filepath.Join(dir, "none")+".index: no such file") {
			t.Errorf("%s: %v", model, err)
		}
	}
}
