package tensor_test

import (
	"bytes"
	"slices"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// doubled is a tensor of x's elements times two, which counts how often it is made.
func doubled(x *tensor.Tensor, times *int) *tensor.Tensor {
	return tensor.Later(x.DType, x.Shape, x, "doubled", func(out []byte) {
		*times++
		for i, b := range x.Bytes() {
			out[i] = 2 * b
		}
	})
}

func TestLater(t *testing.T) {
	times := 0
	y := doubled(tensor.Of([]int{2, 3}, []int8{1, 2, 3, 4, 5, 6}), &times)
	if _, _, ok := y.InMemory(); ok || y.Size() != 6 || y.Len() != 6 || y.Type().String() != "int8[2,3]" || times != 0 {
		t.Errorf("%s, %d bytes, in memory %v, made %d times before anybody asks", y.Type(), y.Size(), ok, times)
	}
	want := []byte{2, 4, 6, 8, 10, 12}
	for range 2 {
		out := bytes.Repeat([]byte{77}, 6)
		if y.Fill(out); !bytes.Equal(out, want) {
			t.Errorf("filled with %v", out)
		}
	}
	if _, _, ok := y.InMemory(); ok || times != 2 {
		t.Errorf("filling keeps what it makes: %v, %d", ok, times)
	}
	z := y.Reshape(3, 2)
	if !bytes.Equal(z.Bytes(), want) || !bytes.Equal(y.Bytes(), want) || y.Int(5) != 12 || times != 3 {
		t.Errorf("%v and %v, made %d times", y.Bytes(), z.Bytes(), times)
	}
	data, steps, ok := y.InMemory()
	if !ok || !bytes.Equal(data, want) || !slices.Equal(steps, []int{3, 1}) {
		t.Errorf("in memory %v, %v, %v", data, steps, ok)
	}
}

// TestView: a view lies in another tensor; its elements are its own once it is reshaped, which no steps tell.
func TestView(t *testing.T) {
	x := tensor.Of([]int{2, 3}, []int8{1, 2, 3, 4, 5, 6})
	fill := func(out []byte) { copy(out, []byte{1, 4, 2, 5, 3, 6}) }
	y := tensor.View([]int{3, 2}, x, []int{1, 3}, "turned", fill)
	if data, steps, ok := y.InMemory(); !ok || &data[0] != &x.Bytes()[0] || !slices.Equal(steps, []int{1, 3}) {
		t.Errorf("%v, %v, %v", data, steps, ok)
	}
	z := y.Reshape(2, 3)
	if _, _, ok := z.InMemory(); ok || !bytes.Equal(z.Bytes(), []byte{1, 4, 2, 5, 3, 6}) {
		t.Errorf("reshaped: in memory %v, %v", ok, z.Bytes())
	}
	if data, steps, ok := y.InMemory(); !ok || !bytes.Equal(data, z.Bytes()) || !slices.Equal(steps, []int{2, 1}) {
		t.Errorf("once made: %v, %v, %v", data, steps, ok)
	}
	times := 0
	if _, _, ok := tensor.View([]int{3, 2}, doubled(x, &times), []int{1, 3}, "turned", fill).InMemory(); ok {
		t.Error("a view of what is not there is there")
	}
	if _, _, ok := tensor.View([]int{2, 2}, tensor.New(types.I4, 2, 2), []int{1, 2}, "turned", fill).InMemory(); ok {
		t.Error("a view of halves of bytes")
	}
}

func TestOrigin(t *testing.T) {
	x, times := tensor.New(types.U8, 4), 0
	if of, how := x.Origin(); of != x || how != "" {
		t.Errorf("%p %q of %p", of, how, x)
	}
	a, b := doubled(x, &times), doubled(doubled(x, &times), &times)
	ofA, howA := a.Origin()
	ofB, howB := b.Origin()
	if ofA != x || ofB != x || howA == howB || times != 0 {
		t.Errorf("%p %q, %p %q, made %d times", ofA, howA, ofB, howB, times)
	}
}
