package coreml

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Writers of models. A message is a map of fields by the names of its schema.

type msg = map[string]any

func bytesField(b []byte, num int, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(num), protowire.BytesType), data)
}

func varint(b []byte, num int, v int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(num), protowire.VarintType), uint64(v))
}

func float(b []byte, num int, v float64) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, protowire.Number(num), protowire.Fixed32Type), math.Float32bits(float32(v)))
}

func floats(v []float64) (b []byte) {
	for _, x := range v {
		b = protowire.AppendFixed32(b, math.Float32bits(float32(x)))
	}
	return b
}

func encode(s schema, m msg) (b []byte) {
	for _, number := range slices.Sorted(maps.Keys(s)) {
		f := s[number]
		switch v := m[f.name].(type) {
		case nil:
		case int:
			b = varint(b, number, v)
		case float64:
			b = float(b, number, v)
		case []int:
			for _, x := range v {
				b = varint(b, number, x)
			}
		case []float64: // weights
			b = bytesField(b, number, bytesField(nil, 1, floats(v)))
		case []byte: // weights as they are
			b = bytesField(b, number, v)
		case msg:
			b = bytesField(b, number, encode(f.sub, v))
		case []msg:
			for _, x := range v {
				b = bytesField(b, number, encode(f.sub, x))
			}
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return b
}

func layerMessage(name string, number int, in, out []string, params msg) []byte {
	b := bytesField(nil, 1, []byte(name))
	for i, list := range [][]string{in, out} {
		for _, v := range list {
			b = bytesField(b, 2+i, []byte(v))
		}
	}
	return bytesField(b, number, encode(layers[number].schema, params))
}

func arrayFeature(name string, shape ...int) []byte {
	var t []byte
	for _, d := range shape {
		t = varint(t, 1, d)
	}
	return bytesField(bytesField(nil, 1, []byte(name)), 3, bytesField(nil, array, varint(t, 2, 0x10000|32)))
}

// network500 is a model of layers with arrays x, y ... of shapes as inputs and one output z.
func modelOf(exact bool, inputs map[string][]int, output []byte, layers ...[]byte) []byte {
	var about, net []byte
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		about = bytesField(about, 1, arrayFeature(name, inputs[name]...))
	}
	about = bytesField(about, 10, output)
	for _, l := range layers {
		net = bytesField(net, 1, l)
	}
	if exact {
		net = varint(net, 5, 1)
	}
	return bytesField(bytesField(varint(nil, 1, 4), 2, about), network, net)
}

func of(shape []int, v ...float32) *tensor.Tensor { return tensor.Of(shape, v) }

func counting(shape ...int) *tensor.Tensor {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, float64(i+1))
	}
	return t
}

// quantized is a WeightParams message of numbers of some bits with scales and biases, or a table.
func quantized(bits int, raw []byte, scale, bias, table []float64) []byte {
	q := varint(nil, 1, bits)
	if table != nil {
		q = bytesField(q, 102, bytesField(nil, 1, floats(table)))
	} else {
		q = bytesField(q, 101, bytesField(bytesField(nil, 1, floats(scale)), 2, floats(bias)))
	}
	return bytesField(bytesField(nil, 30, raw), 40, q)
}

func half(v ...float32) (b []byte) {
	for _, x := range v {
		h := tensor.F32ToF16(x)
		b = append(b, byte(h), byte(h>>8))
	}
	return bytesField(nil, 2, b)
}

type edges = []msg

func borders(top, bottom, left, right int) msg {
	return msg{"border": edges{{"start": top, "end": bottom}, {"start": left, "end": right}}}
}

// rowTests are layers with what NeuralNetwork.proto says that they give; of those that are not exact, inputs have their last three axes.
var rowTests = []struct {
	number int
	params msg
	exact  bool
	in     []*tensor.Tensor
	shape  []int
	want   []float64
}{
	{100, msg{"outputChannels": 1, "kernelChannels": 1, "kernelSize": []int{2, 2}, "same": msg{"mode": 1}, "hasBias": 1, "weights": []float64{1, 1, 1, 1}, "bias": []float64{1}}, false, []*tensor.Tensor{counting(1, 2, 2)}, []int{1, 1, 2, 2}, []float64{2, 4, 5, 11}},
	{100, msg{"outputChannels": 1, "kernelChannels": 1, "kernelSize": []int{2, 2}, "valid": msg{"amounts": borders(0, 1, 0, 0)}, "weights": []float64{1, 1, 1, 1}}, false, []*tensor.Tensor{counting(1, 2, 2)}, []int{1, 1, 2, 1}, []float64{10, 7}},
	{100, msg{"outputChannels": 1, "kernelChannels": 1, "kernelSize": []int{1, 1}, "weights": half(3)}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 1, 2}, []float64{3, 6}},
	{100, msg{"outputChannels": 2, "kernelChannels": 1, "kernelSize": []int{1, 1}, "weights": quantized(8, []byte{4, 6}, []float64{0.5, 2}, []float64{1, -1}, nil)}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 2, 1, 1}, []float64{3, 11}},
	{100, msg{"outputChannels": 2, "kernelChannels": 1, "kernelSize": []int{1, 1}, "weights": quantized(2, []byte{0b11_01_0000}, nil, nil, []float64{0, 10, 20, 30})}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 2, 1, 1}, []float64{30, 10}},
	{100, msg{"outputChannels": 1, "kernelChannels": 1, "kernelSize": []int{1, 2}, "stride": []int{1, 2}, "isDeconvolution": 1, "weights": []float64{1, 2}}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 1, 4}, []float64{1, 2, 2, 4}},
	{120, msg{"type": 1, "kernelSize": []int{1, 2}, "stride": []int{1, 2}, "includeLastPixel": msg{"amounts": []int{0, 0}}, "excludePadding": 1}, false, []*tensor.Tensor{counting(1, 1, 3)}, []int{1, 1, 1, 2}, []float64{1.5, 3}},
	{120, msg{"type": 2, "global": 1}, false, []*tensor.Tensor{of([]int{1, 1, 2}, 3, 4)}, []int{1, 1, 1, 1}, []float64{5}},
	{140, msg{"inputChannels": 2, "outputChannels": 1, "hasBias": 1, "weights": []float64{1, 2}, "bias": []float64{3}}, false, []*tensor.Tensor{counting(2, 1, 1)}, []int{1, 1, 1, 1}, []float64{8}},
	{140, msg{"inputChannels": 2, "outputChannels": 1, "weights": []float64{1, 2}}, true, []*tensor.Tensor{counting(2, 2)}, []int{2, 1}, []float64{5, 11}},
	{160, msg{"channels": 2, "epsilon": 1.0, "gamma": []float64{2, 2}, "beta": []float64{1, 1}, "mean": []float64{1, 1}, "variance": []float64{3, 3}}, false, []*tensor.Tensor{counting(2, 1, 1)}, []int{1, 2, 1, 1}, []float64{1, 2}},
	{165, msg{"normalizeVariance": 1, "epsilon": 1e-9}, false, []*tensor.Tensor{of([]int{1, 1, 2}, 1, 3)}, []int{1, 1, 1, 2}, []float64{-1, 1}},
	{175, nil, false, []*tensor.Tensor{of([]int{2, 1, 1}, 0, float32(math.Log(3)))}, []int{1, 2, 1, 1}, []float64{0.25, 0.75}},
	{180, msg{"alpha": 5.0, "beta": 1.0, "localSize": 5}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 1, 1, 1}, []float64{0.5}},
	{212, msg{"targetSize": []int{1, 2}, "normalizedCoordinates": 1, "mode": msg{"method": 0}, "boxes": msg{"mode": 0}, "spatialScale": 1.0}, true, []*tensor.Tensor{counting(1, 1, 1, 2, 3), of([]int{1, 1, 4, 1, 1}, 0, 0.25, 1, 1)}, []int{1, 1, 1, 1, 2}, []float64{1.5, 3}},
	{212, msg{"targetSize": []int{1, 2}, "mode": msg{"method": 3}, "boxes": msg{"mode": 1}, "spatialScale": 0.5}, true, []*tensor.Tensor{counting(1, 2, 1, 2, 3), of([]int{2, 1, 5, 1, 1}, 1, 0, 0, 4, 2, 0, 2, 2, 4, 2)}, []int{2, 1, 1, 1, 2}, []float64{9, 10, 5.25, 5.75}},
	{1400, msg{"iouThreshold": 0.5, "scoreThreshold": 0.25, "maxBoxes": 3}, true, []*tensor.Tensor{of([]int{1, 3, 4}, 5, 5, 10, 10, 5, 4.5, 10, 9, 25, 25, 10, 10), of([]int{1, 3, 2}, 0.9, 0.1, 0.1, 0.8, 0.5, 0.6)}, []int{1, 3, 4}, []float64{5, 5, 10, 10, 25, 25, 10, 10, 0, 0, 0, 0}},
	{1400, msg{"iouThreshold": 0.5, "scoreThreshold": 0.25, "maxBoxes": 3, "perClassSuppression": 1}, true, []*tensor.Tensor{of([]int{1, 3, 4}, 5, 5, 10, 10, 5, 4.5, 10, 9, 25, 25, 10, 10), of([]int{1, 3, 2}, 0.9, 0.1, 0.1, 0.8, 0.5, 0.6)}, []int{1, 3, 4}, []float64{5, 5, 10, 10, 5, 4.5, 10, 9, 25, 25, 10, 10}},
	{1400, msg{"iouThreshold": 0.5, "scoreThreshold": 2.0, "maxBoxes": 2}, true, []*tensor.Tensor{of([]int{1, 2, 4}, 5, 5, 10, 10, 25, 25, 10, 10), of([]int{1, 2, 1}, 0.8, 0.9)}, []int{1, 2, 4}, []float64{25, 25, 10, 10, 0, 0, 0, 0}},
	{1450, msg{"oneHotVectorSize": 3, "axis": 1, "onValue": 5.0, "offValue": 1.0}, true, []*tensor.Tensor{of([]int{2}, 0, 2)}, []int{2, 3}, []float64{5, 1, 1, 1, 1, 5}},
	{1455, msg{"axis": 1, "excludeFinalSum": 1}, true, []*tensor.Tensor{counting(1, 3)}, []int{1, 3}, []float64{0, 1, 3}},
	{1460, msg{"alpha": 0.5, "beta": 2.0}, true, []*tensor.Tensor{of([]int{3}, -2, 1, 3)}, []int{3}, []float64{-1, 1, 2}},
	{1461, msg{"axis": 0, "descending": 1}, true, []*tensor.Tensor{of([]int{5}, 3.1, 5.4, 32.9, 3.2, 77)}, []int{5}, []float64{4, 2, 1, 3, 0}},
	{1465, msg{"type": 1, "kernelDepth": 1, "kernelHeight": 1, "kernelWidth": 2, "strideDepth": 1, "strideHeight": 1, "strideWidth": 2, "customPaddingLeft": 1, "countExcludePadding": 1}, true, []*tensor.Tensor{counting(1, 1, 1, 1, 3)}, []int{1, 1, 1, 1, 2}, []float64{1, 2.5}},
	{1465, msg{"kernelDepth": 1, "kernelHeight": 1, "kernelWidth": 2, "strideDepth": 1, "strideHeight": 1, "strideWidth": 1, "paddingType": 2}, true, []*tensor.Tensor{counting(1, 1, 1, 1, 3)}, []int{1, 1, 1, 1, 3}, []float64{2, 3, 3}},
	{1466, msg{"type": 1}, true, []*tensor.Tensor{counting(1, 2, 1, 1, 2)}, []int{1, 2, 1, 1, 1}, []float64{1.5, 3.5}},
	{1471, msg{"outputChannels": 1, "inputChannels": 1, "nGroups": 1, "kernelDepth": 1, "kernelHeight": 1, "kernelWidth": 2, "customPaddingRight": 1, "hasBias": 1, "weights": []float64{1, 10}, "bias": []float64{0.5}}, true, []*tensor.Tensor{counting(1, 1, 1, 1, 2)}, []int{1, 1, 1, 1, 2}, []float64{21.5, 2.5}},
	{130, msg{"linear": msg{"alpha": 2.0, "beta": 1.0}}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 1, 2}, []float64{3, 5}},
	{130, msg{"prelu": msg{"alpha": []float64{0.5, 0.25}}}, false, []*tensor.Tensor{of([]int{2, 1, 1}, -1, -1)}, []int{1, 2, 1, 1}, []float64{-0.5, -0.25}},
	{130, msg{"thresholded": msg{"alpha": 2.0}}, false, []*tensor.Tensor{counting(1, 1, 3)}, []int{1, 1, 1, 3}, []float64{0, 2, 3}},
	{200, msg{"replication": msg{}, "amounts": borders(1, 0, 0, 1)}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 2, 3}, []float64{1, 2, 2, 1, 2, 2}},
	{190, msg{"amounts": borders(0, 1, 1, 0)}, false, []*tensor.Tensor{counting(1, 2, 2)}, []int{1, 1, 1, 1}, []float64{2}},
	{210, msg{"scalingFactor": []int{1, 2}, "mode": 1}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 1, 4}, []float64{1, 1.5, 2, 2}},
	{210, msg{"scalingFactor": []int{2, 1}}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 2, 2}, []float64{1, 2, 1, 2}},
	{211, msg{"targetSize": []int{1, 3}, "mode": msg{"method": 0}}, false, []*tensor.Tensor{counting(1, 1, 2)}, []int{1, 1, 1, 3}, []float64{1, 1.5, 2}},
	{220, msg{"type": 1, "scale": 4.0}, false, []*tensor.Tensor{of([]int{1, 1, 1}, 1)}, []int{1, 1, 1, 1}, []float64{0.5}},
	{230, msg{"alpha": 2.0}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 1, 1, 1}, []float64{3}},
	{231, nil, false, []*tensor.Tensor{counting(2, 1, 1), counting(2, 1, 1)}, []int{1, 2, 1, 1}, []float64{1, 4}},
	{245, msg{"shapeScale": []int{2}, "scale": []float64{2, 3}, "hasBias": 1, "shapeBias": []int{1}, "bias": []float64{1}}, false, []*tensor.Tensor{counting(2, 1, 1)}, []int{1, 2, 1, 1}, []float64{3, 7}},
	{280, msg{"mode": 3, "axis": 1, "epsilon": 1.0}, false, []*tensor.Tensor{of([]int{1, 1, 2}, 0, 1)}, []int{1, 1, 1, 1}, []float64{math.Log(2)}},
	{300, msg{"targetShape": []int{4, 1, 1}, "mode": 1}, false, []*tensor.Tensor{counting(2, 1, 2)}, []int{1, 4, 1, 1}, []float64{1, 3, 2, 4}},
	{301, msg{"mode": 1}, false, []*tensor.Tensor{counting(2, 1, 2)}, []int{1, 4, 1, 1}, []float64{1, 3, 2, 4}},
	{310, msg{"axis": []int{0, 3, 1, 2}}, false, []*tensor.Tensor{counting(1, 2, 3)}, []int{1, 3, 1, 2}, []float64{1, 4, 2, 5, 3, 6}},
	{310, msg{"axis": []int{1, 0, 2, 3}}, false, []*tensor.Tensor{counting(2, 1, 1)}, []int{2, 1, 1, 1, 1}, []float64{1, 2}},
	{350, msg{"axis": 2, "startIndex": 1, "endIndex": -1, "stride": 1}, false, []*tensor.Tensor{counting(1, 1, 4)}, []int{1, 1, 1, 2}, []float64{2, 3}},
	{345, msg{"mode": 0, "blockSize": 2}, false, []*tensor.Tensor{counting(1, 2, 2)}, []int{1, 4, 1, 1}, []float64{1, 2, 3, 4}},
	{400, msg{"in": 1, "out": 1, "f": []msg{{"relu": msg{}}}, "w": []float64{2}, "r": []float64{1}, "sequenceOutput": 1}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 1, 1, 1, 1}, []float64{2}},
	{410, msg{"in": 1, "out": 1, "f": []msg{{"sigmoid": msg{}}, {"tanh": msg{}}}, "wz": []float64{0}, "wr": []float64{0}, "wo": []float64{1}, "rz": []float64{0}, "rr": []float64{0}, "ro": []float64{0}}, false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 1, 1, 1, 1}, []float64{0.5 * math.Tanh(1)}},
	{420, msg{"in": 1, "out": 1, "f": []msg{{"sigmoid": msg{}}, {"tanh": msg{}}, {"tanh": msg{}}}, "params": msg{"forgetBias": 1}, "weights": msg{"wi": []float64{0}, "wf": []float64{0}, "wz": []float64{1}, "wo": []float64{0}, "ri": []float64{0}, "rf": []float64{0}, "rz": []float64{0}, "ro": []float64{0}}},
		false, []*tensor.Tensor{counting(1, 1, 1)}, []int{1, 1, 1, 1, 1}, []float64{0.5 * math.Tanh(0.5*math.Tanh(1))}},
	{830, msg{"alpha": 1.5}, true, []*tensor.Tensor{counting(2)}, []int{2}, []float64{0, 1}},
	{890, nil, true, []*tensor.Tensor{counting(2, 2), counting(2)}, []int{2, 2}, []float64{1, 1, 3, 2}},
	{985, msg{"axes": []int{1, 0}}, true, []*tensor.Tensor{counting(2, 2)}, []int{2, 2}, []float64{1, 3, 2, 4}},
	{995, msg{"beginIds": []int{-1, 0}, "endIds": []int{0, 2}, "endMasks": []int{1, 0}, "beginMasks": []int{0, 0}, "strides": []int{1, 1}, "squeezeMasks": []int{1, 0}}, true, []*tensor.Tensor{counting(2, 2)}, []int{2}, []float64{3, 4}},
	{1040, msg{"inputDim": 2, "outputChannels": 2, "weights": []float64{1, 2, 3, 4}}, true, []*tensor.Tensor{of([]int{1, 1}, 1)}, []int{1, 2}, []float64{2, 4}},
	{1045, msg{"in": 2, "out": 2, "weights": []float64{1, 2, 3, 4}}, true, []*tensor.Tensor{counting(1, 2)}, []int{1, 2}, []float64{5, 11}},
	{1280, msg{"axes": []int{-1}, "keepDims": 1}, true, []*tensor.Tensor{counting(2, 2)}, []int{2, 1}, []float64{1.5, 3.5}},
	{1330, nil, true, []*tensor.Tensor{of([]int{2}, 0, 2), counting(2), of([]int{2}, 7, 8)}, []int{2}, []float64{7, 2}},
	{1350, msg{"normalizedShape": []int{2}, "eps": 0.0, "gamma": []float64{1, 1}, "beta": []float64{0, 1}}, true, []*tensor.Tensor{of([]int{1, 2}, 1, 3)}, []int{1, 2}, []float64{-1, 2}},
}

func TestRows(t *testing.T) {
	for i, c := range rowTests {
		t.Run(fmt.Sprintf("%d %s", i, layers[c.number].name), func(t *testing.T) {
			shapes, names := map[string][]int{}, []string{}
			for k, x := range c.in {
				names = append(names, string(rune('a'+k)))
				shapes[names[k]] = x.Shape
			}
			m, err := Read(modelOf(c.exact, shapes, arrayFeature("z"), layerMessage("l", c.number, names, []string{"z"}, c.params)))
			if err != nil {
				t.Fatal(err)
			}
			evaluated(t, m, c.in, c.shape, c.want)
		})
	}
}

func evaluated(t *testing.T, m *frontend.Model, in []*tensor.Tensor, shape []int, want []float64) {
	t.Helper()
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(g, in)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out[0].Shape, shape) {
		t.Fatalf("%s, want the shape %v", out[0].Type(), shape)
	}
	for i, v := range want {
		if got := out[0].Float(i); math.Abs(got-v) > 1e-4*max(1, math.Abs(v)) {
			t.Errorf("element %d is %v instead of %v", i, got, v)
		}
	}
}

// A classifier of pictures: these are scaled by order of colours, and probabilities are the output of its dictionary.
func classifierModel(colors int) []byte {
	picture := varint(varint(varint(nil, 1, 2), 2, 1), 3, colors)
	about := bytesField(nil, 1, bytesField(bytesField(nil, 1, []byte("image")), 3, bytesField(nil, image, picture)))
	about = bytesField(about, 10, bytesField(bytesField(nil, 1, []byte("probs")), 3, bytesField(nil, dictionary, nil)))
	about = bytesField(about, 10, bytesField(bytesField(nil, 1, []byte("label")), 3, bytesField(nil, text, nil)))
	about = bytesField(bytesField(about, 11, []byte("label")), 12, []byte("probs"))
	net := bytesField(nil, 1, layerMessage("pool", 120, []string{"image"}, []string{"pooled"}, msg{"type": 1, "global": 1}))
	scaler := float(float(float(float(nil, 10, 2), 20, 1), 21, 10), 22, 100)
	net = bytesField(net, 2, bytesField(nil, 10, scaler))
	return bytesField(bytesField(varint(nil, 1, 1), 2, about), classifier, net)
}

func TestClassifier(t *testing.T) {
	for colors, want := range map[int][]float64{rgb: {2*1.5 + 100, 2*3.5 + 10, 2*5.5 + 1}, bgr: {2*1.5 + 1, 2*3.5 + 10, 2*5.5 + 100}} {
		m, err := Read(classifierModel(colors))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Graph.Outputs) != 1 || m.Graph.Outputs[0].Name != "probs" {
			t.Errorf("outputs %v", m.Graph.Outputs)
		}
		evaluated(t, m, []*tensor.Tensor{counting(1, 3, 1, 2)}, []int{1, 3}, want)
	}
}

func TestErrors(t *testing.T) {
	good := modelOf(false, map[string][]int{"a": {1, 1, 1}}, arrayFeature("z"), layerMessage("l", 230, []string{"a"}, []string{"z"}, msg{"alpha": 2.0}))
	program := bytesField(bytesField(varint(nil, 1, 7), 2, bytesField(nil, 1, arrayFeature("a", 1))), 502, nil)
	for _, c := range []struct {
		data []byte
		want string
	}{
		{program, "the model is an ML program, which is not supported"},
		{good[:2], "holds no model"},
		{good[:len(good)-3], "damaged"},
		{modelOf(false, map[string][]int{"a": {1}}, arrayFeature("z"), bytesField(bytesField(bytesField(bytesField(nil, 1, []byte("l")), 2, []byte("a")), 3, []byte("z")), 500, nil)), "1 unsupported operator: layer 500"},
		{modelOf(false, map[string][]int{"a": {1}}, arrayFeature("y"), layerMessage("l", 230, []string{"a"}, []string{"z"}, nil)), "no layer gives an output"},
		{modelOf(false, map[string][]int{"a": {1, 1, 1}}, arrayFeature("z"), layerMessage("l", 140, []string{"a"}, []string{"z"}, msg{"inputChannels": 1, "outputChannels": 1})), "weights weights are missing"},
		{modelOf(false, map[string][]int{"a": {1, 1, 1}}, arrayFeature("z"), bytesField(bytesField(bytesField(bytesField(nil, 1, []byte("l")), 2, []byte("a")), 3, []byte("z")), 175, varint(nil, 9, 1))), `attribute "field 9"`},
	} {
		m, err := Read(c.data)
		if err == nil {
			_, err = frontend.Import(m, frontend.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

func TestIdentify(t *testing.T) {
	onnx := bytesField(varint(nil, 1, 7), 2, []byte("pytorch"))
	for _, c := range []struct {
		head []byte
		want bool
	}{{classifierModel(rgb), true}, {modelOf(true, map[string][]int{"a": {1}}, arrayFeature("z")), true}, {onnx, false}, {[]byte{}, false}, {[]byte("\x08\x01\x12"), false}} {
		if Format.Identify(c.head, "") != c.want {
			t.Errorf("%.20q: %v", c.head, !c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range rowTests {
		f.Add(modelOf(c.exact, map[string][]int{"a": c.in[0].Shape}, arrayFeature("z"), layerMessage("l", c.number, []string{"a"}, []string{"z"}, c.params)))
	}
	f.Add(classifierModel(bgr))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(data); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}
