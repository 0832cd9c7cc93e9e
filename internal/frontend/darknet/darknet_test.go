package darknet

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
)

// weightsWith writes a file of the version 0.2 with these numbers.
func weightsWith(values ...float32) []byte {
	b := make([]byte, 20)
	binary.LittleEndian.PutUint32(b[4:], 2)
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// small normalizes, joins a layer with itself, halves channels again, and ends in a connected layer.
const small = `# a comment
[net]
width=2
height=1
channels=1

[convolutional]
batch_normalize=1
filters=2
size=1
activation=leaky
[route]
layers = -1, 0
[route]
layers=1
groups=2
group_id=1
[maxpool]
size=2
stride=1
[connected]
output=1
activation=linear
`

// smallWeights are biases, scales, means, variances and weights of the convolution, bias and weights of the connected layer.
func smallWeights() []byte {
	return weightsWith(1, 2, 2, 3, 1, 0, 4, 9, 1, -3, 0.5, 1, 10, 100, 1000)
}

func TestSmall(t *testing.T) {
	m, err := Read([]byte(small), smallWeights())
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1, 1, 1, 2}, []float32{3, 5})})
	if err != nil {
		t.Fatal(err)
	}
	// Channels (x-1)/2*2+1 = 3, 5 and -3x/3*3+2 = -7, -13, which leak to -0.7, -1.3; the second group of both is the same again;
	// windows of 2 with the padding behind: 5, 5 and -0.7, -1.3.
	if got, want := out[0].Float(0), 0.5+5+50-70-1300.; math.Abs(got-want) > 1e-3 {
		t.Errorf("%v instead of %v", got, want)
	}
}

// A head of one anchor and one class at one place.
func TestYolo(t *testing.T) {
	head := "[net]\nwidth=10\nheight=10\nchannels=6\n[maxpool]\nsize=20\nstride=20\npadding=10\n[yolo]\nclasses=1\nanchors=3,4, 5,8\nmask=1\nnum=2\nscale_x_y=2\n"
	m, err := Read([]byte(head), weightsWith())
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Of([]int{1, 6, 10, 10}, make([]float32, 600))
	values := []float64{0, 1, 0, math.Log(2), 0, 3}
	for i := range 600 {
		x.SetFloat(i, values[i/100])
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for i, want := range []float64{0.5, 2*sigmoid(1) - 0.5, 0.5, 2 * 0.8, 0.5, 0.5 * sigmoid(3)} {
		if got := out[0].Float(i); math.Abs(got-want) > 1e-6 {
			t.Errorf("element %d is %v instead of %v", i, got, want)
		}
	}
}

// YOLOv2's head has anchors in cells, and classes whose probabilities sum up to 1.
func TestRegion(t *testing.T) {
	head := "[net]\nwidth=2\nheight=1\nchannels=7\n[region]\nclasses=2\nanchors=3,4\nnum=1\ncoords=4\nsoftmax=1\nthresh=.6\n"
	m, err := Read([]byte(head), weightsWith())
	if err != nil {
		t.Fatal(err)
	}
	g, err := frontend.Import(m, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := tensor.Of([]int{1, 7, 1, 2}, make([]float32, 14))
	for i, v := range []float64{0, 0, math.Log(2), 0, 0, math.Log(3), 0} {
		x.SetFloat(2*i+1, v) // the second cell
	}
	out, err := grapheval.Eval(g, []*tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.5 / 2, 0.5, 2 * 3. / 2, 4, 0.5, 0.5 * 0.75, 0.5 * 0.25} {
		if got := out[0].Float(7 + i); math.Abs(got-want) > 1e-6 {
			t.Errorf("element %d is %v instead of %v", i, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"[maxpool]", "[maxpools]", "1 unsupported operator: maxpools"},
		{"layers=1", "layers=9", "line 14: layer 2 [route]: it reads layer 9"},
		{"layers=1", "layers=", "names no layers"},
		{"output=1", "output=2", "ends within its"},
		{"output=1", "output=1\n[connected]\noutput=1", "ends within its"},
		{"filters=2", "filters=1", "of which the layers take"},
		{"filters=2", "filters=2\nwave=3", `attribute "wave"`},
		{"filters=2", "filters=x", "filters of 1 x 1"},
		{"activation=leaky", "activation=odd", `"odd"`},
		{"width=2", "", "[net] gives no channels"},
		{"[route]", "[route", "line 12"},
		{"[net]", "[x]", "no section [net]"},
	} {
		m, err := Read([]byte(strings.Replace(small, c.old, c.new, 1)), smallWeights())
		if err == nil {
			_, err = frontend.Import(m, frontend.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	good := smallWeights()
	for n := range good {
		if _, err := Read([]byte(small), good[:n]); err == nil {
			t.Errorf("%d bytes of %d are enough", n, len(good))
		}
	}
}

// Without weights, values are made up: the same each time.
func TestMadeUp(t *testing.T) {
	var results [2]float64
	for i := range results {
		m, err := Read([]byte(small), nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := frontend.Import(m, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := grapheval.Eval(g, []*tensor.Tensor{tensor.Of([]int{1, 1, 1, 2}, []float32{3, 5})})
		if err != nil {
			t.Fatal(err)
		}
		results[i] = out[0].Float(0)
	}
	if results[0] != results[1] || results[0] == 0 || math.IsNaN(results[0]) {
		t.Errorf("%v", results)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small), smallWeights())
	f.Fuzz(func(t *testing.T, text, weights []byte) {
		if m, err := Read(text, weights); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}
