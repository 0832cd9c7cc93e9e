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

// DepthToSpaceNDAttrs are the attributes of nn.depth_to_space_nd: the sides of a block, what is cropped before each spatial
// axis of the blocks and then after each, and how the deep channels are made. These are [group, place in the block, channel of the
// group]: a place has Step channels, of which the first Channels are read. What follows all groups is not read.
type DepthToSpaceNDAttrs struct {
	BlockShape, Crops      []int
	Groups, Channels, Step int
}

// DepthToSpaceND moves channels into blocks over all spatial axes. The phases of a transposed convolution become its result so.
var DepthToSpaceND = op.Define(op.Spec[DepthToSpaceNDAttrs]{
	Name:   "nn.depth_to_space_nd",
	Doc:    "nn.depth_to_space_nd moves channels [group, place in the block, channel] into blocks of block_shape and crops the result.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Free,

	Infer: func(a DepthToSpaceNDAttrs, in []op.Arg) ([]types.Tensor, error) {
		s, err := a.shape(in[0])
		if err != nil {
			return nil, err
		}
		return []types.Tensor{types.Of(in[0].DType, s...)}, nil
	},
	Eval: func(a DepthToSpaceNDAttrs, in, out []*tensor.Tensor) error {
		eachIndex(in[0].Shape, func(at []int) {
			inner, group := at[1]%a.Step, at[1]/(a.Step*a.places())
			place := at[1] / a.Step % a.places()
			if inner >= a.Channels || group >= a.Groups {
				return
			}
			to := []int{at[0], group*a.Channels + inner}
			for k, b := range a.BlockShape {
				rest := types.Count(a.BlockShape[k+1:])
				p := at[2+k]*b + place/rest%b - a.Crops[k]
				if p < 0 || p >= out[0].Shape[2+k] {
					return
				}
				to = append(to, p)
			}
			setElement(out[0], offsetOf(out[0].Shape, to), in[0], offsetOf(in[0].Shape, at))
		})
		return nil
	},
	Compute: func(a DepthToSpaceNDAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("depth_to_space_nd", out[0], func(i []expr.Expr) expr.Expr {
			at := []expr.Expr{i[0], nil}
			place := expr.Expr(expr.Index(0))
			for k, b := range a.BlockShape {
				p := scaled(1, i[2+k], a.Crops[k])
				place = expr.Add(scaled(b, place, 0), remainder(p, b))
				at = append(at, quotient(p, b))
			}
			if a.Groups == 1 {
				at[1] = expr.Add(scaled(a.Step, place, 0), i[1])
			} else {
				at[1] = expr.Add(scaled(a.Step, expr.Add(scaled(a.places(), quotient(i[1], a.Channels), 0), place), 0), remainder(i[1], a.Channels))
			}
			return in[0].At(at...)
		})}
	},
	Identity: func(a DepthToSpaceNDAttrs, in []types.Tensor) bool {
		return a.places() == 1 && slices.Max(a.Crops) == 0 && in[0].Shape[1] == a.Groups*a.Channels
	},
	Sample: func(r *rand.Rand) (DepthToSpaceNDAttrs, []types.Tensor) {
		d := draw{r}
		rank := d.between(1, 3)
		a := DepthToSpaceNDAttrs{make([]int, rank), make([]int, 2*rank), d.between(1, 2), d.between(1, 3), 0}
		a.Step = a.Channels + d.IntN(2)*d.IntN(3)
		s := []int{d.between(1, 2), 0}
		for k := range rank {
			a.BlockShape[k] = d.between(1, 3)
			n := d.between(1, 4)
			a.Crops[k], a.Crops[rank+k] = d.IntN(2), d.IntN(2)
			if d.coin(2) || n*a.BlockShape[k] < 3 {
				a.Crops[k], a.Crops[rank+k] = 0, 0
			}
			s = append(s, n)
		}
		s[1] = a.deep()
		if d.coin(3) {
			s[1] += d.IntN(20)
		}
		return a, []types.Tensor{types.Of(d.dtype(), s...)}
	},
})

// places is the number of elements of a block.
func (a DepthToSpaceNDAttrs) places() int { return types.Count(a.BlockShape) }

// deep is the number of channels that are read.
func (a DepthToSpaceNDAttrs) deep() int { return a.Groups * a.places() * a.Step }

// shape is the result's for the given operand.
func (a DepthToSpaceNDAttrs) shape(x op.Arg) ([]int, error) {
	rank := len(a.BlockShape)
	in, err := spatial("data", x, rank)
	if err != nil {
		return nil, err
	}
	if err := wantEach("block_shape", a.BlockShape, rank, 1, maxStep); err != nil {
		return nil, err
	}
	if err := wantEach("crops", a.Crops, 2*rank, 0, maxPad); err != nil {
		return nil, err
	}
	deep := 1
	for _, n := range append([]int{a.Groups, a.Step}, a.BlockShape...) {
		if deep *= n; n < 1 || n > maxStep || deep > x.Shape[1] {
			return nil, fmt.Errorf("%s of %s for each place in blocks of %v: that is more than %s has", spelling.Count(a.Groups, "group"), spelling.Count(a.Step, "channel"), a.BlockShape, x)
		}
	}
	if a.Channels < 1 || a.Channels > a.Step {
		return nil, fmt.Errorf("%s of the %d of a place", spelling.Count(a.Channels, "channel"), a.Step)
	}
	s := []int{x.Shape[0], a.Groups * a.Channels}
	for k, n := range in {
		out := n*a.BlockShape[k] - a.Crops[k] - a.Crops[rank+k]
		if out < 0 {
			return nil, fmt.Errorf("spatial axis %d: %s less crops of %d and %d", k, spelling.Count(n*a.BlockShape[k], "element"), a.Crops[k], a.Crops[rank+k])
		}
		s = append(s, out)
	}
	return s, nil
}
