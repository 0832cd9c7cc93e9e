package torch

import (
	"encoding/json"
	"fmt"

	"lathe/internal/types"
)

// An exported is a program of torch.export, as torch/_export/serde/schema.py has it.
type exported struct {
	Module struct {
		Graph     exportGraph `json:"graph"`
		Signature struct {
			Inputs  []map[string]json.RawMessage `json:"input_specs"`
			Outputs []map[string]json.RawMessage `json:"output_specs"`
		} `json:"signature"`
	} `json:"graph_module"`
	Version struct {
		Major int `json:"major"`
		Minor int `json:"minor"`
	} `json:"schema_version"`
	Torch string `json:"torch_version"`
}

type exportGraph struct {
	Inputs  []map[string]json.RawMessage `json:"inputs"`
	Outputs []map[string]json.RawMessage `json:"outputs"`
	Nodes   []exportNode                 `json:"nodes"`
	Tensors map[string]exportTensor      `json:"tensor_values"`
}

type exportNode struct {
	Target string `json:"target"`
	Inputs []struct {
		Name string                     `json:"name"`
		Arg  map[string]json.RawMessage `json:"arg"`
		Kind int                        `json:"kind"`
	} `json:"inputs"`
	Outputs  []map[string]json.RawMessage `json:"outputs"`
	Metadata map[string]string            `json:"metadata"`
}

type exportTensor struct {
	DType   int          `json:"dtype"`
	Sizes   []exportSize `json:"sizes"`
	Strides []exportSize `json:"strides"`
	Offset  *exportSize  `json:"storage_offset"`
}

type exportSize struct {
	Int  *int64 `json:"as_int"`
	Expr *struct {
		Text string `json:"expr_str"`
	} `json:"as_expr"`
}

// A named value, as most things refer to it.
type exportName struct {
	Name string `json:"name"`
}

// exportDTypes are the element types by the numbers of the schema.
var exportDTypes = []types.DType{1: types.U8, 2: types.I8, 3: types.I16, 4: types.I32, 5: types.I64, 6: types.F16, 7: types.F32, 8: types.F64, 12: types.Bool, 13: types.BF16, 28: types.U16}

func exportDType(n int) (types.DType, error) {
	if n < 0 || n >= len(exportDTypes) || exportDTypes[n] == types.Invalid {
		return types.Invalid, fmt.Errorf("the element type %d is not supported", n)
	}
	return exportDTypes[n], nil
}
