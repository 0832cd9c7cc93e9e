package dpu

import (
	"encoding/binary"
	"fmt"
	"math"

	"lathe/internal/export/xir"
)

// XModel is the network as the quantiser of Vitis AI hands it to the vendor's compiler: float operations on maps [N, H, W, C], each with
// a fix behind that rounds to the positions. It is not compiled for a DPU.
func (f *Fixed) XModel(name string) *xir.Graph {
	x := &xmodel{Fixed: f, graph: &xir.Graph{Name: name}, maps: make([]string, len(f.Tensors)), taken: map[string]bool{}}
	for _, at := range f.Inputs {
		t := f.Tensors[at]
		data := x.add(t.Name, "data", channelsLast(t), map[string]any{"data_type": "FLOAT32", "shape": int32s(channelsLast(t)...)})
		x.fix(at, data)
	}
	for i := range f.Layers {
		x.layer(i)
	}
	return x.graph
}

type xmodel struct {
	*Fixed
	graph *xir.Graph
	maps  []string // name of the fix of each tensor
	taken map[string]bool
}

func channelsLast(t Tensor) []int { return []int{t.Shape[0], t.Shape[2], t.Shape[3], t.Shape[1]} }

func int32s(v ...int) []int32 {
	list := make([]int32, len(v))
	for i, n := range v {
		list[i] = int32(n)
	}
	return list
}

// add appends an operation of a float32 result and returns its name.
func (x *xmodel) add(name, kind string, shape []int, attrs map[string]any, args ...xir.Arg) string {
	unique := name
	for i := 1; x.taken[unique]; i++ {
		unique = fmt.Sprintf("%s_%d", name, i)
	}
	x.taken[unique] = true
	x.graph.Ops = append(x.graph.Ops, xir.Op{Name: unique, Type: kind, Attrs: attrs, Args: args, Tensor: xir.Tensor{Type: xir.Float, Bits: 32, Shape: shape}})
	return unique
}

// round appends a fix at position p.
func (x *xmodel) round(of string, shape []int, p int) string {
	return x.add(of+"_fix", "fix", shape, map[string]any{"fix_point": int32(p), "bit_width": int32(8), "round_mode": "DPU_ROUND", "if_signed": true}, input(of))
}

func input(of ...string) xir.Arg { return xir.Arg{Name: "input", Ops: of} }

// fix makes the result of an operation tensor t.
func (x *xmodel) fix(t int, of string) {
	x.maps[t] = x.round(of, channelsLast(x.Tensors[t]), x.Positions[t])
}

// constant appends a constant of int8 values at position p, in float32, with its fix.
func (x *xmodel) constant(name string, values []int8, p int, shape ...int) string {
	b := make([]byte, 0, 4*len(values))
	for _, q := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(math.Ldexp(float64(q), -p))))
	}
	c := x.add(name, "const", shape, map[string]any{"data": b, "data_type": "FLOAT32", "shape": int32s(shape...)})
	return x.round(c, shape, p)
}

// window are the attributes of convolutions and poolings: width before height, and padding left, right, top, bottom.
func (l *Layer) window() map[string]any {
	return map[string]any{
		"kernel": int32s(l.Kernel[1], l.Kernel[0]), "stride": int32s(l.Stride[1], l.Stride[0]), "pad_mode": "FLOOR",
		"pad": int32s(l.Pad[1], l.Pad[3], l.Pad[0], l.Pad[2]),
	}
}

func (x *xmodel) layer(i int) {
	l := &x.Layers[i]
	shape := channelsLast(x.Tensors[l.To])
	var in []string
	for _, t := range l.From {
		in = append(in, x.maps[t])
	}
	kind, attrs, args := string(l.Kind), map[string]any{}, []xir.Arg{input(in...)}
	switch l.Kind {
	case Conv, Depthwise:
		attrs = l.window()
		attrs["dilation"] = int32s(l.Dilation[1], l.Dilation[0])
		p := &x.Params[i]
		outer, inner := l.OutChannels, l.InChannels
		if l.Kind == Depthwise {
			outer = 1
		}
		args = append(args, xir.Arg{Name: "weights", Ops: []string{x.constant(l.Name+"_weights", l.lastChannels(p.Weights), p.WeightPos, outer, l.Kernel[0], l.Kernel[1], inner)}})
		if p.Bias != nil {
			args = append(args, xir.Arg{Name: "bias", Ops: []string{x.constant(l.Name+"_bias", p.Bias, p.BiasPos, l.OutChannels)}})
		}
	case MaxPool:
		attrs = l.window()
		attrs["global"] = false
	case AvgPool:
		attrs = l.window()
		attrs["global"], attrs["count_include_pad"], attrs["count_include_invalid"] = false, true, true
	case Add:
		kind = "add"
	case Multiply:
		kind = "mul"
	case Concat:
		attrs["axis"] = int32(3)
	case Upsample:
		kind, attrs = "resize", map[string]any{"mode": "NEAREST", "align_corners": false, "half_pixel_centers": false, "size": int32s(shape[2], shape[1])}
	case Activate:
		x.fix(l.To, x.activation(l, in[0], shape))
		return
	}
	y := x.add(l.Name, kind, shape, attrs, args...)
	x.fix(l.To, x.activation(l, y, shape))
}

// activation appends the layer's activation, where it has one.
func (x *xmodel) activation(l *Layer, of string, shape []int) string {
	switch l.Act {
	case None:
		return of
	case Leaky:
		return x.add(l.Name+"_leaky-relu", "leaky-relu", shape, map[string]any{"alpha": float32(leakySlope)}, input(of))
	}
	return x.add(l.Name+"_"+string(l.Act), string(l.Act), shape, nil, input(of))
}

// lastChannels are weights [O, I, kernel] in the order [O, kernel, I], and depthwise ones [C, kernel] as [1, kernel, C].
func (l *Layer) lastChannels(w []int8) []int8 {
	outer, inner, taps := l.OutChannels, l.InChannels, l.Kernel[0]*l.Kernel[1]
	if l.Kind == Depthwise {
		outer = 1
	}
	list := make([]int8, 0, len(w))
	for o := range outer {
		for k := range taps {
			for c := range inner {
				list = append(list, w[(o*inner+c)*taps+k])
			}
		}
	}
	return list
}
