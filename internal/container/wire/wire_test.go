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

func TestRead(t *testing.T) {
	field := func(b []byte, number int, data []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(number), protowire.BytesType), data)
	}
	pair := field(field(nil, 1, []byte("key")), 2, []byte("value"))
	msg := field(field(field(field(message(), 8, []byte("x")), 8, []byte("y")), 9, pair), 10, message())
	var number int32
	var text, within string
	var texts []string
	var data []byte
	var list []int64
	var floats []float64
	var lengths []int
	var truth bool
	pairs := map[string]string{}
	err := Read(msg, Fields{
		1: Int(&number), 2: Text(&text), 3: Ints(&list), 4: Floats(&floats), 5: Bool(&truth), 7: Bytes(&data), 8: Texts(&texts), 9: Pairs(pairs),
		10: func(f Field) error {
			length := func(msg []byte) (int, error) { return len(msg), nil }
			if err := Message(Fields{2: Text(&within), 3: Messages(&lengths, length)})(f); err != nil {
				return err
			}
			return With(func(msg []byte) error { return Read(msg, Fields{3: Ints(&list)}) })(f)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if number != -1 || text != "abc" || within != "abc" || !truth || data == nil || pairs["key"] != "value" {
		t.Errorf("%v %q %q %v %v %v", number, text, within, truth, data, pairs)
	}
	if !slices.Equal(texts, []string{"x", "y"}) || !slices.Equal(list, []int64{1, 128, 1, 128}) || !slices.Equal(floats, []float64{1.5}) || !slices.Equal(lengths, []int{3}) {
		t.Errorf("%v %v %v %v", texts, list, floats, lengths)
	}
	for _, fields := range []Fields{{2: Floats(&floats)}, {2: Message(Fields{})}, {2: Messages(&lengths, func([]byte) (int, error) { return 0, ErrDamaged })}} {
		if err := Read(msg, fields); err == nil {
			t.Errorf("text is read as %v", fields)
		}
	}
	if len(lengths) != 1 {
		t.Errorf("a message that cannot be read is in the list: %v", lengths)
	}
}
