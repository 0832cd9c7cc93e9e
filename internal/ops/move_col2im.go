package ops

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Col2ImAttrs are the attributes of nn.col2im, one number per spatial axis; Padding has all begins, then all ends.
type Col2ImAttrs struct {
	ImageShape, BlockShape     []int
	Strides, Padding, Dilation []int
}

// Col2Im adds sliding blocks, given as columns, up to images: ONNX's Col2Im, the inverse of im2col where blocks do not overlap.
var Col2Im = op.Define(op.Spec[Col2ImAttrs]{
	Name:   "nn.col2im",
	Doc:    "nn.col2im adds the sliding blocks of [N, C*block, blocks] up to images [N, C, image_shape...].",
	Args:   []string{"data"},
	Fusion: op.CommReduce,
	Layout: op.Plain,

	Infer: func(a Col2ImAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := numbers.check("data", in[0].DType); err != nil {
			return nil, err
		}
		if in[0].Rank() != 3 {
			return nil, fmt.Errorf("data is %s, not [N, C*block, blocks]", in[0])
		}
		columns, err := a.columns()
		if err != nil {
			return nil, err
		}
		block := types.Count(a.BlockShape)
		if rows := in[0].Shape[1]; rows%block != 0 || in[0].Shape[2] != types.Count(columns) {
			return nil, fmt.Errorf("data is %s, not [N, a multiple of %d, %d]", in[0], block, types.Count(columns))
		}
		return []types.Tensor{types.Of(in[0].DType, append([]int{in[0].Shape[0], in[0].Shape[1] / block}, a.ImageShape...)...)}, nil
	},
	Eval: func(a Col2ImAttrs, in, out []*tensor.Tensor) error {
		columns, _ := a.columns()
		sums := make([]float64, out[0].Len())
		wrapped := make([]int64, out[0].Len())
		eachIndex(slices.Concat(out[0].Shape[:2], a.BlockShape, columns), func(at []int) {
			d := len(columns)
			k, l := at[2:2+d], at[2+d:]
			to := slices.Clone(at[:2+d])
			for j := range d {
				p := l[j]*a.Strides[j] + k[j]*a.Dilation[j] - a.Padding[j]
				if to[2+j] = p; p < 0 || p >= a.ImageShape[j] {
					return
				}
			}
			row := at[1]*types.Count(a.BlockShape) + offsetOf(a.BlockShape, k)
			from, i := offsetOf(in[0].Shape, []int{at[0], row, offsetOf(columns, l)}), offsetOf(out[0].Shape, to)
			sums[i] += in[0].Float(from)
			wrapped[i] += in[0].Int(from)
		})
		for i := range sums {
			if out[0].DType.IsFloat() {
				out[0].SetFloat(i, sums[i])
			} else {
				out[0].SetInt(i, wrapped[i])
			}
		}
		return nil
	},
	Compute: func(a Col2ImAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		columns, _ := a.columns()
		return []*te.Stage{te.Fold("col2im", out[0], te.Sum, a.BlockShape, func(i, k []expr.Expr) expr.Expr {
			row, column := i[1], expr.Expr(expr.Index(0))
			var met expr.Expr
			for j, n := range columns {
				// The block that covers pixel i with its element k starts at p; it exists when p is a multiple of the stride.
				p := expr.Sub(scaled(1, i[2+j], a.Padding[j]), scaled(a.Dilation[j], k[j], 0))
				l := quotient(p, a.Strides[j])
				if a.Strides[j] > 1 {
					met = expr.AllOf(met, expr.EQ(remainder(p, a.Strides[j]), expr.Index(0)))
				}
				met = expr.AllOf(met, expr.GE(l, expr.Index(0)), expr.LT(l, expr.Index(n)))
				row = expr.Add(scaled(a.BlockShape[j], row, 0), k[j])
				column = expr.Add(scaled(n, column, 0), l)
			}
			return expr.If(met, in[0].At(i[0], row, column), expr.Const(out[0].DType.Compute(), 0))
		})}
	},
	Sample: func(r *rand.Rand) (Col2ImAttrs, []types.Tensor) {
		d := draw{r}
		a := Col2ImAttrs{}
		before, after := []int{}, []int{}
		for range d.between(1, 3) {
			k, dil := d.between(1, 3), d.between(1, 2)
			a.BlockShape, a.Dilation = append(a.BlockShape, k), append(a.Dilation, dil)
			a.ImageShape = append(a.ImageShape, (k-1)*dil+d.between(1, 4))
			a.Strides = append(a.Strides, d.between(1, 3))
			before, after = append(before, d.between(0, 2)), append(after, d.between(0, 2))
		}
		a.Padding = append(before, after...)
		columns, _ := a.columns()
		return a, []types.Tensor{types.Of(d.of(numbers), d.between(1, 2), d.between(1, 3)*types.Count(a.BlockShape), types.Count(columns))}
	},
})

// columns is the number of blocks along each spatial axis.
func (a Col2ImAttrs) columns() ([]int, error) {
	n, most := len(a.ImageShape), 1<<20
	if err := cmp.Or(wantEach("image_shape", a.ImageShape, n, 1, most), wantEach("block_shape", a.BlockShape, n, 1, most),
		wantEach("strides", a.Strides, n, 1, most), wantEach("dilation", a.Dilation, n, 1, most), wantEach("padding", a.Padding, 2*n, 0, most)); err != nil {
		return nil, err
	}
	var columns []int
	total, block := 1, 1
	for j, size := range a.ImageShape {
		room := size + a.Padding[j] + a.Padding[n+j] - a.Dilation[j]*(a.BlockShape[j]-1) - 1
		if room < 0 {
			return nil, fmt.Errorf("blocks of %v with dilation %v do not fit images of %v", a.BlockShape, a.Dilation, a.ImageShape)
		}
		columns = append(columns, room/a.Strides[j]+1)
		if total, block = total*columns[j], block*a.BlockShape[j]; max(total, block) > types.MaxElements {
			return nil, fmt.Errorf("blocks of %v of images of %v are too many", a.BlockShape, a.ImageShape)
		}
	}
	return columns, nil
}
