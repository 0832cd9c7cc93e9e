package torch

import (
	"archive/zip"
	"slices"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	hosttensor "lathe/internal/tensor"
)

// TestLoops: a long loop that carries tensors is a loop of the graph; one that carries numbers, grows lists or changes what lies outside of it is
// run one iteration after the other. Both compute the same.
func TestLoops(t *testing.T) {
	for _, c := range []struct {
		body   string
		region bool
		want   []float64
	}{
		{"y = torch.zeros([2])\nfor i in range(40):\n  y = torch.add(torch.mul(y, 0.5), x)\nreturn y", true, []float64{2, 4}},
		{"y = x\nz = x\nfor i in range(6):\n  y, z = torch.add(y, torch.select(self.w, 0, i)), y\nreturn torch.sub(y, z)", true, []float64{6, 6}},
		{"y = x\nfor i in range(3):\n  y = torch.add(y, x)\nreturn y", false, []float64{4, 8}},
		{"y = x\nn = 0\nfor i in range(6):\n  y = torch.add(y, x)\n  n = torch.add(n, i)\nreturn torch.mul(y, n)", false, []float64{105, 210}},
		{"l = annotate(List[Tensor], [])\nfor i in range(6):\n  _0 = torch.append(l, torch.mul(x, i))\nreturn torch.select(torch.stack(l), 0, 5)", false, []float64{5, 10}},
		{"y = torch.clone(x)\nfor i in range(6):\n  _0 = torch.add_(y, x)\nreturn y", false, []float64{7, 14}},
		{"y = torch.zeros([6])\nz = x\nfor i in range(6):\n  z = torch.add(z, x)\n  _0 = torch.copy_(torch.select(y, 0, i), torch.select(z, 0, 0))\nreturn torch.slice(y, 0, 2, 4)", false, []float64{4, 5}},
		{"y = torch.clone(x)\nv = torch.view(y, [2, 1])\n_0 = torch.add_(y, x)\nz = x\nfor i in range(6):\n  z = torch.add(z, torch.view(v, [2]))\nreturn torch.add(z, torch.view(v, [2]))", true, []float64{15, 30}},
		{"y = x\nfor i in range(6):\n  for j in range(7):\n    y = torch.add(y, x)\nreturn y", true, []float64{43, 86}},
	} {
		w := floats([]float32{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}, 6, 2)
		data := zipped(t, scriptMembers(module(c.body, "x: Tensor", "Tensor"), map[string]any{"training": false, "w": w}), zip.Store)
		m, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		g, err := frontend.Import(m, frontend.Options{Shapes: map[string][]int{"x": {2}}})
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if region := slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.IsRegion() }); region != c.region {
			t.Errorf("%s: a loop of the graph: %v, want %v", c.body, region, c.region)
		}
		out, err := imported(data, frontend.Options{}, floats([]float32{1, 2}, 2))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		for i, want := range c.want {
			if got := float64(hosttensor.As[float32](out[0])[i]); got < want-1e-5 || got > want+1e-5 {
				t.Errorf("%s: element %d is %v, want %v", c.body, i, got, want)
			}
		}
	}
}
