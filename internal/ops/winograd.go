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

// The operators here are a convolution with 3×3 kernels, strides 1 and one group in the Winograd domain: the pass
// Winograd writes a convolution as
//
//	product(input_transform(data), weight_transform(weight))   or
//	without_weight_transform(data, weight_transform(weight))
//
// where element [k, ...] of a transformed operand is the k-th of the (m+2)² factors of a tile of m×m outputs, and tiles
// are numbered row by row, image by image. Data and weights are float32, or int16 made of int16 and int8 where Winograd.Exact: their
// products are summed in int32, and all integers wrap.

// WinogradWeightAttrs are the attributes of the transform of weights.
type WinogradWeightAttrs struct{ TileSize int }

// WinogradInputAttrs are the attributes of the transform of data. Padding is that before each spatial axis and then
// that after each, of the convolution.
type WinogradInputAttrs struct {
	TileSize int
	Padding  []int
}

// WinogradProductAttrs are the attributes of the product. Height and Width are those of the result.
type WinogradProductAttrs struct{ TileSize, Height, Width int }

// WinogradWeight transforms weights [O, C, 3, 3] to [k, O, C]: every kernel g becomes G g Gᵀ.
var WinogradWeight = op.Define(op.Spec[WinogradWeightAttrs]{
	Name: "nn.contrib_conv2d_winograd_weight_transform",
	Doc:  "nn.contrib_conv2d_winograd_weight_transform brings the weight of a 3x3 convolution to the Winograd domain.",
	Args: []string{"weight"}, Fusion: op.Opaque, Layout: op.Plain,
	Infer: func(a WinogradWeightAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := WinogradOf(a.TileSize)
		if err != nil {
			return nil, err
		}
		to := types.F32
		if in[0].DType == types.I8 && w.Exact() {
			to = types.I16
		}
		if in[0].DType != types.F32 && to == types.F32 || in[0].Rank() != 4 || in[0].Shape[2] != winogradTaps || in[0].Shape[3] != winogradTaps {
			return nil, fmt.Errorf("weight is %s; it must be float32, or int8 for tiles of 2, with a 3x3 kernel", in[0].Tensor)
		}
		return []types.Tensor{types.Of(to, w.Products(), in[0].Shape[0], in[0].Shape[1])}, nil
	},
	Eval: func(a WinogradWeightAttrs, in, out []*tensor.Tensor) error {
		w, err := WinogradOf(a.TileSize)
		if err != nil {
			return err
		}
		w.Weights(out[0], in[0], 0, in[0].Len()/(winogradTaps*winogradTaps))
		return nil
	},
	Compute: func(a WinogradWeightAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.TileSize)
		return []*te.Stage{te.Fold("weight_transform", out[0], te.Sum, []int{winogradTaps, winogradTaps}, func(i, r []expr.Expr) expr.Expr {
			return expr.Mul(w.pair(out[0].DType, w.weights(out[0].DType), i[0], r[0], r[1]), expr.CastTo(out[0].DType, in[0].At(i[1], i[2], r[0], r[1])))
		})}
	},
	Sample: func(r *rand.Rand) (WinogradWeightAttrs, []types.Tensor) {
		d := draw{r}
		a, t := WinogradWeightAttrs{d.winogradTile()}, types.F32
		if d.coin(2) && mustWinograd(a.TileSize).Exact() {
			t = types.I8
		}
		return a, []types.Tensor{types.Of(t, d.between(1, 4), d.between(1, 4), 3, 3)}
	},
})

// WinogradInput transforms data [N, C, H, W] to [k, C, tiles]: every tile d of inputs becomes Bᵀ d B. Tiles overlap by 2.
var WinogradInput = op.Define(op.Spec[WinogradInputAttrs]{
	Name: "nn.contrib_conv2d_winograd_input_transform",
	Doc:  "nn.contrib_conv2d_winograd_input_transform brings the data of a 3x3 convolution to the Winograd domain.",
	Args: []string{"data"}, Fusion: op.Opaque, Layout: op.Free,
	Infer: func(a WinogradInputAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := WinogradOf(a.TileSize)
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
		tiles := in[0].Shape[0] * w.Tiles(ws[0].out) * w.Tiles(ws[1].out)
		return []types.Tensor{types.Of(in[0].DType, w.Products(), in[0].Shape[1], tiles)}, nil
	},
	Eval: func(a WinogradInputAttrs, in, out []*tensor.Tensor) error {
		w, err := WinogradOf(a.TileSize)
		if err != nil {
			return err
		}
		x := in[0]
		ws, err := a.windows(x.Shape)
		if err != nil {
			return err
		}
		rows, cols := w.Tiles(ws[0].out), w.Tiles(ws[1].out)
		d := make([]float64, w.Products())
		eachIndex([]int{x.Shape[0], x.Shape[1], rows, cols}, func(i []int) {
			n, c, tile := i[0], i[1], (i[0]*rows+i[2])*cols+i[3]
			for k := range d {
				row, col := i[2]*w.Tile+k/w.Alpha-a.Padding[0], i[3]*w.Tile+k%w.Alpha-a.Padding[1]
				d[k] = 0
				if row >= 0 && row < x.Shape[2] && col >= 0 && col < x.Shape[3] {
					d[k] = x.Float(offsetOf(x.Shape, []int{n, c, row, col}))
				}
			}
			for k, v := range sandwich(w.BT, d) {
				set(out[0], offsetOf(out[0].Shape, []int{k, c, tile}), v)
			}
		})
		return nil
	},
	Compute: func(a WinogradInputAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.TileSize)
		x := in[0].Type.Shape
		ws, err := a.windows(x)
		if err != nil {
			panic(err)
		}
		rows, cols := w.Tiles(ws[0].out), w.Tiles(ws[1].out)
		return []*te.Stage{te.Fold("input_transform", out[0], te.Sum, []int{w.Alpha, w.Alpha}, func(i, r []expr.Expr) expr.Expr {
			row := expr.Sub(expr.Add(scaled(w.Tile, remainder(quotient(i[2], cols), rows), 0), r[0]), expr.Index(a.Padding[0]))
			col := expr.Sub(expr.Add(scaled(w.Tile, remainder(i[2], cols), 0), r[1]), expr.Index(a.Padding[1]))
			inside := expr.AllOf(expr.GE(row, expr.Index(0)), expr.LT(row, expr.Index(x[2])), expr.GE(col, expr.Index(0)), expr.LT(col, expr.Index(x[3])))
			p := expr.Mul(w.pair(out[0].DType, w.BT, i[0], r[0], r[1]), in[0].At(quotient(i[2], rows*cols), i[1], row, col))
			return expr.If(inside, p, zero(p))
		})}
	},
	Sample: func(r *rand.Rand) (WinogradInputAttrs, []types.Tensor) {
		d := draw{r}
		a := WinogradInputAttrs{d.winogradTile(), []int{d.IntN(3), d.IntN(3), d.IntN(3), d.IntN(3)}}
		return a, []types.Tensor{types.Of(d.winogradType(a.TileSize), d.between(1, 2), d.between(1, 4), d.between(3, 9), d.between(3, 9))}
	},
})

// windows are the windows of the convolution.
func (a WinogradInputAttrs) windows(x []int) ([]window, error) {
	return windows(x[2:], []int{winogradTaps, winogradTaps}, []int{1, 1}, a.Padding, []int{1, 1}, false)
}

// WinogradProduct multiplies transformed data [k, C, tiles] by transformed weights [k, O, C], summing over channels, and
// transforms the products M of a tile back to the outputs Aᵀ M A.
var WinogradProduct = op.Define(op.Spec[WinogradProductAttrs]{
	Name: "nn.contrib_conv2d_winograd_product",
	Doc:  "nn.contrib_conv2d_winograd_product multiplies data and weight of a 3x3 convolution in the Winograd domain and brings the result back.",
	Args: []string{"data", "weight"}, Fusion: op.OutFusable, Layout: op.Free,
	Infer: func(a WinogradProductAttrs, in []op.Arg) ([]types.Tensor, error) {
		w, err := WinogradOf(a.TileSize)
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
		tiles := w.Tiles(a.Height) * w.Tiles(a.Width)
		if v.Shape[2]%tiles != 0 {
			return nil, fmt.Errorf("data %s has %d tiles; a result of %dx%d has %d an image", v.Tensor, v.Shape[2], a.Height, a.Width, tiles)
		}
		return []types.Tensor{types.Of(WinogradSum(v.DType), v.Shape[2]/tiles, u.Shape[1], a.Height, a.Width)}, nil
	},
	Eval: func(a WinogradProductAttrs, in, out []*tensor.Tensor) error {
		w, err := WinogradOf(a.TileSize)
		if err != nil {
			return err
		}
		v, u, y := in[0], in[1], out[0]
		rows, cols := w.Tiles(a.Height), w.Tiles(a.Width)
		m := make([]float64, w.Products())
		eachIndex([]int{y.Shape[0], y.Shape[1], rows, cols}, func(i []int) {
			n, o, tile := i[0], i[1], (i[0]*rows+i[2])*cols+i[3]
			for k := range m {
				m[k] = 0
				for c := range v.Shape[1] {
					m[k] += v.Float(offsetOf(v.Shape, []int{k, c, tile})) * u.Float(offsetOf(u.Shape, []int{k, o, c}))
				}
			}
			for k, s := range sandwich(w.AT, m) {
				row, col := i[2]*w.Tile+k/w.Tile, i[3]*w.Tile+k%w.Tile
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
		w := mustWinograd(a.TileSize)
		rows, cols := w.Tiles(a.Height), w.Tiles(a.Width)
		v, u, t := in[0], in[1], out[0].DType
		wide := func(e expr.Expr) expr.Expr { return expr.CastTo(t, e) }
		y := te.Fold("winograd", out[0], te.Sum, []int{w.Products(), v.Type.Shape[1]}, func(i, r []expr.Expr) expr.Expr {
			tile := expr.Add(scaled(cols, expr.Add(scaled(rows, i[0], 0), quotient(i[2], w.Tile)), 0), quotient(i[3], w.Tile))
			at := func(i, k expr.Expr) expr.Expr { return entry(t, w.AT, remainder(i, w.Tile), k) }
			factor := expr.Mul(at(i[2], quotient(r[0], w.Alpha)), at(i[3], remainder(r[0], w.Alpha)))
			return expr.Mul(factor, expr.Mul(wide(v.At(r[0], r[1], tile)), wide(u.At(r[0], i[1], r[1]))))
		})
		if t.IsInt() {
			y = te.Compute("shifted", out[0], func(i []expr.Expr) expr.Expr { return WinogradShifted(y.At(i...)) })
		}
		return []*te.Stage{y}
	},
	Sample: func(r *rand.Rand) (WinogradProductAttrs, []types.Tensor) {
		d := draw{r}
		a := WinogradProductAttrs{d.winogradTile(), d.between(1, 9), d.between(1, 9)}
		w := mustWinograd(a.TileSize)
		c, tiles := d.between(1, 4), d.between(1, 2)*w.Tiles(a.Height)*w.Tiles(a.Width)
		t := d.winogradType(a.TileSize)
		return a, []types.Tensor{types.Of(t, w.Products(), c, tiles), types.Of(t, w.Products(), d.between(1, 4), c)}
	},
})

// WinogradConv is the product of transformed data, which it makes itself, and transformed weights.
var WinogradConv = op.Define(op.Spec[WinogradInputAttrs]{
	Name: "nn.contrib_conv2d_winograd_without_weight_transform",
	Doc:  "nn.contrib_conv2d_winograd_without_weight_transform is a 3x3 convolution whose weight is in the Winograd domain.",
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
		a := WinogradInputAttrs{d.winogradTile(), []int{d.IntN(3), d.IntN(3), d.IntN(3), d.IntN(3)}}
		c, w := d.between(1, 3), mustWinograd(a.TileSize)
		t := d.winogradType(a.TileSize)
		return a, []types.Tensor{types.Of(t, d.between(1, 2), c, d.between(3, 6), d.between(3, 6)), types.Of(t, w.Products(), d.between(1, 3), c)}
	},
})

// product are the attributes of the product for data of a shape.
func (a WinogradInputAttrs) product(x []int) (WinogradProductAttrs, error) {
	ws, err := a.windows(x)
	if err != nil {
		return WinogradProductAttrs{}, err
	}
	return WinogradProductAttrs{a.TileSize, ws[0].out, ws[1].out}, nil
}

// pair is the factor of element [r, c] of a tile in its k-th transformed element.
func (w *Winograd) pair(t types.DType, m [][]float64, k, r, c expr.Expr) expr.Expr {
	return expr.Mul(entry(t, m, quotient(k, w.Alpha), r), entry(t, m, remainder(k, w.Alpha), c))
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

// mustWinograd is WinogradOf for attributes that Infer has accepted.
func mustWinograd(tile int) *Winograd {
	w, err := WinogradOf(tile)
	if err != nil {
		panic(err)
	}
	return w
}

func (d draw) winogradTile() int { return 2 + 2*d.IntN(3) }

// winogradType is a type of transformed data and weights.
func (d draw) winogradType(tile int) types.DType {
	if d.coin(2) && mustWinograd(tile).Exact() {
		return types.I16
	}
	return types.F32
}
