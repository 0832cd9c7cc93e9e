package xir

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields lists a message's fields of a number.
func fields(t *testing.T, b []byte, number protowire.Number) (list [][]byte) {
	for len(b) > 0 {
		n, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal("a damaged tag")
		}
		length := protowire.ConsumeFieldValue(n, typ, b[size:])
		if length < 0 {
			t.Fatal("a damaged value")
		}
		value := b[size : size+length]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if n == number {
			list = append(list, value)
		}
		b = b[size+length:]
	}
	return list
}

// TestEncode reads a file by the numbers of serial_v2.
func TestEncode(t *testing.T) {
	g := &Graph{"net", []Op{
		{Name: "x", Type: "data", Attrs: map[string]any{"data_type": "FLOAT32", "shape": []int32{1, 300}}, Tensor: Tensor{Type: Float, Bits: 32, Shape: []int{1, 300}}},
		{Name: "y", Type: "fix", Attrs: map[string]any{"fix_point": int32(-2), "if_signed": true, "data": []byte{7}, "alpha": float32(0.5)}, Args: []Arg{{"input", []string{"x"}}}},
	}}
	b := g.Encode()
	if name := fields(t, b, 1); string(name[0]) != "net" {
		t.Errorf("name %q", name)
	}
	ops := fields(t, b, 5)
	if len(ops) != 2 || string(fields(t, ops[1], 1)[0]) != "y" || string(fields(t, ops[1], 2)[0]) != "fix" {
		t.Fatalf("%d operations", len(ops))
	}
	arg := fields(t, ops[1], 4)[0]
	if string(fields(t, arg, 1)[0]) != "input" || string(fields(t, arg, 2)[0]) != "x" {
		t.Errorf("argument %q", arg)
	}
	shape := fields(t, fields(t, ops[0], 5)[0], 2)[0]
	if !slices.Equal(shape, []byte{1, 0xac, 2}) {
		t.Errorf("shape %v", shape)
	}
	attrs := map[string][]byte{}
	for _, entry := range fields(t, ops[1], 3) {
		attrs[string(fields(t, entry, 1)[0])] = fields(t, entry, 2)[0]
	}
	if v, _ := protowire.ConsumeVarint(fields(t, attrs["fix_point"], 5)[0]); int32(v) != -2 {
		t.Errorf("fix_point %d", int32(v))
	}
	if v, _ := protowire.ConsumeVarint(fields(t, attrs["if_signed"], 4)[0]); v != 1 {
		t.Errorf("if_signed %d", v)
	}
	if v, _ := protowire.ConsumeFixed32(fields(t, attrs["alpha"], 9)[0]); v != 0x3f000000 {
		t.Errorf("alpha %x", v)
	}
	if data := fields(t, fields(t, attrs["data"], 12)[0], 1); !slices.Equal(data[0], []byte{7}) {
		t.Errorf("data %v", data)
	}
	root := fields(t, b, 10)[0]
	if names := fields(t, root, 3); len(names) != 2 || string(names[1]) != "y" {
		t.Errorf("root %q", names)
	}
}
