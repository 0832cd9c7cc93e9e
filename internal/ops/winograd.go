package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// The operators here are a convolution with strides 1 and one group in the Winograd domain: the pass Winograd writes a convolution as
//
//	product(input_transform(data), weight_transform(weight))   or
//	without_weight_transform(data, weight_transform(weight))
//
// where element [k, ...] of a transformed operand is the k-th of the factors of a tile of outputs, (m+2)² of m×m for kernels of 3×3, and
// tiles are numbered row by row, image by image. Data and weights are float32, or int16 made of int16 and int8 where Winograd.Exact: their
// products are summed in int32, and all integers wrap.

// WinogradWeightAttrs are the attributes of the transform of weights: the outputs of a tile along the axes along which kernels have more than
// one tap.
type WinogradWeightAttrs struct{ TileSize int }

// WinogradInputAttrs are the attributes of the transform of data. KernelSize, Dilation and Padding are those of the convolution.
type WinogradInputAttrs struct {
	TileSize             int
	KernelSize, Dilation []int
	Padding              []int // before each spatial axis, then after each
}

// WinogradProductAttrs are the attributes of the product. Height and Width are those of the result.
type WinogradProductAttrs struct {
	TileSize             int
	KernelSize, Dilation []int
	Height, Width        int
}

// Matrices are those of the convolution.
func (a WinogradInputAttrs) Matrices() (*Winograd, error) {
	return WinogradOf(a.TileSize, a.KernelSize, a.Dilation)
}

// Matrices are those of the convolution.
func (a WinogradProductAttrs) Matrices() (*Winograd, error) {
	return WinogradOf(a.TileSize, a.KernelSize, a.Dilation)
}

// matrices are those for weights [O, C, kh, kw].
func (a WinogradWeightAttrs) matrices(weight types.Tensor) (*Winograd, error) {
	if weight.Rank() != 4 {
		return nil, fmt.Errorf("weight is %s; its rank must be 4", weight)
	}
	return WinogradOf(a.TileSize, weight.Shape[2:], []int{1, 1})
}

// WinogradWeight transforms weights [O, C, kh, kw] to [k, O, C]: every kernel g becomes G g Gᵀ.
var WinogradWeight = op.Define(op.Spec[WinogradWeightAttrs]{
	Name: "nn.contrib_conv2d_winograd_weight_transform",
	Doc:  "nn.contrib_conv2d_winograd_weight_transform brings the weight of a convolution to the Winograd domain.",
	Args: []string{"weight"}, Fusion: op.Opaque, Layout: op.Plain,
	Infer: func(a WinogradWeightAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := a.matrices(in[0].Tensor)
		if err != nil {
			return nil, err
		}
		to := types.F32
		if in[0].DType == types.I8 && w.Exact() {
			to = types.I16
		}
		if in[0].DType != types.F32 && to == types.F32 {
			return nil, fmt.Errorf("weight is %s; it must be float32, or int8 of 3x3 kernels for tiles of 2", in[0].Tensor)
		}
		return []types.Tensor{types.Of(to, w.Products(), in[0].Shape[0], in[0].Shape[1])}, nil
	},
	Eval: func(a WinogradWeightAttrs, in, out []*tensor.Tensor) error {
		w, err := a.matrices(in[0].Type())
		if err != nil {
			return err
		}
		w.Weights(out[0], in[0], 0, in[0].Shape[0]*in[0].Shape[1])
		return nil
	},
	Compute: func(a WinogradWeightAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.matrices(in[0].Type))
		t := out[0].DType
		return []*te.Stage{te.Fold("weight_transform", out[0], te.Sum, in[0].Type.Shape[2:], func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(w.pair(t, w.Axes[0].weights(t), w.Axes[1].weights(t), i[0], r[0], r[1]), expr.CastTo(t, in[0].At(i[1], i[2], r[0], r[1])))
		})}
	},
	Sample: func(r *rand.Rand) (WinogradWeightAttrs, []types.Tensor) {
		d := draw{r}
		c := d.winograd()
		return WinogradWeightAttrs{c.tile}, []types.Tensor{types.Of(c.weight, d.between(1, 4), d.between(1, 4), c.kernel[0], c.kernel[1])}
	},
})

// WinogradInput transforms data [N, C, H, W] to [k, C, tiles]: every tile d of inputs becomes Bᵀ d B. Tiles overlap.
var WinogradInput = op.Define(op.Spec[WinogradInputAttrs]{
	Name: "nn.contrib_conv2d_winograd_input_transform",
	Doc:  "nn.contrib_conv2d_winograd_input_transform brings the data of a convolution to the Winograd domain.",
	Args: []string{"data"}, Fusion: op.Opaque, Layout: op.Free,
	Infer: func(a WinogradInputAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := a.Matrices()
		if err != nil {
			return nil, err
		}
		if err := w.takes([]string{"data"}, in); err != nil {
			return nil, err
		}
		if in[0].Rank() != 4 {
			return nil, fmt.Errorf("data is %s; its rank must be 4", in[0].Tensor)
		}
		ws, err := a.windows(in[0].Shape)
		if err != nil {
			return nil, err
		}
		tiles := in[0].Shape[0] * w.Axes[0].Tiles(ws[0].out) * w.Axes[1].Tiles(ws[1].out)
		return []types.Tensor{types.Of(in[0].DType, w.Products(), in[0].Shape[1], tiles)}, nil
	},
	Eval: func(a WinogradInputAttrs, in, out []*tensor.Tensor) error {
		w, err := a.Matrices()
		if err != nil {
			return err
		}
		x := in[0]
		ws, err := a.windows(x.Shape)
		if err != nil {
			return err
		}
		v, h := &w.Axes[0], &w.Axes[1]
		rows, cols := v.Tiles(ws[0].out), h.Tiles(ws[1].out)
		d := make([]float64, w.Products())
		eachIndex([]int{x.Shape[0], x.Shape[1], rows, cols}, func(i []int) {
			n, c, tile := i[0], i[1], (i[0]*rows+i[2])*cols+i[3]
			for k := range d {
				row := v.First(i[2]) + k/h.Alpha*v.Dilation - a.Padding[0]
				col := h.First(i[3]) + k%h.Alpha*h.Dilation - a.Padding[1]
				d[k] = 0
				if row >= 0 && row < x.Shape[2] && col >= 0 && col < x.Shape[3] {
					d[k] = x.Float(offsetOf(x.Shape, []int{n, c, row, col}))
				}
			}
			for k, x := range sandwich(v.BT, h.BT, d) {
				set(out[0], offsetOf(out[0].Shape, []int{k, c, tile}), x)
			}
		})
		return nil
	},
	Compute: func(a WinogradInputAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.Matrices())
		x := in[0].Type.Shape
		ws, err := a.windows(x)
		if err != nil {
			panic(err)
		}
		v, h := &w.Axes[0], &w.Axes[1]
		rows, cols := v.Tiles(ws[0].out), h.Tiles(ws[1].out)
		return []*te.Stage{te.Fold("input_transform", out[0], te.Sum, []int{v.Alpha, h.Alpha}, func(i, r []expr.Expr) expr.Expr {
			row := expr.Sub(expr.Add(v.FirstOf(remainder(quotient(i[2], cols), rows)), scaled(v.Dilation, r[0], 0)), expr.Index(a.Padding[0]))
			col := expr.Sub(expr.Add(h.FirstOf(remainder(i[2], cols)), scaled(h.Dilation, r[1], 0)), expr.Index(a.Padding[1]))
			inside := expr.AllOf(expr.GE(row, expr.Index(0)), expr.LT(row, expr.Index(x[2])), expr.GE(col, expr.Index(0)), expr.LT(col, expr.Index(x[3])))
			p := expr.Mul(w.pair(out[0].DType, v.BT, h.BT, i[0], r[0], r[1]), in[0].At(quotient(i[2], rows*cols), i[1], row, col))
			return expr.If(inside, p, zero(p))
		})}
	},
	Sample: func(r *rand.Rand) (WinogradInputAttrs, []types.Tensor) {
		d := draw{r}
		c := d.winograd()
		return c.input(d), []types.Tensor{types.Of(c.data, d.between(1, 2), d.between(1, 4), c.least(0)+d.IntN(7), c.least(1)+d.IntN(7))}
	},
})

// windows are the windows of the convolution.
func (a WinogradInputAttrs) windows(x []int) ([]window, error) {
	return windows(x[2:], a.KernelSize, []int{1, 1}, a.Padding, a.Dilation, false)
}

// WinogradProduct multiplies transformed data [k, C, tiles] by transformed weights [k, O, C], summing over channels, and
// transforms the products M of a tile back to the outputs Aᵀ M A.
var WinogradProduct = op.Define(op.Spec[WinogradProductAttrs]{
	Name: "nn.contrib_conv2d_winograd_product",
	Doc:  "nn.contrib_conv2d_winograd_product multiplies data and weight of a convolution in the Winograd domain and brings the result back.",
	Args: []string{"data", "weight"}, Fusion: op.OutFusable, Layout: op.Free,
	Infer: func(a WinogradProductAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := a.Matrices()
		if err != nil {
			return nil, err
		}
		if err := w.takes([]string{"data", "weight"}, in); err != nil {
			return nil, err
		}
		v, u := in[0], in[1]
		if v.Rank() != 3 || u.Rank() != 3 || v.Shape[0] != w.Products() || u.Shape[0] != w.Products() || v.Shape[1] != u.Shape[2] {
			return nil, fmt.Errorf("data %s and weight %s; they must be [%d, C, tiles] and [%[3]d, O, C]", v.Tensor, u.Tensor, w.Products())
		}
		if err := wantEach("height and width", []int{a.Height, a.Width}, 2, 1, maxStep); err != nil {
			return nil, err
		}
		tiles := w.Axes[0].Tiles(a.Height) * w.Axes[1].Tiles(a.Width)
		if v.Shape[2]%tiles != 0 {
			return nil, fmt.Errorf("data %s has %d tiles; a result of %dx%d has %d an image", v.Tensor, v.Shape[2], a.Height, a.Width, tiles)
		}
		return []types.Tensor{types.Of(WinogradSum(v.DType), v.Shape[2]/tiles, u.Shape[1], a.Height, a.Width)}, nil
	},
	Eval: func(a WinogradProductAttrs, in, out []*tensor.Tensor) error {
		w, err := a.Matrices()
		if err != nil {
			return err
		}
		v, u, y := in[0], in[1], out[0]
		down, across := &w.Axes[0], &w.Axes[1]
		rows, cols := down.Tiles(a.Height), across.Tiles(a.Width)
		m := make([]float64, w.Products())
		eachIndex([]int{y.Shape[0], y.Shape[1], rows, cols}, func(i []int) {
			n, o, tile := i[0], i[1], (i[0]*rows+i[2])*cols+i[3]
			for k := range m {
				m[k] = 0
				for c := range v.Shape[1] {
					m[k] += v.Float(offsetOf(v.Shape, []int{k, c, tile})) * u.Float(offsetOf(u.Shape, []int{k, o, c}))
				}
			}
			for k, s := range sandwich(down.AT, across.AT, m) {
				row, col := down.First(i[2])+k/across.Tile*down.Dilation, across.First(i[3])+k%across.Tile*across.Dilation
				if row < a.Height && col < a.Width {
					if y.DType.IsInt() {
						s = float64(int32(int64(s)) >> winogradShift)
					}
					y.SetFloat(offsetOf(y.Shape, []int{n, o, row, col}), s)
				}
			}
		})
		return nil
	},
	Compute: func(a WinogradProductAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.Matrices())
		down, across := &w.Axes[0], &w.Axes[1]
		rows, cols := down.Tiles(a.Height), across.Tiles(a.Width)
		v, u, t := in[0], in[1], out[0].DType
		wide := func(e expr.Expr) expr.Expr { return expr.CastTo(t, e) }
		y := te.Fold("winograd", out[0], te.Sum, []int{w.Products(), v.Type.Shape[1]}, func(i, r []expr.Expr) expr.Expr {
			ty, row := down.tileOf(i[2])
			tx, col := across.tileOf(i[3])
			tile := expr.Add(scaled(cols, expr.Add(scaled(rows, i[0], 0), ty), 0), tx)
			factor := expr.Mul(entry(t, down.AT, row, quotient(r[0], across.Alpha)), entry(t, across.AT, col, remainder(r[0], across.Alpha)))
			return expr.Mul(factor, expr.Mul(wide(v.At(r[0], r[1], tile)), wide(u.At(r[0], i[1], r[1]))))
		})
		if t.IsInt() {
			y = te.Compute("shifted", out[0], func(i []expr.Expr) expr.Expr { return WinogradShifted(y.At(i...)) })
		}
		return []*te.Stage{y}
	},
	Sample: func(r *rand.Rand) (WinogradProductAttrs, []types.Tensor) {
		d := draw{r}
		s := d.winograd()
		a := WinogradProductAttrs{s.tile, s.kernel, s.dilation, d.between(1, 9), d.between(1, 9)}
		w := mustWinograd(a.Matrices())
		c, tiles := d.between(1, 4), d.between(1, 2)*w.Axes[0].Tiles(a.Height)*w.Axes[1].Tiles(a.Width)
		return a, []types.Tensor{types.Of(s.data, w.Products(), c, tiles), types.Of(s.data, w.Products(), d.between(1, 4), c)}
	},
})

// WinogradConv is the product of transformed data, which it makes itself, and transformed weights.
var WinogradConv = op.Define(op.Spec[WinogradInputAttrs]{
	Name: "nn.contrib_conv2d_winograd_without_weight_transform",
	Doc:  "nn.contrib_conv2d_winograd_without_weight_transform is a convolution whose weight is in the Winograd domain.",
	Args: []string{"data", "weight"}, Fusion: op.OutFusable, Layout: op.Free,
	Infer: func(a WinogradInputAttrs, in []op.Arg) ([]types.Tensor, error) {
		v, err := WinogradInput.Infer(a, in[:1])
		if err != nil {
			return nil, err
		}
		product, err := a.product(in[0].Shape)
		if err != nil {
			return nil, err
		}
		return WinogradProduct.Infer(product, []op.Arg{{Tensor: v[0]}, in[1]})
	},
	Eval: func(a WinogradInputAttrs, in, out []*tensor.Tensor) error {
		types, err := WinogradInput.Infer(a, []op.Arg{{Tensor: in[0].Type()}})
		if err != nil {
			return err
		}
		product, err := a.product(in[0].Shape)
		if err != nil {
			return err
		}
		v := []*tensor.Tensor{tensor.NewOf(types[0])}
		if err := WinogradInput.Eval(a, in[:1], v); err != nil {
			return err
		}
		return WinogradProduct.Eval(product, append(v, in[1]), out)
	},
	Compute: func(a WinogradInputAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		v, err := WinogradInput.Infer(a, []op.Arg{{Tensor: in[0].Type}})
		if err != nil {
			panic(err)
		}
		product, err := a.product(in[0].Type.Shape)
		if err != nil {
			panic(err)
		}
		return WinogradProduct.Compute(product, append(WinogradInput.Compute(a, in[:1], v), in[1]), out)
	},
	Sample: func(r *rand.Rand) (WinogradInputAttrs, []types.Tensor) {
		d := draw{r}
		s := d.winograd()
		a, c := s.input(d), d.between(1, 3)
		return a, []types.Tensor{types.Of(s.data, d.between(1, 2), c, s.least(0)+d.IntN(4), s.least(1)+d.IntN(4)), types.Of(s.data, mustWinograd(a.Matrices()).Products(), d.between(1, 3), c)}
	},
})

// product are the attributes of the product for data of a shape.
func (a WinogradInputAttrs) product(x []int) (WinogradProductAttrs, error) {
	ws, err := a.windows(x)
	if err != nil {
		return WinogradProductAttrs{}, err
	}
	return WinogradProductAttrs{a.TileSize, a.KernelSize, a.Dilation, ws[0].out, ws[1].out}, nil
}

// pair is the factor of element [r, c] of a tile in its k-th transformed element.
func (w *Winograd) pair(t types.DType, rows, cols [][]float64, k, r, c expr.Expr) expr.Expr {
	n := w.Axes[1].Alpha
	return expr.Mul(entry(t, rows, quotient(k, n), r), entry(t, cols, remainder(k, n), c))
}

// takes checks that operands are all of float32, or of int16 where that is exact.
func (w *Winograd) takes(names []string, in []op.Arg) error {
	k := kind{name: "float32", types: []types.DType{types.F32}}
	if w.Exact() {
		k = kind{name: "float32 or int16", types: []types.DType{types.F32, types.I16}}
	}
	return sameDType(k, names, in)
}

// WinogradSum is the type of sums of products of transformed operands of type t.
func WinogradSum(t types.DType) types.DType {
	if t.IsInt() {
		return types.I32
	}
	return t
}

// WinogradShifted is the output of integers that Aᵀ M A is four times.
func WinogradShifted(e expr.Expr) expr.Expr {
	return expr.Bin(expr.OpShr, e, expr.Const(types.I32, winogradShift))
}

// set stores v, an integer where t holds such, which wraps.
func set(t *tensor.Tensor, i int, v float64) {
	if t.DType.IsInt() {
		t.SetInt(i, int64(v))
		return
	}
	t.SetFloat(i, v)
}

// mustWinograd is what Infer has accepted.
func mustWinograd(w *Winograd, err error) *Winograd {
	if err != nil {
		panic(err)
	}
	return w
}
