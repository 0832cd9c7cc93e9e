package ops

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// DepthSpaceAttrs are the attributes of nn.space_to_depth and nn.depth_to_space. Mode says how the deep channel axis is
// made of block row, block column and shallow channel: "DCR" is [row, column, channel], "CRD" is [channel, row, column].
type DepthSpaceAttrs struct {
	BlockSize int
	Mode      string
}

// SpaceToDepth moves blocks of an N,C,H,W image into channels.
var SpaceToDepth = op.Define(op.Spec[DepthSpaceAttrs]{
	Name:   "nn.space_to_depth",
	Doc:    "nn.space_to_depth moves each block of pixels of an N,C,H,W image into channels, ordered by mode (DCR, CRD).",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Free,

	Infer: func(a DepthSpaceAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := a.check(in[0].Tensor); err != nil {
			return nil, err
		}
		s, b := in[0].Shape, a.BlockSize
		if s[2]%b != 0 || s[3]%b != 0 {
			return nil, fmt.Errorf("height and width of %s are not multiples of the block size %d", in[0], b)
		}
		return []types.Tensor{types.Of(in[0].DType, s[0], s[1]*b*b, s[2]/b, s[3]/b)}, nil
	},
	Eval: func(a DepthSpaceAttrs, in, out []*tensor.Tensor) error {
		eachIndex(in[0].Shape, func(at []int) {
			i := offsetOf(in[0].Shape, at)
			b := a.BlockSize
			c := a.deep(at[1], at[2]%b, at[3]%b, in[0].Shape[1])
			setElement(out[0], offsetOf(out[0].Shape, []int{at[0], c, at[2] / b, at[3] / b}), in[0], i)
		})
		return nil
	},
	Compute: func(a DepthSpaceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		b, channels := a.BlockSize, in[0].Type.Shape[1]
		return []*te.Stage{te.Compute("space_to_depth", out[0], func(i []expr.Expr) expr.Expr {
			c, row, col := quotient(i[1], b*b), remainder(quotient(i[1], b), b), remainder(i[1], b)
			if a.Mode == "DCR" {
				c, row, col = remainder(i[1], channels), quotient(i[1], b*channels), remainder(quotient(i[1], channels), b)
			}
			return in[0].At(i[0], c, expr.Add(scaled(b, i[2], 0), row), expr.Add(scaled(b, i[3], 0), col))
		})}
	},
	Identity: func(a DepthSpaceAttrs, _ []types.Tensor) bool { return a.BlockSize == 1 },
	Sample: func(r *rand.Rand) (DepthSpaceAttrs, []types.Tensor) {
		d := draw{r}
		a, s := DepthSpaceAttrs{d.between(1, 3), d.word("DCR", "CRD")}, d.full(4, 4)
		return a, []types.Tensor{types.Of(d.dtype(), s[0], s[1], s[2]*a.BlockSize, s[3]*a.BlockSize)}
	},
})

// DepthToSpace moves channels of an N,C,H,W image into blocks of pixels.
var DepthToSpace = op.Define(op.Spec[DepthSpaceAttrs]{
	Name:   "nn.depth_to_space",
	Doc:    "nn.depth_to_space moves channels of an N,C,H,W image, ordered by mode (DCR, CRD), into blocks of pixels.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Free,

	Infer: func(a DepthSpaceAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := a.check(in[0].Tensor); err != nil {
			return nil, err
		}
		s, b := in[0].Shape, a.BlockSize
		if s[1]%(b*b) != 0 {
			return nil, fmt.Errorf("%s of %s are not a multiple of the block size squared, %d", spelling.Count(s[1], "channel"), in[0], b*b)
		}
		return []types.Tensor{types.Of(in[0].DType, s[0], s[1]/(b*b), s[2]*b, s[3]*b)}, nil
	},
	Eval: func(a DepthSpaceAttrs, in, out []*tensor.Tensor) error {
		eachIndex(out[0].Shape, func(at []int) {
			i := offsetOf(out[0].Shape, at)
			b := a.BlockSize
			c := a.deep(at[1], at[2]%b, at[3]%b, out[0].Shape[1])
			setElement(out[0], i, in[0], offsetOf(in[0].Shape, []int{at[0], c, at[2] / b, at[3] / b}))
		})
		return nil
	},
	Compute: func(a DepthSpaceAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		b, channels := a.BlockSize, out[0].Shape[1]
		return []*te.Stage{te.Compute("depth_to_space", out[0], func(i []expr.Expr) expr.Expr {
			row, col := remainder(i[2], b), remainder(i[3], b)
			block := expr.Add(scaled(b, row, 0), col)
			c := expr.Add(scaled(b*b, i[1], 0), block)
			if a.Mode == "DCR" {
				c = expr.Add(scaled(channels, block, 0), i[1])
			}
			return in[0].At(i[0], c, quotient(i[2], b), quotient(i[3], b))
		})}
	},
	Identity: func(a DepthSpaceAttrs, _ []types.Tensor) bool { return a.BlockSize == 1 },
	Sample: func(r *rand.Rand) (DepthSpaceAttrs, []types.Tensor) {
		d := draw{r}
		a, s := DepthSpaceAttrs{d.between(1, 3), d.word("DCR", "CRD")}, d.full(4, 4)
		return a, []types.Tensor{types.Of(d.dtype(), s[0], s[1]*a.BlockSize*a.BlockSize, s[2], s[3])}
	},
})

func (a DepthSpaceAttrs) check(t types.Tensor) error {
	switch {
	case t.Rank() != 4:
		return fmt.Errorf("%s is not an N,C,H,W image", t)
	case a.BlockSize < 1 || a.BlockSize > 1<<20:
		return fmt.Errorf("block size %d", a.BlockSize)
	case a.Mode != "DCR" && a.Mode != "CRD":
		return fmt.Errorf("unknown mode %q (the modes are DCR and CRD)", a.Mode)
	}
	return nil
}

// deep is the deep channel of a pixel of a block, for a shallow channel out of channels.
func (a DepthSpaceAttrs) deep(c, row, col, channels int) int {
	if a.Mode == "DCR" {
		return (row*a.BlockSize+col)*channels + c
	}
	return (c*a.BlockSize+row)*a.BlockSize + col
}
