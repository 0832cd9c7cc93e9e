package amxtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/testkit/cctest"
)

// program loads two tiles with strides, adds their products of each kind to a third, and stores what the instructions leave.
const program = `#include <immintrin.h>
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8,amx-bf16")
int amx_products(const unsigned char *config, const unsigned char *a, const unsigned char *b, int *c, unsigned char *after) {
  _tile_loadconfig(config);
  _tile_storeconfig(after);
  _tile_loadd(1, a, 80);
  _tile_stream_loadd(2, b, 72);
#define KIND(i, product) _tile_loadd(0, c + 256 * i, 64); product(0, 1, 2); _tile_stored(0, c + 256 * i, 64)
  KIND(0, _tile_dpbssd);
  KIND(1, _tile_dpbsud);
  KIND(2, _tile_dpbusd);
  KIND(3, _tile_dpbuud);
  KIND(4, _tile_dpbf16ps);
  _tile_zero(0);
  _tile_stored(0, c + 256 * 5, 64);
  _tile_release();
  _tile_storeconfig(after + 64);
  return 0;
}
`

func TestProducts(t *testing.T) {
	counts := Install(t)
	before := *counts
	lib := cctest.Build(t, program, "-O1")
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		rows, columns, depth := 1+r.IntN(16), 1+r.IntN(16), 1+r.IntN(16)
		config := cctest.Aligned(64)
		config[0] = 1
		for i, s := range [][2]int{{rows, 4 * columns}, {rows, 4 * depth}, {depth, 4 * columns}} {
			config[48+i] = byte(s[0])
			binary.LittleEndian.PutUint16(config[16+2*i:], uint16(s[1]))
		}
		a, b, c, after := cctest.Aligned(16*80), cctest.Aligned(16*72), cctest.Aligned(6*1024), cctest.Aligned(128)
		for _, data := range [][]byte{a, b, c} {
			for i := range data {
				data[i] = byte(r.Uint32())
			}
		}
		for _, data := range [][]byte{a, b, c[4096:5120]} { // small numbers, or the sums of bfloat16 are all NaN
			for i := 3; i < len(data); i += 4 {
				data[i], data[i-2] = 0x3f|data[i]&0x80, 0x40|data[i-2]&0x80
			}
		}
		want := append([]byte{}, c...)
		for kind := range 6 {
			for m := range rows {
				for n := range columns {
					at := want[1024*kind+64*m+4*n:]
					binary.LittleEndian.PutUint32(at, reference(kind, binary.LittleEndian.Uint32(at), depth, func(k int) ([]byte, []byte) {
						return a[80*m+4*k:], b[72*k+4*n:]
					}))
				}
			}
		}
		lib.Call(t, "amx_products", config, a, b, c, after)
		for i := range want {
			if c[i] != want[i] {
				t.Fatalf("%d rows, %d columns, depth %d: byte %d of kind %d is %d, not %d", rows, columns, depth, i%1024, i/1024, c[i], want[i])
			}
		}
		if string(after[:64]) != string(config) || string(after[64:]) != string(make([]byte, 64)) {
			t.Errorf("configuration %v, then %v", after[:64], after[64:])
		}
	}
	if n := counts.Products - before.Products; n != 40*5 && !Native() {
		t.Errorf("%d products were executed", n)
	}
}

// reference is what an instruction makes of an element: kinds 0 to 3 are products of bytes, 4 of bfloat16, 5 is zero.
func reference(kind int, old uint32, depth int, at func(k int) (a, b []byte)) uint32 {
	if kind == 5 {
		return 0
	}
	var even, odd float32
	for k := range depth {
		a, b := at(k)
		if kind == 4 {
			even += bfloat(a) * bfloat(b)
			odd += bfloat(a[2:]) * bfloat(b[2:])
			continue
		}
		for i := range 4 {
			x, y := int32(a[i]), int32(b[i])
			if kind < 2 {
				x = int32(int8(a[i]))
			}
			if kind%2 == 0 {
				y = int32(int8(b[i]))
			}
			old += uint32(x * y)
		}
	}
	if kind == 4 {
		return math.Float32bits(math.Float32frombits(old) + (even + odd))
	}
	return old
}

func bfloat(b []byte) float32 {
	return math.Float32frombits(uint32(b[0])<<16 | uint32(b[1])<<24)
}
