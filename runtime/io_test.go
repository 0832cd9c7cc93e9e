package runtime

import (
	"encoding/binary"
	"errors"
	goruntime "runtime"
	"slices"
	"testing"

	"lathe/internal/bundle"
)

func TestInputErrors(t *testing.T) {
	m := openFixture(t)
	x := fixtureX()
	wantError(t, m.Run(), `input "x" was never set`)
	wantError(t, m.SetInput("data", x), `unknown input "data"`, `"x", "fault"`)
	wantError(t, m.SetInputIndex(2, x), "input 2", "2 inputs")
	wantError(t, m.SetInputIndex(-1, x), "input -1")
	wantError(t, m.SetInput("x", Tensor{"float64", x.Shape, x.Data}), "float64[1,1024]", "expects float32[1,1024]")
	wantError(t, m.SetInput("x", Tensor{"float32", []int{1024}, x.Data}), "float32[1024]", "expects float32[1,1024]")
	wantError(t, m.SetInput("x", Tensor{"float32", x.Shape, x.Data[1:]}), "4096 bytes", "4095")
	wantError(t, m.BindInput("y", x.Data), `unknown input "y"`)
	wantError(t, m.BindInput("x", x.Data[4:]), "4096 bytes", "4092")
	unaligned := make([]byte, 4097)[1:]
	wantError(t, m.BindInput("x", unaligned), "not aligned")
	wantError(t, m.Run(), `input "x" was never set`)
	_, err := m.Output(0)
	wantError(t, err, "has not run yet")
	_, err = m.Output(2)
	wantError(t, err, "2 outputs")
}

// TestBindInput binds a slice on Go's heap, which the module has to keep alive and in place.
func TestBindInput(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	x := setFixture(t, m, 1, 0)
	bound := slices.Clone(x)
	if err := m.BindInput("x", floatBytes(bound)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		bound[i], x[i] = float32(i)+100, float32(i)+100
	}
	bound = nil
	for range 3 {
		goruntime.GC()
		_ = make([]float32, 1<<16)
	}
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	checkFixture(t, m, x)

	other := slices.Clone(x)
	if err := m.BindInput("x", floatBytes(other)); err != nil {
		t.Fatal(err)
	}
	y := setFixture(t, m, 2, 0)
	if !slices.Equal(other, x) {
		t.Error("SetInput writes into the slice that was bound before")
	}
	wantError(t, m.BindInput("x", make([]byte, 4097)[1:]), "not aligned") // and changes nothing
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	checkFixture(t, m, y)
}

// TestSetInputCopies changes the caller's slice after SetInput.
func TestSetInputCopies(t *testing.T) {
	m := openFixture(t)
	x := setFixture(t, m, 1, 0)
	kept := slices.Clone(x)
	clear(x)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	checkFixture(t, m, kept)
}

func TestOutputView(t *testing.T) {
	m := openFixture(t)
	setFixture(t, m, 1, 0)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	view, err := m.Output(0)
	if err != nil {
		t.Fatal(err)
	}
	clone := view.Clone()
	if !slices.Equal(view.Data, clone.Data) {
		t.Fatal("the clone differs")
	}
	setFixture(t, m, 2, 0)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	if slices.Equal(view.Data, clone.Data) {
		t.Error("the view does not follow the run, or the clone does")
	}
}

// TestSymbolOutOfRange plays generated code that reports a size beyond its bound.
func TestSymbolOutOfRange(t *testing.T) {
	m := openFixture(t)
	setFixture(t, m, 1, 0)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	symbol, err := m.code.MemoryAt(bundle.Place{Kind: bundle.InSymbols, Bytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{fixtureN + 1, -1, 1 << 62} {
		binary.NativeEndian.PutUint64(symbol, uint64(n))
		_, err := m.Output(1)
		wantError(t, err, `"positive"`, "outside 0..1024")
	}
}

func TestClosed(t *testing.T) {
	m, err := Open(writeFixture(t, nil), WithWorkers(2))
	if err != nil {
		t.Fatal(err)
	}
	setFixture(t, m, 1, 0)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, errOutput := m.Output(0)
	for name, err := range map[string]error{"Run": m.Run(), "SetInput": m.SetInput("x", fixtureX()), "Output": errOutput} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed module: %v", name, err)
		}
	}
	if len(m.Inputs()) != 2 || m.Info().Module != "fixture" {
		t.Error("a closed module has no description")
	}
}
