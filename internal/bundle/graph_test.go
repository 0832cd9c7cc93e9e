package bundle

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

const sampleGraphText = `{
  "nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "null", "name": "p0", "inputs": []},
    {"op": "tvm_op", "name": "fused_conv<a&b>", "attrs": {"func_name": "tvmgen_default_fused_conv", "num_inputs": "2", "num_outputs": "2", "flatten_data": "0", "hash": "12ab", "data_layout": "NCHW", "out_layout": "NCHW16c"}, "inputs": [[0,0,0],[1,0,0]]},
    {"op": "tvm_op", "name": "reshape_nop", "attrs": {"func_name": "__nop", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}, "inputs": [[2,1,0]]}
  ],
  "arg_nodes": [0,1],
  "heads": [[3,0,0]],
  "attrs": {
    "dltype": ["list_str", ["float32","float32","float32","int64","int64"]],
    "shape": ["list_shape", [[1,3],[2,3],[1,2],[],[1]]],
    "storage_id": ["list_int", [0,1,2,3,3]]
  },
  "node_row_ptr": [0,1,2,4,5]
}
`

func TestGraphText(t *testing.T) {
	b, err := sampleGraph().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != sampleGraphText {
		t.Errorf("got\n%s", b)
	}
}

// tvmGraph is laid out and ordered as TVM's writer does it, with the parts Lathe does not write.
const tvmGraph = `{
  "nodes": [
    {
      "op": "null", 
      "name": "x", 
      "inputs": []
    }, 
    {
      "op": "tvm_op", 
      "name": "tvmgen_default_fused_nn_relu", 
      "attrs": {
        "num_outputs": "1", 
        "num_inputs": "1", 
        "flatten_data": "0", 
        "func_name": "tvmgen_default_fused_nn_relu", 
        "hash": "d49a"
      }, 
      "inputs": [
        [
          0, 
          0, 
          0
        ]
      ],
      "control_deps": []
    }
  ], 
  "arg_nodes": [0], 
  "heads": [
    [1, 0]
  ], 
  "attrs": {
    "dltype": ["list_str", ["float32", "float32"]], 
    "device_index": ["list_int", [1, 1]], 
    "storage_id": ["list_int", [0, 1]], 
    "shape": ["list_shape", [[1, 4], [1, 4]]]
  }, 
  "node_row_ptr": [0, 1, 2]
}`

func TestTVMGraph(t *testing.T) {
	g, err := ParseGraph([]byte(tvmGraph))
	if err != nil {
		t.Fatal(err)
	}
	want := &GraphCall{FuncName: "tvmgen_default_fused_nn_relu", NumInputs: 1, NumOutputs: 1, Hash: "d49a"}
	if !reflect.DeepEqual(g.Nodes[1].Call, want) || g.Heads[0] != (Entry{1, 0, 0}) || !reflect.DeepEqual(g.Attrs.DeviceIndex, []int{1, 1}) {
		t.Errorf("got %+v", g)
	}
}

func TestGraphRoundTrip(t *testing.T) {
	g, err := ParseGraph([]byte(sampleGraphText))
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Marshal()
	if err != nil || string(b) != sampleGraphText {
		t.Errorf("%v\n%s", err, b)
	}
}

func TestGraphErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{sampleGraphText, "", "there is no JSON"},
		{sampleGraphText, "{}", "not a graph-executor JSON"},
		{sampleGraphText, "[1]", "an object is wanted, there is a list"},
		{`"node_row_ptr": [0,1,2,4,5]`, `"node_row_ptr": [0,1,2,4]`, "4 values for 4 nodes"},
		{`[0,1,2,4,5]`, `[0,1,3,4,5]`, "node_row_ptr[2] is 3"},
		{`[0,1,2,4,5]`, `[0,1,2,4,6]`, "ends with 6"},
		{`"arg_nodes": [0,1]`, `"arg_nodes": [0,2]`, "node 2, which is not an input"},
		{`"arg_nodes": [0,1]`, `"arg_nodes": [-1]`, "node -1"},
		{`"heads": [[3,0,0]]`, `"heads": [[4,0,0]]`, "outside 0..3"},
		{`"heads": [[3,0,0]]`, `"heads": [[3,1,0]]`, "output 1 of 1"},
		{`"heads": [[3,0,0]]`, `"heads": [[3]]`, "[node, index, version]"},
		{`[[2,1,0]]`, `[[3,0,0]]`, "outside 0..2"},
		{`[[2,1,0]]`, `[[2,2,0]]`, "output 2 of 2"},
		{`"num_outputs": "2"`, `"num_outputs": "-2"`, "num_outputs -2"},
		{`"num_outputs": "2"`, `"num_outputs": "99999999999999999999"`, "not a number"},
		{`"num_outputs": "2", `, ``, "num_outputs is missing"},
		{`"num_inputs": "2"`, `"num_inputs": "3"`, "num_inputs 3 for 2"},
		{`"tvm_op"`, `"tvm_up"`, `op "tvm_up"`},
		{`["list_int", [0,1,2,3,3]]`, `["list_int", [0,1,2,3]]`, "storage_id has 4 values for 5"},
		{`["list_int", [0,1,2,3,3]]`, `["list_str", [0,1,2,3,3]]`, "list_int"},
		{`["list_int", [0,1,2,3,3]]`, `{}`, "storage_id"},
	} {
		_, err := ParseGraph([]byte(strings.Replace(sampleGraphText, c.old, c.new, 1)))
		t.Run(c.new, func(t *testing.T) { wantError(t, err, "mod.json", c.want) })
	}
	g := sampleGraph()
	g.Heads[0].Node = 9
	_, err := g.Marshal()
	wantError(t, err, "heads")
}

func FuzzGraphJSON(f *testing.F) {
	f.Add([]byte(sampleGraphText))
	f.Add([]byte(tvmGraph))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGraph(b)
		if err != nil {
			return
		}
		once, err := g.Marshal()
		if err != nil {
			t.Fatalf("accepted, but not written: %v", err)
		}
		again, err := ParseGraph(once)
		if err != nil {
			t.Fatalf("not read back: %v\n%s", err, once)
		}
		if twice, err := again.Marshal(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v\n%s\n%s", err, once, twice)
		}
	})
}
