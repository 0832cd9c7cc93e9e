package wire

import (
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func message() (b []byte) {
	b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), math.MaxUint64)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), "abc")
	b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), []byte{1, 0x80, 1})
	b = protowire.AppendFixed32(protowire.AppendTag(b, 4, protowire.Fixed32Type), math.Float32bits(1.5))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 5, protowire.Fixed64Type), math.Float64bits(-2))
	b = protowire.AppendVarint(protowire.AppendTag(protowire.AppendTag(b, 6, protowire.StartGroupType), 1, protowire.VarintType), 1)
	b = protowire.AppendTag(b, 6, protowire.EndGroupType)
	return protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), nil)
}

func TestEach(t *testing.T) {
	fields := map[int]Field{}
	if err := Each(message(), func(f Field) error { fields[f.Number] = f; return nil }); err != nil {
		t.Fatal(err)
	}
	ints, err := fields[3].Ints()
	if err != nil || !slices.Equal(ints, []int64{1, 128}) {
		t.Errorf("%v %v", ints, err)
	}
	if _, err := fields[2].Floats(4); err == nil {
		t.Error("three bytes are floats")
	}
	for _, ok := range []bool{fields[1].Int() == -1, fields[1].Bool(), fields[2].Text() == "abc", fields[4].Float() == 1.5, fields[5].Double() == -2, fields[7].Data != nil} {
		if !ok {
			t.Errorf("%v", fields)
		}
	}
	if f, err := fields[4].Floats(4); err != nil || f[0] != 1.5 {
		t.Errorf("%v %v", f, err)
	}
	if f, err := fields[5].Floats(8); err != nil || f[0] != -2 {
		t.Errorf("%v %v", f, err)
	}
}

func FuzzEach(f *testing.F) {
	f.Add(message())
	f.Fuzz(func(t *testing.T, data []byte) {
		Each(data, func(f Field) error {
			f.Ints()
			f.Floats(4)
			f.Floats(8)
			return nil
		})
	})
}
