package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// The operators here are a convolution of one group in the Winograd domain: the pass Winograd writes a convolution as
//
//	product(input_transform(data), weight_transform(weight))   or
//	without_weight_transform(data, weight_transform(weight))
//
// where element [k, ...] of a transformed operand is the k-th of the factors of a tile of outputs, (m+2)² of m×m for kernels of 3×3, and
// tiles are numbered row by row, image by image. One with strides is computed as one without, whose channels are those of all phases of the data, and
// whose weight is what PhaseWeight gives. Data and weights are float32, or int16 made of int16 and int8 where Winograd.Exact: their
// products are summed in int32, and all integers wrap. A convolution of one spatial axis has one row, which its data and result do not name.

// WinogradWeightAttrs are the attributes of the transform of weights: the outputs of a tile along the axes along which kernels have more than
// one tap.
type WinogradWeightAttrs struct{ TileSize int }

// WinogradInputAttrs are the attributes of the transform of data. KernelSize, Strides, Dilation and Padding are those of the convolution.
type WinogradInputAttrs struct {
	TileSize                      int
	KernelSize, Strides, Dilation []int
	Padding                       []int // before each spatial axis, then after each
}

// WinogradProductAttrs are the attributes of the product. KernelSize, Strides and Dilation are those of the convolution; Height and Width are
// those of the result, and Height is 0 for one of a single spatial axis.
type WinogradProductAttrs struct {
	TileSize                      int
	KernelSize, Strides, Dilation []int
	Height, Width                 int
}

// Matrices are those of the convolution.
func (a WinogradInputAttrs) Matrices() (*Winograd, error) {
	return WinogradOf(a.TileSize, a.KernelSize, a.Strides, a.Dilation)
}

// Matrices are those of the convolution.
func (a WinogradProductAttrs) Matrices() (*Winograd, error) {
	return WinogradOf(a.TileSize, a.KernelSize, a.Strides, a.Dilation)
}

// matrices are those for weights [O, C, kh, kw].
func (a WinogradWeightAttrs) matrices(weight types.Tensor) (*Winograd, error) {
	if weight.Rank() != 4 {
		return nil, fmt.Errorf("weight is %s; its rank must be 4", weight)
	}
	return WinogradOf(a.TileSize, weight.Shape[2:], []int{1, 1}, []int{1, 1})
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

// WinogradInput transforms data [N, C, H, W], or [N, C, W], to [k, phases*C, tiles]: every tile d of inputs becomes Bᵀ d B. Tiles overlap.
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
		if in[0].Rank() != 4 && in[0].Rank() != 3 {
			return nil, fmt.Errorf("data is %s; its rank must be 3 or 4", in[0].Tensor)
		}
		ws, err := a.windows(in[0].Shape)
		if err != nil {
			return nil, err
		}
		tiles := in[0].Shape[0] * w.Axes[0].Tiles(ws[0].out) * w.Axes[1].Tiles(ws[1].out)
		return []types.Tensor{types.Of(in[0].DType, w.Products(), w.Phases()*in[0].Shape[1], tiles)}, nil
	},
	Eval: func(a WinogradInputAttrs, in, out []*tensor.Tensor) error {
		w, err := a.Matrices()
		if err != nil {
			return err
		}
		x := in[0].Reshape(Lines(in[0].Shape)...)
		ws, err := a.windows(x.Shape)
		if err != nil {
			return err
		}
		v, h := &w.Axes[0], &w.Axes[1]
		rows, cols := v.Tiles(ws[0].out), h.Tiles(ws[1].out)
		d := make([]float64, w.Products())
		eachIndex([]int{x.Shape[0], v.Phases, h.Phases, x.Shape[1], rows, cols}, func(i []int) {
			n, c, tile := i[0], (i[1]*h.Phases+i[2])*x.Shape[1]+i[3], (i[0]*rows+i[4])*cols+i[5]
			for k := range d {
				row := v.Stride*(v.First(i[4])+k/h.Alpha*v.Dilation) + i[1] - a.Padding[0]
				col := h.Stride*(h.First(i[5])+k%h.Alpha*h.Dilation) + i[2] - a.Padding[1]
				d[k] = 0
				if row >= 0 && row < x.Shape[2] && col >= 0 && col < x.Shape[3] {
					d[k] = x.Float(offsetOf(x.Shape, []int{n, i[3], row, col}))
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
		x := Lines(in[0].Type.Shape)
		ws, err := a.windows(x)
		if err != nil {
			panic(err)
		}
		v, h := &w.Axes[0], &w.Axes[1]
		rows, cols := v.Tiles(ws[0].out), h.Tiles(ws[1].out)
		place := func(axis int, phase, first, step expr.Expr) expr.Expr {
			of := &w.Axes[axis]
			at := scaled(of.Stride, expr.Add(first, scaled(of.Dilation, step, 0)), 0)
			if of.Phases > 1 {
				at = expr.Add(at, phase)
			}
			return expr.Sub(at, expr.Index(a.Padding[axis]))
		}
		return []*te.Stage{te.Fold("input_transform", out[0], te.Sum, []int{v.Alpha, h.Alpha}, func(i, r []expr.Expr) expr.Expr {
			phase, c := quotient(i[1], x[1]), i[1]
			if w.Phases() > 1 {
				c = remainder(i[1], x[1])
			}
			row := place(0, quotient(phase, h.Phases), v.FirstOf(remainder(quotient(i[2], cols), rows)), r[0])
			col := place(1, remainder(phase, h.Phases), h.FirstOf(remainder(i[2], cols)), r[1])
			inside := expr.AllOf(expr.GE(row, expr.Index(0)), expr.LT(row, expr.Index(x[2])), expr.GE(col, expr.Index(0)), expr.LT(col, expr.Index(x[3])))
			at := OnLine(len(in[0].Type.Shape), quotient(i[2], rows*cols), c, row, col)
			p := expr.Mul(w.pair(out[0].DType, v.BT, h.BT, i[0], r[0], r[1]), in[0].At(at...))
			return expr.If(inside, p, zero(p))
		})}
	},
	Sample: func(r *rand.Rand) (WinogradInputAttrs, []types.Tensor) {
		d := draw{r}
		c := d.winograd().strided(d)
		return c.input(d), []types.Tensor{c.of(d, 4, 7)}
	},
})

// windows are the windows of the convolution.
func (a WinogradInputAttrs) windows(x []int) ([]window, error) {
	ws, err := windows(Lines(x)[2:], a.KernelSize, a.Strides, a.Padding, a.Dilation, false)
	if err == nil && len(x) == 3 && ws[0].out != 1 {
		return nil, fmt.Errorf("kernel size %v and padding %v make %d rows of data of one spatial axis", a.KernelSize, a.Padding, ws[0].out)
	}
	return ws, err
}

// WinogradProduct multiplies transformed data [k, C, tiles] by transformed weights [k, O, C], summing over channels, and
// transforms the products M of a tile back to the outputs Aᵀ M A. The last products along an axis do not sum channels of phases that lack a tap.
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
		if v.Shape[1]%w.Phases() != 0 {
			return nil, fmt.Errorf("data %s; axis 1 must be a multiple of %s", v.Tensor, spelling.Count(w.Phases(), "phase"))
		}
		if err := wantEach("height and width", []int{a.rows(), a.Width}, 2, 1, maxStep); err != nil {
			return nil, err
		}
		tiles := w.Axes[0].Tiles(a.rows()) * w.Axes[1].Tiles(a.Width)
		if v.Shape[2]%tiles != 0 {
			return nil, fmt.Errorf("data %s has %d tiles; a result of %dx%d has %d an image", v.Tensor, v.Shape[2], a.rows(), a.Width, tiles)
		}
		shape := []int{v.Shape[2] / tiles, u.Shape[1], a.Width}
		if a.Height > 0 {
			shape = slices.Insert(shape, 2, a.Height)
		}
		return []types.Tensor{types.Of(WinogradSum(v.DType), shape...)}, nil
	},
	Eval: func(a WinogradProductAttrs, in, out []*tensor.Tensor) error {
		w, err := a.Matrices()
		if err != nil {
			return err
		}
		v, u, y := in[0], in[1], out[0]
		down, across := &w.Axes[0], &w.Axes[1]
		rows, cols := down.Tiles(a.rows()), across.Tiles(a.Width)
		lines := Lines(y.Shape)
		m := make([]float64, w.Products())
		eachIndex([]int{y.Shape[0], y.Shape[1], rows, cols}, func(i []int) {
			n, o, tile := i[0], i[1], (i[0]*rows+i[2])*cols+i[3]
			for k := range m {
				m[k] = 0
				for c := range v.Shape[1] {
					if !w.adds(k, c/(v.Shape[1]/w.Phases())) {
						continue
					}
					m[k] += v.Float(offsetOf(v.Shape, []int{k, c, tile})) * u.Float(offsetOf(u.Shape, []int{k, o, c}))
				}
			}
			for k, s := range sandwich(down.AT, across.AT, m) {
				row, col := down.First(i[2])+k/across.Tile*down.Dilation, across.First(i[3])+k%across.Tile*across.Dilation
				if row < a.rows() && col < a.Width {
					if y.DType.IsInt() {
						s = float64(int32(int64(s)) >> winogradShift)
					}
					y.SetFloat(offsetOf(lines, []int{n, o, row, col}), s)
				}
			}
		})
		return nil
	},
	Compute: func(a WinogradProductAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		w := mustWinograd(a.Matrices())
		down, across := &w.Axes[0], &w.Axes[1]
		rows, cols := down.Tiles(a.rows()), across.Tiles(a.Width)
		v, u, t := in[0], in[1], out[0].DType
		wide := func(e expr.Expr) expr.Expr { return expr.CastTo(t, e) }
		y := te.Fold("winograd", out[0], te.Sum, []int{w.Products(), v.Type.Shape[1]}, func(i, r []expr.Expr) expr.Expr {
			ty, row := expr.Expr(expr.Index(0)), expr.Expr(expr.Index(0))
			if a.Height > 0 {
				ty, row = down.tileOf(i[2])
			}
			tx, col := across.tileOf(i[len(i)-1])
			tile := expr.Add(scaled(cols, expr.Add(scaled(rows, i[0], 0), ty), 0), tx)
			factor := expr.Mul(entry(t, down.AT, row, quotient(r[0], across.Alpha)), entry(t, across.AT, col, remainder(r[0], across.Alpha)))
			p := expr.Mul(factor, expr.Mul(wide(v.At(r[0], r[1], tile)), wide(u.At(r[0], i[1], r[1]))))
			if adds := w.addsAt(r[0], quotient(r[1], v.Type.Shape[1]/w.Phases())); adds != nil {
				return expr.If(adds, p, zero(p))
			}
			return p
		})
		if t.IsInt() {
			y = te.Compute("shifted", out[0], func(i []expr.Expr) expr.Expr { return WinogradShifted(y.At(i...)) })
		}
		return []*te.Stage{y}
	},
	Sample: func(r *rand.Rand) (WinogradProductAttrs, []types.Tensor) {
		d := draw{r}
		s := d.winograd().strided(d)
		a := WinogradProductAttrs{s.tile, s.kernel, s.strides, s.dilation, d.between(1, 9), d.between(1, 9)}
		if s.line {
			a.Height = 0
		}
		w := mustWinograd(a.Matrices())
		c, tiles := d.between(1, 3)*w.Phases(), d.between(1, 2)*w.Axes[0].Tiles(a.rows())*w.Axes[1].Tiles(a.Width)
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
		s := d.winograd().strided(d)
		a, x := s.input(d), s.of(d, 3, 4)
		w := mustWinograd(a.Matrices())
		return a, []types.Tensor{x, types.Of(s.data, w.Products(), d.between(1, 3), w.Phases()*x.Shape[1])}
	},
})

// product are the attributes of the product for data of a shape.
func (a WinogradInputAttrs) product(x []int) (WinogradProductAttrs, error) {
	ws, err := a.windows(x)
	if err != nil {
		return WinogradProductAttrs{}, err
	}
	p := WinogradProductAttrs{a.TileSize, a.KernelSize, a.Strides, a.Dilation, ws[0].out, ws[1].out}
	if len(x) == 3 {
		p.Height = 0
	}
	return p, nil
}

// rows are those of the result.
func (a WinogradProductAttrs) rows() int { return max(1, a.Height) }

// Lines is a shape of images whose single spatial axis, where there is no other, is that of columns of one row.
func Lines(shape []int) []int {
	if len(shape) == 3 {
		return []int{shape[0], shape[1], 1, shape[2]}
	}
	return shape
}

// OnLine is the index in a tensor of so many axes of an element of its Lines.
func OnLine[E any](rank int, image, channel, row, col E) []E {
	if rank == 3 {
		return []E{image, channel, col}
	}
	return []E{image, channel, row, col}
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
