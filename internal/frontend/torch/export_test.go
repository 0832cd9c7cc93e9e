package torch

import (
	"archive/zip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend"
	hosttensor "lathe/internal/tensor"
)

// exportedProgram is relu(x @ w^T + b), whose batch is open, then its halves along the last axis, of which one is chosen by the data.
const exportedProgram = `{"graph_module": {"graph": {
"inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "b_b"}}, {"as_tensor": {"name": "x"}}],
"outputs": [{"as_tensor": {"name": "cond0"}}, {"as_tensor": {"name": "view"}}],
"nodes": [
 {"target": "torch.ops.aten.linear.default", "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, {"name": "weight", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1},
  {"name": "bias", "arg": {"as_tensor": {"name": "b_b"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "linear"}}], "metadata": {"nn_module_stack": "L__self__,,M;L__self___fc,fc,torch.nn.Linear"}},
 {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "relu"}}], "metadata": {}},
 {"target": "torch.ops.aten.sym_size.int", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, {"name": "dim", "arg": {"as_int": 0}, "kind": 1}],
  "outputs": [{"as_sym_int": {"as_name": "s"}}], "metadata": {}},
 {"target": "_operator.mul", "inputs": [{"name": "a", "arg": {"as_sym_int": {"as_name": "s"}}, "kind": 1}, {"name": "b", "arg": {"as_int": 2}, "kind": 1}], "outputs": [{"as_sym_int": {"as_name": "n"}}], "metadata": {}},
 {"target": "torch.ops.aten.view.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "relu"}}, "kind": 1}, {"name": "size", "arg": {"as_sym_ints": [{"as_name": "n"}]}, "kind": 1}],
  "outputs": [{"as_tensor": {"name": "view"}}], "metadata": {}},
 {"target": "torch.ops.aten.split.Tensor", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "relu"}}, "kind": 1}, {"name": "split_size", "arg": {"as_int": 1}, "kind": 1}, {"name": "dim", "arg": {"as_int": -1}, "kind": 1}],
  "outputs": [{"as_tensors": [{"name": "s0"}, {"name": "s1"}]}], "metadata": {}},
 {"target": "torch.ops.aten.gt.Scalar", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "view"}}, "kind": 1}, {"name": "other", "arg": {"as_float": 100.0}, "kind": 1}], "outputs": [{"as_tensor": {"name": "gt"}}], "metadata": {}},
 {"target": "torch.ops.aten.any.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "gt"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "c"}}], "metadata": {}},
 {"target": "torch.ops.higher_order.cond", "inputs": [{"name": "", "arg": {"as_tensor": {"name": "c"}}, "kind": 1},
  {"name": "", "arg": {"as_graph": {"name": "t", "graph": {"inputs": [{"as_tensor": {"name": "p"}}], "outputs": [{"as_tensor": {"name": "p"}}], "nodes": []}}}, "kind": 1},
  {"name": "", "arg": {"as_graph": {"name": "f", "graph": {"inputs": [{"as_tensor": {"name": "p"}}], "outputs": [{"as_tensor": {"name": "q"}}], "nodes": [
   {"target": "torch.ops.aten.neg.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "p"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "q"}}], "metadata": {}}]}}}, "kind": 1},
  {"name": "", "arg": {"as_tensors": [{"name": "s1"}]}, "kind": 1}], "outputs": [{"as_tensors": [{"name": "cond0"}]}], "metadata": {}}
],
"tensor_values": {"x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "batch"}}, {"as_int": 2}], "strides": [{"as_int": 2}, {"as_int": 1}]}, "view": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "2*batch"}}]}}},
"signature": {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.weight"}}, {"buffer": {"arg": {"name": "b_b"}, "buffer_name": "fc.b", "persistent": true}},
 {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
 "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "cond0"}}}}, {"user_output": {"arg": {"as_tensor": {"name": "view"}}}}]}},
"schema_version": {"major": 8, "minor": 1}, "torch_version": "2.9"}`

// exportMembers are an archive of torch.export in its new form, or the old one.
func exportMembers(program string, old bool) map[string][]byte {
	w, b := floats([]float32{1, 2, 3, 4}, 2, 2), floats([]float32{-1, 1}, 2)
	if old {
		data, storages := pickled(map[string]any{"fc.weight": w, "fc.b": b})
		inner := map[string][]byte{"archive/data.pkl": data}
		for i, s := range storages {
			inner[fmt.Sprintf("archive/data/%d", i)] = s
		}
		return map[string][]byte{"version": []byte("8.1"), "serialized_exported_program.json": []byte(program), "serialized_state_dict.pt": zipped(nil, inner, zip.Store), "serialized_constants.pt": nil}
	}
	config := `{"config": {"fc.weight": {"path_name": "weight_0", "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 2}], "strides": [{"as_int": 2}, {"as_int": 1}], "storage_offset": {"as_int": 0}}},
"fc.b": {"path_name": "weight_1", "use_pickle": false, "tensor_meta": {"dtype": 7, "sizes": [{"as_int": 2}], "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}}}}}`
	return map[string][]byte{"net/archive_format": []byte("pt2"), "net/models/model.json": []byte(program), "net/data/weights/model_weights_config.json": []byte(config),
		"net/data/weights/weight_0": w.Bytes(), "net/data/weights/weight_1": b.Bytes()}
}

func TestExport(t *testing.T) {
	for _, old := range []bool{false, true} {
		data := zipped(t, exportMembers(exportedProgram, old), zip.Store)
		m, err := Read(data)
		if err != nil {
			t.Errorf("old %v: %v", old, err)
			continue
		}
		if in := m.Graph.Inputs; len(in) != 1 || in[0].Name != "x" || in[0].Dims[0].Param != "batch" || in[0].Dims[1].Value != 2 {
			t.Errorf("inputs %v", in)
		}
		out, err := imported(data, frontend.Options{Sizes: map[string]int{"batch": 2}, Shapes: map[string][]int{}}, floats([]float32{1, 1, -9, 2}, 2, 2))
		if err != nil {
			t.Errorf("old %v: %v", old, err)
			continue
		}
		if y := hosttensor.As[float32](out[1]); !slices.Equal(y, []float32{2, 8, 0, 0}) || !slices.Equal(out[1].Shape, []int{4}) {
			t.Errorf("old %v: view %v", old, y)
		}
		if y := hosttensor.As[float32](out[0]); !slices.Equal(y, []float32{-8, 0}) {
			t.Errorf("old %v: cond %v", old, y)
		}
	}
}

func TestExportErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"aten.relu.default", "aten.nonsense.default", "1 unsupported operator: torch.nonsense (1 node"},
		{`"fc.b", "persistent"`, `"fc.c", "persistent"`, `no weight "fc.c"`},
		{`{"as_tensor": {"name": "linear"}}, "kind"`, `{"as_tensor": {"name": "lost"}}, "kind"`, `"lost" has no value`},
		{`"as_int": -1`, `"as_int": 5`, `torch.split: axis 5`},
		{`{"graph_module"`, `{"graph_module`, "models/model.json"},
		{`"dtype": 7, "sizes": [{"as_expr"`, `"dtype": 99, "sizes": [{"as_expr"`, "element type 99"},
	} {
		program := strings.Replace(exportedProgram, c.from, c.to, 1)
		_, err := imported(zipped(t, exportMembers(program, false), zip.Store), frontend.Options{}, floats([]float32{1, 1}, 1, 2))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

func FuzzExport(f *testing.F) {
	f.Add(exportedProgram)
	f.Fuzz(func(t *testing.T, program string) {
		m, err := Read(zipped(t, exportMembers(program, false), zip.Store))
		if err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}
