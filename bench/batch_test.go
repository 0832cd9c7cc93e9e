package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe"
)

// TestWithBatch gives the demo network, whose batch is 1, another one that the compiler's shapes then follow.
func TestWithBatch(t *testing.T) {
	model := filepath.Join("..", "examples", "demo", "digits.onnx")
	file, err := withBatch(model, 3, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m, err := lathe.Load(file, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range append(m.Inputs(), m.Outputs()...) {
		if x.Shape[0] != 3 {
			t.Errorf("%s has shape %v", x.Name, x.Shape)
		}
	}
	before, err := lathe.Load(model, lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Inputs()) != len(before.Inputs()) || m.Inputs()[0].Shape[1] != before.Inputs()[0].Shape[1] {
		t.Errorf("inputs %v of what was %v", m.Inputs(), before.Inputs())
	}
}

func TestWithBatchOfGarbage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(file, []byte{0x3a, 0xff, 0x01}, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := withBatch(file, 2, t.TempDir()); err == nil {
		t.Error("a truncated model was accepted")
	}
}

// message appends fields of bytes, given as number and content by turns.
func message(parts ...any) (b []byte) {
	for i := 0; i < len(parts); i += 2 {
		b = protowire.AppendTag(b, protowire.Number(parts[i].(int)), protowire.BytesType)
		switch v := parts[i+1].(type) {
		case string:
			b = protowire.AppendString(b, v)
		case []byte:
			b = protowire.AppendBytes(b, v)
		}
	}
	return b
}

// int64s is a tensor, with its elements as raw data or as varints.
func int64s(name string, raw bool, v ...uint64) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, tensorType, protowire.VarintType), typeInt64)
	var data []byte
	for _, x := range v {
		if raw {
			data = binary.LittleEndian.AppendUint64(data, x)
		} else {
			data = protowire.AppendVarint(data, x)
		}
	}
	field := tensorInt64s
	if raw {
		field = tensorRaw
	}
	return append(b, message(tensorName, name, field, data)...)
}

// TestShapesOfReshape opens the batch in shapes of Reshape nodes and nowhere else.
func TestShapesOfReshape(t *testing.T) {
	model := func(first uint64) []byte {
		return message(modelGraph, message(
			graphNode, message(nodeInput, "x", nodeInput, "raw", nodeOutput, "a", nodeOperator, "Reshape"),
			graphNode, message(nodeInput, "a", nodeInput, "varints", nodeOutput, "b", nodeOperator, "Reshape"),
			graphNode, message(nodeOutput, "inner", nodeOperator, "Constant", nodeAttribute, message(attributeTensor, int64s("", true, first, 5))),
			graphNode, message(nodeInput, "b", nodeInput, "inner", nodeOutput, "c", nodeOperator, "Reshape"),
			graphNode, message(nodeInput, "c", nodeInput, "both", nodeOutput, "d", nodeOperator, "Reshape"),
			graphNode, message(nodeInput, "d", nodeInput, "both", nodeOutput, "e", nodeOperator, "Expand"),
			graphInitializer, int64s("raw", true, first, 7), graphInitializer, int64s("varints", false, first, 7), graphInitializer, int64s("both", true, 1, 7),
			graphInitializer, int64s("fixed", true, 1, 7),
		))
	}
	file := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(file, model(1), 0o644); err != nil {
		t.Fatal(err)
	}
	to, err := withBatch(file, 4, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, model(0)) {
		t.Errorf("got\n%q\nwant\n%q", got, model(0))
	}
}
