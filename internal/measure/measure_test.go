package measure

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"lathe/internal/bundle"
)

// TestTurns: at a step host and candidate take turns as in A B B A, candidates of a task in turns, and each has its pairs in the end.
func TestTurns(t *testing.T) {
	a, b := &want{left: 3}, &want{left: 2}
	q := &queue{tasks: map[int][]*want{7: {a, b}}, turns: map[int]*turn{}}
	var order strings.Builder
	for clock := 1.0; q.open(); clock++ {
		turn := q.turn(40, 7)
		if turn.of == nil {
			t.Fatal("pairs are missing, and no step takes them")
		}
		own := turn.host()
		switch {
		case own:
			order.WriteString("H")
		case turn.of == a:
			order.WriteString("a")
		default:
			order.WriteString("b")
		}
		turn.take(clock, own)
	}
	if got, want := order.String(), "HabHHabHHa"; got != want {
		t.Errorf("runs are %s, want %s", got, want)
	}
	if len(a.Times) != 3 || len(a.Host) != 3 || len(b.Times) != 2 || len(b.Host) != 2 {
		t.Errorf("pairs: %v %v", a.Pairs, b.Pairs)
	}
	for i := range a.Times {
		if math.Abs(a.Times[i]-a.Host[i]) != 1 {
			t.Errorf("pair %d is not of neighbours: %v and %v", i, a.Times[i], a.Host[i])
		}
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
	want := a.save()
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
