package torch

import (
	"archive/zip"
	"fmt"
	"math"
	"slices"
	"testing"

	"lathe/internal/frontend"
)

// TestRows runs lines of code on x = [[1, -2, 3], [4, 5, -6]]; what they give was worked out by PyTorch's documentation.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		body  string
		shape []int
		want  []float64
	}{
		// Views, and what is written through them.
		{"y = torch.clone(x)\n_0 = torch.add_(torch.select(y, 0, 1), 10)\nreturn y", []int{2, 3}, []float64{1, -2, 3, 14, 15, 4}},
		{"y = torch.clone(x)\n_0 = torch.fill_(torch.slice(y, 1, 0, 9223372036854775807, 2), 7)\nreturn y", []int{2, 3}, []float64{7, -2, 7, 7, 5, 7}},
		{"y = torch.clone(x)\nv = torch.view(y, [3, 2])\n_0 = torch.zero_(torch.select(torch.t(v), 0, 0))\nreturn y", []int{2, 3}, []float64{0, -2, 0, 4, 0, -6}},
		{"y = torch.clone(x)\nv = torch.select(y, 0, 0)\n_0 = torch.mul_(y, 2)\nreturn v", []int{3}, []float64{2, -4, 6}},
		{"y = torch.clone(x)\n_0 = torch.zero_(torch.view(torch.unsqueeze(torch.t(y), 0), [3, 2]))\nreturn y", []int{2, 3}, []float64{0, 0, 0, 0, 0, 0}},
		{"y = torch.clone(x)\n_, i, = torch.max(x, 1)\n_0 = torch.fill_(torch.select(y, 1, int(torch.select(i, 0, 0))), 9)\nreturn y", []int{2, 3}, []float64{1, -2, 9, 4, 5, 9}},
		{"y = torch.contiguous(torch.t(x))\n_0 = torch.zero_(y)\nreturn x", []int{2, 3}, []float64{1, -2, 3, 4, 5, -6}},
		{"return torch.relu_(torch.clone(x))", []int{2, 3}, []float64{1, 0, 3, 4, 5, 0}},
		{"a, b, = torch.unbind(x, 0)\nreturn torch.sub(b, a, alpha=2)", []int{3}, []float64{2, 9, -12}},
		{"return torch.flatten(torch.permute(x, [1, 0]))", []int{6}, []float64{1, 4, -2, 5, 3, -6}},
		{"return torch.narrow(x, 1, -2, 2)", []int{2, 2}, []float64{-2, 3, 5, -6}},
		{"return (torch.chunk(x, 2, 1))[1]", []int{2, 1}, []float64{3, -6}},
		{"return torch.expand(torch.unsqueeze(torch.select(x, 1, 0), -1), [-1, 2])", []int{2, 2}, []float64{1, 1, 4, 4}},
		{"return torch.squeeze(torch.unsqueeze(x, 0))", []int{2, 3}, []float64{1, -2, 3, 4, 5, -6}},
		{"return torch.movedim(torch.unsqueeze(x, 0), [2], [0])", []int{3, 1, 2}, []float64{1, 4, -2, 5, 3, -6}},
		{"return torch.unfold(torch.select(x, 0, 0), 0, 2, 1)", []int{2, 2}, []float64{1, -2, -2, 3}},
		{"return torch.diagonal(x)", []int{2}, []float64{1, 5}},
		// Moves.
		{"return torch.cat([x, x], -1)", []int{2, 6}, []float64{1, -2, 3, 1, -2, 3, 4, 5, -6, 4, 5, -6}},
		{"return torch.stack([x, x], 2)", []int{2, 3, 2}, []float64{1, 1, -2, -2, 3, 3, 4, 4, 5, 5, -6, -6}},
		{"return torch.roll(x, [1], [1])", []int{2, 3}, []float64{3, 1, -2, -6, 4, 5}},
		{"return torch.rot90(x, 1, [0, 1])", []int{3, 2}, []float64{3, -6, -2, 5, 1, 4}},
		{"return torch.flip(x, [0])", []int{2, 3}, []float64{4, 5, -6, 1, -2, 3}},
		{"return torch.constant_pad_nd(x, [1, 0], 9.)", []int{2, 4}, []float64{9, 1, -2, 3, 9, 4, 5, -6}},
		{"return torch.repeat(x, [1, 2, 1])", []int{1, 4, 3}, []float64{1, -2, 3, 4, 5, -6, 1, -2, 3, 4, 5, -6}},
		{"return torch.repeat_interleave(x, 2, 1)", []int{2, 6}, []float64{1, 1, -2, -2, 3, 3, 4, 4, 5, 5, -6, -6}},
		{"return torch.tril(x)", []int{2, 3}, []float64{1, 0, 0, 4, 5, 0}},
		{"return torch.pixel_shuffle(torch.view(torch.slice(torch.flatten(x), 0, 0, 4), [1, 4, 1, 1]), 2)", []int{1, 1, 2, 2}, []float64{1, -2, 3, 4}},
		// Arithmetic and types.
		{"return torch.div(x, 2)", []int{2, 3}, []float64{.5, -1, 1.5, 2, 2.5, -3}},
		{"return torch.floor_divide(x, 2)", []int{2, 3}, []float64{0, -1, 1, 2, 2, -3}},
		{"return torch.floor_divide(x, 4)", []int{2, 3}, []float64{0, -1, 0, 1, 1, -2}},
		{"return torch.div(x, 4, rounding_mode=\"trunc\")", []int{2, 3}, []float64{0, 0, 0, 1, 1, -1}},
		{"return torch.remainder(x, 4)", []int{2, 3}, []float64{1, 2, 3, 0, 1, 2}},
		{"return torch.pow(x, 2)", []int{2, 3}, []float64{1, 4, 9, 16, 25, 36}},
		{"return torch.rsub(x, 1)", []int{2, 3}, []float64{0, 3, -2, -3, -4, 7}},
		{"return torch.clamp(x, -1, 4)", []int{2, 3}, []float64{1, -1, 3, 4, 4, -1}},
		{"return torch.where(torch.gt(x, 0), x, torch.zeros_like(x))", []int{2, 3}, []float64{1, 0, 3, 4, 5, 0}},
		{"return torch.masked_fill(x, torch.lt(x, 0), 8)", []int{2, 3}, []float64{1, 8, 3, 4, 5, 8}},
		{"return torch.to(torch.div(torch.to(x, 4), 2), 6)", []int{2, 3}, []float64{.5, -1, 1.5, 2, 2.5, -3}},
		{"return torch.add(torch.to(torch.gt(x, 0), 4), 1)", []int{2, 3}, []float64{2, 1, 2, 2, 2, 1}},
		{"return torch.add(x, torch.mul(torch.tensor(2), 0.5))", []int{2, 3}, []float64{2, -1, 4, 5, 6, -5}},
		{"return torch.addcmul(x, x, x, value=2)", []int{2, 3}, []float64{3, 6, 21, 36, 55, 66}},
		{"o = torch.cat([torch.zeros([1, 1, 2, 3]), torch.ones([1, 1, 2, 3])], 1)\nw = torch.full([1, 1, 1, 1], 2.)\nreturn ops.torchvision.deform_conv2d(torch.view(x, [1, 1, 2, 3]), w, o, w, torch.zeros([1]), 1, 1, 0, 0, 1, 1, 1, 1, False)",
			[]int{1, 1, 2, 3}, []float64{-4, 6, 0, 10, -12, 0}},
		{"return torch.adaptive_avg_pool2d(torch.view(x, [1, 1, 2, 3]), [1, None])", []int{1, 1, 1, 3}, []float64{2.5, 1.5, -1.5}},
		{"return torch.round(torch.to(x, 4))", []int{2, 3}, []float64{1, -2, 3, 4, 5, -6}},
		{"return torch.mul(x, torch.round(2.5))", []int{2, 3}, []float64{2, -4, 6, 8, 10, -12}},
		// Activations.
		{"return torch.leaky_relu(x, 0.5)", []int{2, 3}, []float64{1, -1, 3, 4, 5, -3}},
		{"return torch.hardsigmoid(x)", []int{2, 3}, []float64{4. / 6, 1. / 6, 1, 1, 1, 0}},
		{"return torch.hardtanh(x, -1., 2.)", []int{2, 3}, []float64{1, -1, 2, 2, 2, -1}},
		{"return torch.threshold(x, 2., 9.)", []int{2, 3}, []float64{9, 9, 3, 4, 5, 9}},
		{"return torch.glu(torch.view(x, [3, 2]), -1)", []int{3, 1}, []float64{1 / (1 + math.Exp(2)), 3 / (1 + math.Exp(-4)), 5 / (1 + math.Exp(6))}},
		{"return torch.softmax(torch.mul(x, 0), 1)", []int{2, 3}, []float64{1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3}},
		{"return torch.elu(torch.select(torch.select(x, 0, 0), 0, 1))", []int{}, []float64{math.Exp(-2) - 1}},
		{"return torch.softplus(torch.mul(x, 0))", []int{2, 3}, []float64{math.Ln2, math.Ln2, math.Ln2, math.Ln2, math.Ln2, math.Ln2}},
		// Reductions.
		{"return torch.mean(x, [1])", []int{2}, []float64{2. / 3, 1}},
		{"return torch.sum(x, [0], True)", []int{1, 3}, []float64{5, 3, -3}},
		{"return torch.std(x, [1])", []int{2}, []float64{math.Sqrt(19. / 3), math.Sqrt(37)}},
		{"return torch.var(x, [1], False)", []int{2}, []float64{38. / 9, 74. / 3}},
		{"return (torch.max(x, 1))[0]", []int{2}, []float64{3, 5}},
		{"a, b, = torch.min(x, 1, True)\nreturn b", []int{2, 1}, []float64{1, 2}},
		{"return torch.argmax(x)", []int{}, []float64{4}},
		{"return torch.norm(x, 1, [1])", []int{2}, []float64{6, 15}},
		{"return torch.linalg_vector_norm(x, inf, [0])", []int{3}, []float64{4, 5, 6}},
		{"return torch.cumsum(x, 1)", []int{2, 3}, []float64{1, -1, 2, 4, 9, 3}},
		{"return torch.logsumexp(torch.mul(x, 0), [1])", []int{2}, []float64{math.Log(3), math.Log(3)}},
		{"return (torch.topk(x, 2, 1))[0]", []int{2, 2}, []float64{3, 1, 5, 4}},
		{"return (torch.sort(x, 1, True))[1]", []int{2, 3}, []float64{2, 0, 1, 1, 0, 2}},
		{"return (torch.median(x, 1))[0]", []int{2}, []float64{1, 4}},
		{"return torch.any(torch.gt(x, 4), 1)", []int{2}, []float64{0, 1}},
		// Indices.
		{"return torch.index(x, [None, torch.tensor([2, 0])])", []int{2, 2}, []float64{3, 1, -6, 4}},
		{"return torch.index(x, [torch.tensor([0, 1, -1]), torch.tensor([2, 0, 1])])", []int{3}, []float64{3, 4, 5}},
		{"return torch.index(torch.unsqueeze(x, 0), [None, torch.tensor([1]), torch.tensor([2])])", []int{1, 1}, []float64{-6}},
		{"return torch.index_select(x, 1, torch.tensor([1]))", []int{2, 1}, []float64{-2, 5}},
		{"return torch.gather(x, 1, torch.tensor([[2], [0]]))", []int{2, 1}, []float64{3, 4}},
		{"return torch.scatter(x, 1, torch.tensor([[2], [0]]), 9)", []int{2, 3}, []float64{1, -2, 9, 9, 5, -6}},
		{"return torch.scatter_add(x, 1, torch.tensor([[2], [0]]), x)", []int{2, 3}, []float64{1, -2, 4, 8, 5, -6}},
		{"y = torch.clone(x)\n_0 = torch.index_put_(y, [torch.tensor([1, 0])], torch.tensor([[1., 2., 3.], [4., 5., 6.]]))\nreturn y", []int{2, 3}, []float64{4, 5, 6, 1, 2, 3}},
		{"y = torch.clone(x)\n_0 = torch.index_put_(y, [torch.lt(y, 0)], torch.tensor(0.))\nreturn y", []int{2, 3}, []float64{1, 0, 3, 4, 5, 0}},
		{"return torch.embedding(x, torch.tensor([1, 0]))", []int{2, 3}, []float64{4, 5, -6, 1, -2, 3}},
		{"return torch.index_add(x, 0, torch.tensor([0]), torch.slice(x, 0, 1))", []int{2, 3}, []float64{5, 3, -3, 4, 5, -6}},
		{"return torch.bucketize(x, torch.tensor([0., 3., 4.]))", []int{2, 3}, []float64{1, 0, 1, 2, 3, 0}},
		{"return torch.one_hot(torch.tensor([1, 0]), 2)", []int{2, 2}, []float64{0, 1, 1, 0}},
		// New tensors.
		{"return torch.arange(1, 7, 2, dtype=6)", []int{3}, []float64{1, 3, 5}},
		{"return torch.linspace(0., 1., 3)", []int{3}, []float64{0, .5, 1}},
		{"return torch.full_like(x, 2, dtype=4)", []int{2, 3}, []float64{2, 2, 2, 2, 2, 2}},
		{"a, b, = torch.meshgrid([torch.arange(2), torch.arange(3)])\nreturn torch.add(torch.mul(a, 3), b)", []int{2, 3}, []float64{0, 1, 2, 3, 4, 5}},
		{"a, b, = torch.meshgrid([torch.arange(2), torch.arange(3)], indexing=\"xy\")\nreturn torch.add(torch.mul(b, 2), a)", []int{3, 2}, []float64{0, 1, 2, 3, 4, 5}},
		{"return torch.eye(2, 3)", []int{2, 3}, []float64{1, 0, 0, 0, 1, 0}},
		// Products.
		{"return torch.matmul(x, torch.t(x))", []int{2, 2}, []float64{14, -24, -24, 77}},
		{"return torch.einsum(\"ij,ij->i\", [x, x])", []int{2}, []float64{14, 77}},
		{"return torch.addmm(torch.ones([2, 2]), x, torch.t(x), beta=2., alpha=0.5)", []int{2, 2}, []float64{9, -10, -10, 40.5}},
		{"return torch.tensordot(x, x, [0, 1], [0, 1])", []int{}, []float64{91}},
		{"return torch.linear(x, x, torch.tensor([1., 2.]))", []int{2, 2}, []float64{15, -22, -23, 79}},
		// Pools and resampling of one row.
		{"return torch.max_pool1d(x, [2], [1])", []int{2, 2}, []float64{1, 3, 5, 5}},
		{"return torch.avg_pool1d(torch.unsqueeze(x, 0), [2], [1], [1])", []int{1, 2, 4}, []float64{.5, -.5, .5, 1.5, 2, 4.5, -.5, -3}},
		{"return torch.adaptive_avg_pool1d(torch.unsqueeze(x, 0), [2])", []int{1, 2, 2}, []float64{-.5, .5, 4.5, -.5}},
		{"return torch.upsample_nearest1d(torch.unsqueeze(x, 0), [6])", []int{1, 2, 6}, []float64{1, 1, -2, -2, 3, 3, 4, 4, 5, 5, -6, -6}},
		{"return torch.upsample_linear1d(torch.unsqueeze(x, 0), [5], True)", []int{1, 2, 5}, []float64{1, -.5, -2, .5, 3, 4, 4.5, 5, -.5, -6}},
		{"return torch.reflection_pad1d(torch.unsqueeze(x, 0), [1, 1])", []int{1, 2, 5}, []float64{-2, 1, -2, 3, -2, 5, 4, 5, -6, 5}},
		{"return torch._upsample_bilinear2d_aa(torch.view(x, [1, 1, 2, 3]), [2, 2], False)", []int{1, 1, 2, 2}, []float64{-.125, 1.125, 4.375, -1.875}},
		// Norms.
		{"return torch.layer_norm(torch.slice(x, 1, 0, 2), [2], None, None, 0.)", []int{2, 2}, []float64{1, -1, -1, 1}},
		{"return torch.batch_norm(x, None, None, torch.tensor([1., 0., 0.]), torch.tensor([4., 1., 1.]), False, 0.1, 0., True)", []int{2, 3}, []float64{0, -2, 3, 1.5, 5, -6}},
		{"return torch.group_norm(torch.unsqueeze(torch.slice(x, 1, 0, 2), 2), 1, None, None, 0.)", []int{2, 2, 1}, []float64{1, -1, -1, 1}},
		// Control flow, numbers and lists.
		{"n = 0\nfor i in range(torch.size(x, 1)):\n  n = torch.add(n, i)\nreturn torch.mul(x, n)", []int{2, 3}, []float64{3, -6, 9, 12, 15, -18}},
		{"i = 0\n_0 = True\nwhile _0:\n  i = torch.add(i, 1)\n  _0 = torch.lt(i, 4)\nreturn torch.add(torch.mul(x, 0), i)", []int{2, 3}, []float64{4, 4, 4, 4, 4, 4}},
		{"l = annotate(List[Tensor], [])\nfor i in range(2):\n  _0 = torch.append(l, torch.mul(x, i))\nreturn torch.cat(l)", []int{4, 3}, []float64{0, 0, 0, 0, 0, 0, 1, -2, 3, 4, 5, -6}},
		{"d = {\"a\": x}\nd[\"b\"] = torch.neg(x)\nif torch.__contains__(d, \"b\"):\n  y = d[\"b\"]\nelse:\n  y = x\nreturn y", []int{2, 3}, []float64{-1, 2, -3, -4, -5, 6}},
		{"s = torch.size(x)\nb, c, = s\nreturn torch.view(x, [torch.mul(b, c), -1])", []int{6, 1}, []float64{1, -2, 3, 4, 5, -6}},
		{"n = ops.prim.NumToTensor(torch.size(x, 1))\nreturn torch.reshape(x, [int(n), int(torch.floor_divide(n, torch.tensor(1))) if False else 2])", []int{3, 2}, []float64{1, -2, 3, 4, 5, -6}},
		{"if bool(torch.gt(torch.sum(x), 0)):\n  y = torch.neg(x)\nelse:\n  y = x\nreturn y", []int{2, 3}, []float64{-1, 2, -3, -4, -5, 6}},
		{"y = x\nwhile bool(torch.lt(torch.sum(y), 40)):\n  y = torch.mul(y, 2)\nreturn y", []int{2, 3}, []float64{8, -16, 24, 32, 40, -48}},
		{"if torch.gt(torch.max(x), 100):\n  ops.prim.RaiseException(\"too much\")\nelse:\n  pass\nreturn x", []int{2, 3}, []float64{1, -2, 3, 4, 5, -6}},
		{"return x + 2 * x - x ** 2 if not False else x", []int{2, 3}, []float64{2, -10, 0, -4, -10, -54}},
		{"n = torch.size((torch.where(torch.gt(x, 2)))[0], 0)\nreturn torch.mul(x, n)", []int{2, 3}, []float64{3, -6, 9, 12, 15, -18}},
		{"s = str(ops.prim.device(x))\ny = x\nif torch.ne(torch.find(s, \"pu\", 0, torch.len(s)), -1):\n  y = torch.neg(x)\nelse:\n  pass\nreturn y", []int{2, 3}, []float64{-1, 2, -3, -4, -5, 6}},
		{"y = x\nif torch.all([True, torch.eq(torch.dim(x), 2)]):\n  y = torch.mul(x, annotate(float, torch.tensor(2.)))\nelse:\n  pass\nreturn y", []int{2, 3}, []float64{2, -4, 6, 8, 10, -12}},
		{"return torch.mul(x, torch.sum([1, torch.size(x, 1)]))", []int{2, 3}, []float64{4, -8, 12, 16, 20, -24}},
		{"return torch.arange(annotate(number, ops.prim.NumToTensor(torch.size(x, 1))), dtype=None, layout=None, device=torch.device(\"cpu\"), pin_memory=False)", []int{3}, []float64{0, 1, 2}},
		// Quantised.
		{"q = torch.quantize_per_tensor(x, 0.5, 10, 13)\nreturn torch.dequantize(torch.relu(q))", []int{2, 3}, []float64{1, 0, 3, 4, 5, 0}},
		{"q = torch.quantize_per_tensor(x, 0.5, 10, 13)\nreturn torch.int_repr(ops.quantized.add(q, q, 1., 20))", []int{2, 3}, []float64{22, 16, 26, 28, 30, 10}},
		{"q = torch.quantize_per_tensor(x, 0.5, 10, 13)\nreturn torch.int_repr(torch.t(q))", []int{3, 2}, []float64{12, 18, 6, 20, 16, 0}},
		{"q = torch.quantize_per_tensor(x, torch.tensor(0.5), torch.tensor(10), 13)\nreturn torch.int_repr(q)", []int{2, 3}, []float64{12, 6, 16, 18, 20, 0}},
		// Decompositions: overloads, other names, and namespaces.
		{"return torch.glu(torch.cat([x, torch.zeros_like(x)], 1))", []int{2, 3}, []float64{.5, -1, 1.5, 2, 2.5, -3}},
		{"return torch.special_softmax(torch.mul(x, 0), 1)", []int{2, 3}, []float64{1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3, 1. / 3}},
		{"return torch.softplus(x, 2., 3.)", []int{2, 3}, []float64{math.Log1p(math.Exp(2)) / 2, math.Log1p(math.Exp(-4)) / 2, 3, 4, 5, math.Log1p(math.Exp(-12)) / 2}},
		{"return torch.mse_loss(x, torch.zeros_like(x), 2)", []int{}, []float64{91}},
		{"return torch.std(x, False)", []int{}, []float64{math.Sqrt(91./6 - 25./36)}},
		{"return torch.std(x, [0], correction=0, keepdim=True)", []int{1, 3}, []float64{1.5, 3.5, 4.5}},
		{"a, b, = torch.var_mean(x, [1])\nreturn b", []int{2}, []float64{2. / 3, 1}},
		{"return torch.norm(x, \"fro\", [1], True)", []int{2, 1}, []float64{math.Sqrt(14), math.Sqrt(77)}},
		{"return torch.nanmean(torch.where(torch.gt(x, 4), torch.full_like(x, nan), x))", []int{}, []float64{0}},
		{"return torch.argmin(x, 0, True)", []int{1, 3}, []float64{0, 0, 1}},
		{"return torch.trace(x)", []int{}, []float64{6}},
		{"return torch.rot90(x, -1, [0, 1])", []int{3, 2}, []float64{4, 1, 5, -2, -6, 3}},
		{"return (torch.tensor_split(x, 2, 1))[1]", []int{2, 1}, []float64{3, -6}},
		{"return torch.hstack([torch.tensor([1]), torch.tensor([2, 3])])", []int{3}, []float64{1, 2, 3}},
		{"return torch.slice_scatter(x, torch.ones([2, 1]), 1, 1, 2)", []int{2, 3}, []float64{1, 1, 3, 4, 1, -6}},
		{"return torch.channel_shuffle(torch.view(x, [1, 6, 1]), 2)", []int{1, 6, 1}, []float64{1, 4, -2, 5, 3, -6}},
		{"return torch.cdist(x, torch.zeros([1, 3]), 1.)", []int{2, 1}, []float64{6, 15}},
		{"return torch.linalg_multi_dot([x, torch.t(x), torch.ones([2, 1])])", []int{2, 1}, []float64{-10, 53}},
		{"return (torch.lstm_cell(x, [torch.zeros([2, 1]), torch.ones([2, 1])], torch.zeros([4, 3]), torch.zeros([4, 1])))[1]", []int{2, 1}, []float64{.5, .5}},
		{"return torch.gru_cell(x, torch.ones([2, 1]), torch.zeros([3, 3]), torch.zeros([3, 1]))", []int{2, 1}, []float64{.5, .5}},
		{"return (torch.embedding_bag(x, torch.tensor([0, 1, 1]), torch.tensor([0, 1]), False, 0))[0]", []int{2, 3}, []float64{1, -2, 3, 8, 10, -12}},
		{"return torch.local_response_norm(torch.view(x, [1, 6, 1]), 1, 1., 1., 0.)", []int{1, 6, 1}, []float64{1, -.5, 1. / 3, .25, .2, -1. / 6}},
		{"return torch._weight_norm(x, torch.ones([2, 1]), 0)", []int{2, 3}, []float64{1 / math.Sqrt(14), -2 / math.Sqrt(14), 3 / math.Sqrt(14), 4 / math.Sqrt(77), 5 / math.Sqrt(77), -6 / math.Sqrt(77)}},
		{"q = torch.quantize_per_tensor(x, 0.5, 10, 13)\nreturn torch.int_repr(ops.quantized.add_out(q, q, 1., 20))", []int{2, 3}, []float64{22, 16, 26, 28, 30, 10}},
		{"q = torch.quantize_per_tensor(x, 0.5, 10, 13)\nreturn torch.int_repr(ops.quantized.relu6(q))", []int{2, 3}, []float64{12, 10, 16, 18, 20, 10}},
		{"return torch.diff(x)", []int{2, 2}, []float64{-3, 5, 1, -11}},
		{"return torch.cross(x, torch.flip(x, [1]))", []int{2, 3}, []float64{-2*1 - 3*-2, 3*3 - 1*1, 1*-2 - -2*3, 5*4 - -6*5, -6*-6 - 4*4, 4*5 - 5*-6}},
		{"return torch.heaviside(x, x)", []int{2, 3}, []float64{1, 0, 1, 1, 1, 0}},
		{"return torch.column_stack([torch.select(x, 0, 0), torch.select(x, 0, 1)])", []int{3, 2}, []float64{1, 4, -2, 5, 3, -6}},
		{"return torch.binary_cross_entropy_with_logits(x, torch.ones_like(x), None, None, 0)", []int{2, 3}, []float64{math.Log1p(math.Exp(-1)), math.Log1p(math.Exp(2)), math.Log1p(math.Exp(-3)), math.Log1p(math.Exp(-4)), math.Log1p(math.Exp(-5)), math.Log1p(math.Exp(6))}},
		// Signals: the spectrum of a constant.
		{"return torch.abs(torch.stft(torch.ones([8]), 4, 2, 4, None, False, True, True))", []int{3, 3}, []float64{4, 4, 4, 0, 0, 0, 0, 0, 0}},
		{"return torch.view_as_real(torch.fft_rfft(torch.ones([4])))", []int{3, 2}, []float64{4, 0, 0, 0, 0, 0}},
	} {
		t.Run(c.body, func(t *testing.T) {
			x := floats([]float32{1, -2, 3, 4, 5, -6}, 2, 3)
			data := zipped(t, scriptMembers(module(c.body, "x: Tensor", "Tensor"), map[string]any{"training": false}), zip.Store)
			out, err := imported(data, frontend.Options{}, x)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out[0].Shape, c.shape) {
				t.Fatalf("shape %v, want %v", out[0].Shape, c.shape)
			}
			for i, want := range c.want {
				if got := out[0].Float(i); !(math.Abs(got-want) <= 1e-5*max(1, math.Abs(want))) {
					t.Fatalf("element %d is %v, want %v (%s)", i, got, want, fmt.Sprint(c.want))
				}
			}
		})
	}
}
