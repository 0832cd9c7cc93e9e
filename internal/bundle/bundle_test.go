package bundle

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// wantError checks that err mentions all parts, in one line.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", parts)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not mention %q", err, p)
		}
	}
}

var elf64 = elfClasses[2]

// fakeLibrary is an ELF header of an amd64 shared object with one segment that covers it.
func fakeLibrary() []byte {
	le := binary.LittleEndian
	b := make([]byte, 200)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 3)  // shared object
	le.PutUint16(b[18:], 62) // amd64
	le.PutUint64(b[32:], uint64(elf64.header))
	le.PutUint16(b[54:], uint16(elf64.segment))
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[elf64.header:], 1)
	le.PutUint64(b[elf64.header+32:], uint64(len(b)))
	return b
}

func sampleParams() []Param {
	return []Param{
		{Name: "p0", DType: "float32", Shape: []int{2, 3}, Data: []byte("0123456789abcdefghijklmn")},
		{Name: "scalar", DType: "int64", Shape: []int{}, Data: []byte("01234567")},
		{Name: "empty", DType: "uint8", Shape: []int{4, 0}, Data: []byte{}},
		{Name: "weights with a long name", DType: "bfloat16", Shape: []int{3}, Data: []byte("012345")},
		{Name: "mask", DType: "bool", Shape: []int{1, 1, 5}, Data: []byte{0, 1, 0, 1, 1}},
	}
}

func sampleGraph() *GraphJSON {
	return &GraphJSON{
		Nodes: []GraphNode{
			{Op: "null", Name: "data"},
			{Op: "null", Name: "p0"},
			{Op: "tvm_op", Name: "fused_conv<a&b>", Inputs: []Entry{{0, 0, 0}, {1, 0, 0}}, Call: &GraphCall{
				FuncName: "tvmgen_default_fused_conv", NumInputs: 2, NumOutputs: 2, Hash: "12ab",
				Extra: map[string]string{"out_layout": "NCHW16c", "data_layout": "NCHW"}}},
			{Op: "tvm_op", Name: "reshape_nop", Inputs: []Entry{{2, 1, 0}}, Call: &GraphCall{FuncName: "__nop", NumInputs: 1, NumOutputs: 1}},
		},
		ArgNodes: []int{0, 1},
		Heads:    []Entry{{3, 0, 0}},
		Attrs: GraphAttrs{
			DType:     []string{"float32", "float32", "float32", "int64", "int64"},
			Shape:     [][]int{{1, 3}, {2, 3}, {1, 2}, {}, {1}},
			StorageID: []int{0, 1, 2, 3, 3},
		},
		NodeRowPtr: []int{0, 1, 2, 4, 5},
	}
}

func sampleManifest() *Manifest {
	return &Manifest{
		Format: FormatVersion, ABI: ABIVersion, Lathe: "0.1.0", Module: "default",
		Target:    Target{String: "llvm -mcpu=x86-64-v3", Triple: "x86_64-linux-gnu", CPU: "x86-64-v3", Features: []string{"avx2", "fma"}},
		Options:   map[string]string{"opt-level": "3", "desired-layout": ""},
		Source:    Source{File: "model <1>.onnx", SHA256: "00ff"},
		Workspace: 4096, Scratch: 128, Symbols: 1,
		Steps:   []Step{{Name: "conv", Ops: []string{"nn.conv2d"}, Nodes: []string{"/conv1"}, FLOPs: 100, Bytes: 20}},
		Inputs:  []TensorInfo{{Name: "data", DType: "float32", Shape: []int{1, 3}}},
		Outputs: []TensorInfo{{Name: "out", DType: "int64", Shape: []int{1, 7}, Symbols: []int{-1, 0}}},
		Params:  []string{"p0", "scalar", "empty", "weights with a long name", "mask"},
		Notes:   []string{"symbolic dimension N is 1"},
	}
}

func sampleContents() *Contents {
	return &Contents{Manifest: sampleManifest(), Graph: sampleGraph(), Library: fakeLibrary(), Params: sampleParams()}
}

func mustParams(t testing.TB, params []Param) []byte {
	var b bytes.Buffer
	if err := WriteParams(&b, params); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
