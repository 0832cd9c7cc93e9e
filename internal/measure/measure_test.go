package measure

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"lathe/internal/bundle"
)

// TestTurns: the host's kernel runs beside every candidate, in every other round in the other order, and each has its pairs in the end.
func TestTurns(t *testing.T) {
	a, b, c := &want{left: 3}, &want{left: 2}, &want{left: 1}
	names := map[*want]string{nil: "H", a: "a", b: "b", c: "c"}
	var order strings.Builder
	clock := 0.0
	err := race([]*want{a, b, c}, func(w *want) (float64, error) {
		order.WriteString(names[w])
		clock++
		return clock, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := order.String(), "HabHcHbaHHa"; got != want {
		t.Errorf("runs are %s, want %s", got, want)
	}
	for w, n := range map[*want]int{a: 3, b: 2, c: 1} {
		if len(w.Times) != n || len(w.Host) != n {
			t.Errorf("pairs: %v", w.Pairs)
		}
		for i := range w.Times {
			if math.Abs(w.Times[i]-w.Host[i]) != 1 {
				t.Errorf("pair %d is not of neighbours: %v and %v", i, w.Times[i], w.Host[i])
			}
		}
	}
	failed := errors.New("x")
	if err := race([]*want{{left: 1}}, func(*want) (float64, error) { return 0, failed }); err != failed {
		t.Error(err)
	}
}

func floats(list ...float32) []byte {
	var b []byte
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestDiffer(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		want, got []byte
		dtype     string
		same      bool
	}{
		{floats(1, 2), floats(1, 2), "float32", true},
		{floats(1, 2), floats(1, 2.00001), "float32", true},
		{floats(1, 2), floats(1, 2.001), "float32", false},
		{floats(1, 2), floats(1, nan), "float32", false},
		{floats(1, nan), floats(1, nan), "float32", true},
		{floats(1, inf), floats(1, inf), "float32", true},
		{floats(1, inf), floats(1, -inf), "float32", false},
		{floats(1, 2), floats(1, inf), "float32", false},
		{floats(0, 0), floats(0, 1e-3), "float32", false},
		{[]byte{1, 2}, []byte{1, 3}, "int8", false},
	} {
		if text := differ(c.want, c.got, c.dtype, 1e-5); (text == "") != c.same {
			t.Errorf("%v and %v: %q", c.want, c.got, text)
		}
	}
}

// TestAround: a result that is right does not excuse what was written beside it.
func TestAround(t *testing.T) {
	memory := make([]byte, 64)
	a := &surroundings{wide: [][]byte{memory}, results: [][]byte{memory[16:32]}, inside: []int{16}}
	at := []bundle.Place{{Bytes: 16, DType: "float32"}}
	want := a.save(new([][]byte))
	if text := a.compare(want, at, 1e-5); text != "" {
		t.Error(text)
	}
	for _, i := range []int{15, 32} {
		memory[i] = 1
		if text := a.compare(want, at, 1e-5); !strings.Contains(text, "outside") {
			t.Errorf("byte %d: %q", i, text)
		}
		a.restore(want)
	}
	memory[23] = 0x40
	if text := a.compare(want, at, 1e-5); text == "" {
		t.Error("another result is taken")
	}
}
