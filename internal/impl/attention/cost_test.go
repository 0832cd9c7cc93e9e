package attention

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/impl"
	"lathe/internal/target"
)

// zen4 is the machine on which attentions were measured.
func zen4(t *testing.T) *target.Target {
	t.Helper()
	spec, err := target.Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -caches=32,1024,16384 -clock=3700 -l3-rate=20 -memory-rate=17000 -num-cores=2")
	if err != nil {
		t.Fatal(err)
	}
	r, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDecision: an attention is one kernel where that was measured to be faster (Zen 4, one thread).
func TestDecision(t *testing.T) {
	for _, c := range []struct {
		name string
		size size
		want string
	}{
		{"BERT", size{12, 128, 128, 64, 64}, "on"},
		{"ViT", size{12, 197, 197, 64, 64}, "on"},
		{"windows", size{16 * 3, 49, 49, 32, 32}, "on"},
		{"short", size{12, 16, 16, 64, 64}, "on"},
		{"image against text", size{8, 1024, 77, 40, 40}, "on"},
		{"non-local block", size{1, 2304, 576, 128, 128}, "on"},
		{"few queries", size{12, 3, 128, 64, 64}, "off"},
		{"latents against an image", size{1, 64, 3136, 256, 256}, "off"},
		{"latents against a text", size{1, 64, 1024, 128, 128}, "off"},
		{"one wide head", size{1, 512, 1024, 256, 256}, "off"},
		{"few queries, many keys", size{8, 16, 1024, 64, 64}, "off"},
	} {
		d := c.size.decision(zen4(t))
		if got := d.Values[d.Default].Text; got != c.want {
			t.Errorf("%s, %+v: %s, want %s: %v", c.name, c.size, got, c.want, d.Values)
		}
	}
}

// TestArrangedAgain: a worker that computes a whole attention spends at most a quarter of its time more than with one piece for each head,
// where keys and values are arranged once.
func TestArrangedAgain(t *testing.T) {
	c := impl.Core{Target: zen4(t)}
	r := rand.New(rand.NewPCG(1, 97))
	several := 0
	for range 2000 {
		s := size{1 + r.IntN(16), 16 + r.IntN(2000), 16 + r.IntN(4000), 16 + r.IntN(300), 16 + r.IntN(300)}
		if d := s.decision(c.Target); d.Values[d.Default].Text == "off" {
			continue
		}
		arrange := c.Arranged(float64(s.keys * (s.width + s.columns)))
		products := c.Flops(2 * float64(s.heads*s.queries*s.keys*(s.width+s.columns)))
		count, _ := s.pieces(c, c.TileRows(s.queries, tileVectors), arrange, products)
		if count > 1 {
			several++
		}
		once, again := products+float64(s.heads)*arrange, float64(s.heads*(count-1))*arrange
		if again > once/4 {
			t.Errorf("%+v: %d pieces of a head take %.3g cycles more than %.3g", s, count, again, once)
		}
	}
	if several == 0 {
		t.Error("no head was divided")
	}
}
