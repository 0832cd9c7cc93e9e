package tflite

import (
	"reflect"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/testkit/tflitetest"
)

// describedFile is a network of one function with all that a file can say of its input and output.
func describedFile(metadata tflitetest.Table) []byte {
	in := tflitetest.Tensor{Name: "in", Type: 9, Shape: []int32{1, 1, 1, 3}, Scale: []float32{0.5}, Zero: []int64{3}}
	out := tflitetest.Tensor{Name: "out", Type: 9, Shape: []int32{1, 1, 1, 3}, Scale: []float32{0.25}, Zero: []int64{-1}}
	return tflitetest.Beside{
		Signatures: []tflitetest.Table{{0: []tflitetest.Table{{0: "image", 1: uint32(0)}}, 1: []tflitetest.Table{{0: "scores", 1: uint32(1)}, {0: "out", 1: uint32(1)}}, 2: "serving_default", 4: uint32(0)}},
		Metadata:   metadata, Members: map[string]string{"labels.txt": "cat\r\ndog\nkit fox\n"},
	}.Model(tflitetest.Graph{Tensors: []tflitetest.Tensor{in, out}, Inputs: []int32{0}, Outputs: []int32{1},
		Operators: []tflitetest.Operator{{Code: int32(codeOf("RELU")), In: []int32{0}, Out: []int32{1}}}})
}

func metadataOf(labels string, kind int8) tflitetest.Table {
	unit := tflitetest.Table{0: uint8(normalization), 1: tflitetest.Table{0: []float32{127.5}, 1: []float32{64}}}
	input := tflitetest.Table{4: []tflitetest.Table{unit}}
	output := tflitetest.Table{6: []tflitetest.Table{{0: labels, 2: kind}}}
	return tflitetest.Table{3: []tflitetest.Table{{2: []tflitetest.Table{input}, 3: []tflitetest.Table{output}}}}
}

// TestMeaning: scales, names of signatures, normalisation and labels are those of the file.
func TestMeaning(t *testing.T) {
	m, err := Read(describedFile(metadataOf("labels.txt", axisLabels)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want frontend.Meaning }{
		{m.Graph.Inputs[0].Meaning, frontend.Meaning{Scale: 0.5, Zero: 3, Aliases: []string{"image"}, Mean: []float64{127.5}, Std: []float64{64}}},
		{m.Graph.Outputs[0].Meaning, frontend.Meaning{Scale: 0.25, Zero: -1, Aliases: []string{"scores"}, Labels: []string{"cat", "dog", "kit fox"}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%+v instead of %+v", c.got, c.want)
		}
	}
}

// TestMeaningMissing: files that are not there, or are something else, are no labels, and the model is read.
func TestMeaningMissing(t *testing.T) {
	for _, meta := range []tflitetest.Table{nil, {}, metadataOf("other.txt", axisLabels), metadataOf("labels.txt", axisLabels+1)} {
		m, err := Read(describedFile(meta))
		if err != nil || m.Graph.Outputs[0].Labels != nil {
			t.Errorf("%v: %v, %v", meta, m, err)
		}
	}
	damaged := describedFile(metadataOf("labels.txt", axisLabels))
	at := len(damaged)
	for i := range damaged[:at-3] {
		if string(damaged[i:i+4]) == metadataMagic {
			at = i
			break
		}
	}
	damaged[at-4] = 0xff // its root lies outside
	damaged[at-3] = 0xff
	m, err := Read(damaged)
	if err != nil || len(m.Notes) != 1 {
		t.Errorf("%v, %+v", err, m)
	}
}
