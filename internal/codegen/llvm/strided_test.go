package llvm_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/loop/interp"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestStridedLoads reads windows with a stride along the lanes, as pooling does, from a buffer that begins or ends where
// memory does: the lanes get the interpreter's elements, and nothing outside the buffer is read.
func TestStridedLoads(t *testing.T) {
	var funcs []*loop.Func
	var uses []string
	r := rand.New(rand.NewPCG(3, 17))
	for _, typ := range []string{"float32", "uint8", "int64", "float16", "bool"} {
		for _, lanes := range []int{2, 3, 4, 7, 8, 13, 16} {
			for _, stride := range []int{-5, -4, -3, -2, -1, 2, 3, 4, 5} {
				vectors, taps := 1+r.IntN(3), 1+r.IntN(4)
				step := max(stride, -stride)
				n := (vectors*lanes-1)*step + taps // elements from the first to the last that is read
				before, after := r.IntN(2)*r.IntN(9), r.IntN(2)*r.IntN(9)
				at := before
				if stride < 0 {
					at += n - taps
				}
				reads := ""
				for tap := range taps {
					reads += fmt.Sprintf("y[%[1]d, ((o * %[2]d) + v)] = x[(%[3]d + (((o * %[2]d) + v) * %[4]d))] ", tap, lanes, at+tap, stride)
				}
				funcs = append(funcs, parse(t, fmt.Sprintf(`func kernel(x: %[1]s[%[2]d], y: %[1]s[%[3]d,%[4]d]) { for o in 0..%[5]d { vector v in 0..%[6]d { %[7]s} } }`,
					typ, before+n+after, taps, vectors*lanes, vectors, lanes, reads)))
				uses = append(uses, fmt.Sprintf("%s, %d lanes, stride %d, %d taps", typ, lanes, stride, taps))
			}
		}
	}
	checkConfined(t, funcs, uses, r)
}

// TestPatternedLoads reads elements again and again, or in another order, near each other: the same is asked of them.
func TestPatternedLoads(t *testing.T) {
	var funcs []*loop.Func
	var uses []string
	r := rand.New(rand.NewPCG(5, 11))
	for _, typ := range []string{"float32", "uint8", "int64", "float16", "bool"} {
		for _, lanes := range []int{2, 3, 4, 7, 8, 13, 16} {
			for _, by := range []int{2, 3, 4, 5} {
				vectors, before, after := 1+r.IntN(3), r.IntN(2)*r.IntN(9), r.IntN(2)*r.IntN(9)
				for _, p := range []struct {
					index string
					of    func(i int) int
				}{
					{fmt.Sprintf("floordiv(v, %d)", by), func(i int) int { return i / by }},
					{fmt.Sprintf("floormod(v, %d)", by), func(i int) int { return i % by }},
					{fmt.Sprintf("((floormod(v, %[1]d) * 3) + floordiv(v, %[1]d))", by), func(i int) int { return i%by*3 + i/by }},
					{fmt.Sprintf("(%d - floordiv((v + 1), %d))", lanes/by, by), func(i int) int { return lanes/by - (i+1)/by }},
					{fmt.Sprintf("((floordiv(v, %[1]d) * %[1]d) + (%[2]d - floormod(v, %[1]d)))", by, by-1), func(i int) int { return i/by*by + by - 1 - i%by }},
				} {
					high := 0
					for i := range lanes {
						high = max(high, p.of(i))
					}
					funcs = append(funcs, parse(t, fmt.Sprintf(`func kernel(x: %[1]s[%[2]d], y: %[1]s[%[3]d]) { for o in 0..%[4]d { vector v in 0..%[5]d { y[((o * %[5]d) + v)] = x[((%[6]d + (o * %[7]d)) + %[8]s)] } } }`,
						typ, before+vectors*(high+1)+after, vectors*lanes, vectors, lanes, before, high+1, p.index)))
					uses = append(uses, fmt.Sprintf("%s, %d lanes, %s", typ, lanes, p.index))
				}
			}
		}
	}
	checkConfined(t, funcs, uses, r)
}

// TestStridedLoadsOfSomeLanes: a mask whose lanes are known, of a statement or of a selection, leaves the others' elements unread, and takes no
// branch for each lane.
func TestStridedLoadsOfSomeLanes(t *testing.T) {
	var funcs []*loop.Func
	var uses []string
	r := rand.New(rand.NewPCG(7, 29))
	for _, typ := range []string{"float32", "uint8", "int64", "float16", "bool"} {
		for _, lanes := range []int{4, 7, 8, 13, 16} {
			for _, stride := range []int{-9, -4, -2, 2, 3, 4, 9} {
				from := r.IntN(lanes - 1)
				to := from + 1 + r.IntN(lanes-from)
				read := (to-1-from)*max(stride, -stride) + 1
				at := -from * stride // of lane 0: the first element that is read lies at 0
				if stride < 0 {
					at += read - 1
				}
				x := fmt.Sprintf("x[(%d + (v * %d))]", at, stride)
				active := fmt.Sprintf("((v >= %d) & (v < %d))", from, to)
				for _, body := range []string{
					fmt.Sprintf("if %s { y[v] = %s }", active, x),
					fmt.Sprintf("y[v] = select(%s, %s, y[v])", active, x),
					fmt.Sprintf("if (v >= %d) { if (v < %d) { y[v] = %s } }", from, to, x),
				} {
					f := parse(t, fmt.Sprintf("func kernel(x: %[1]s[%[2]d], y: %[1]s[%[3]d]) { vector v in 0..%[3]d { %[4]s } }", typ, read, lanes, body))
					funcs, uses = append(funcs, f), append(uses, fmt.Sprintf("%s, %s", typ, body))
					k, err := llvm.Emit(f, llvm.Options{Symbol: "f", VectorBits: 256})
					if err != nil {
						t.Fatal(err)
					}
					if strings.Count(k.Text, "br i1") > 1 { // one is the worker's
						t.Errorf("%s, %s: there is a branch\n%s", typ, body, k.Text)
					}
				}
			}
		}
	}
	checkConfined(t, funcs, uses, r)
}

// checkConfined compares kernels of x and y with the interpreter, where no more can be read than x.
func checkConfined(t *testing.T, funcs []*loop.Func, uses []string, r *rand.Rand) {
	code := load(t, funcs)
	for i, f := range funcs {
		x, y := tensor.New(f.Params[0].DType, f.Params[0].Shape...), tensor.New(f.Params[1].DType, f.Params[1].Shape...)
		values := 120
		if x.DType == types.Bool {
			values = 2
		}
		for j := range x.Len() {
			x.SetFloat(j, float64(r.IntN(values)))
		}
		if err := interp.Run(f, []*tensor.Tensor{x, y}, 1); err != nil {
			t.Fatal(err)
		}
		for _, end := range []bool{false, true} {
			data, free := confined(t, x.Bytes(), end)
			got := tensor.New(y.DType, y.Shape...)
			purego.SyscallN(code.symbols[i], uintptr(unsafe.Pointer(&data[0])), uintptr(unsafe.Pointer(&got.Bytes()[0])), 0, 0, 1)
			runtime.KeepAlive(got)
			free()
			for e := range y.Len() {
				if y.Float(e) != got.Float(e) {
					t.Fatalf("%s: element %d is %v instead of %v\n%s", uses[i], e, got.Float(e), y.Float(e), f)
				}
			}
		}
	}
}

// confined copies data to memory at the begin or end of which no more can be read.
func confined(t *testing.T, data []byte, end bool) (copied []byte, free func()) {
	page := syscall.Getpagesize()
	n := (len(data) + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, n+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{all[:page], all[page+n:]} {
		if err := syscall.Mprotect(b, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	copied = all[page : page+len(data)]
	if end {
		copied = all[page+n-len(data) : page+n]
	}
	copy(copied, data)
	return copied, func() { syscall.Munmap(all) }
}
