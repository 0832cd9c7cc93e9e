# Quantised operators that compute with real numbers.
class lathe:
  def requantized(x, scale: number, zero: int, q): return quantize_per_tensor(x, scale, zero, dtype(q))

class quantized:
  def add(qa, qb, scale: number, zero_point: int): return lathe.requantized(dequantize(qa) + dequantize(qb), scale, zero_point, qa)
  def add_relu(qa, qb, scale: number, zero_point: int): return lathe.requantized(relu(dequantize(qa) + dequantize(qb)), scale, zero_point, qa)
  def mul(qa, qb, scale: number, zero_point: int): return lathe.requantized(dequantize(qa) * dequantize(qb), scale, zero_point, qa)
  def mul_relu(qa, qb, scale: number, zero_point: int): return lathe.requantized(relu(dequantize(qa) * dequantize(qb)), scale, zero_point, qa)
  add_out = add
  mul_out = mul
  def cat(tensors: List[Tensor], dim: int, scale: number = None, zero_point: int = None):
    q = tensors[0]
    return lathe.requantized(torch.cat(dequantize(tensors), dim), q_scale(q) if scale is None else scale, q_zero_point(q) if zero_point is None else zero_point, q)
  def cat_relu(tensors: List[Tensor], dim: int, scale: number = None, zero_point: int = None):
    q = tensors[0]
    return lathe.requantized(relu(torch.cat(dequantize(tensors), dim)), q_scale(q) if scale is None else scale, q_zero_point(q) if zero_point is None else zero_point, q)
  def batch_norm(qx, weight, bias, mean, var, eps: number, output_scale: number, output_zero_point: int):
    return lathe.requantized(torch.batch_norm(dequantize(qx), weight, bias, mean, var, False, 0.1, eps), output_scale, output_zero_point, qx)
  batch_norm1d = batch_norm2d = batch_norm3d = batch_norm
  def batch_norm_relu(qx, weight, bias, mean, var, eps: number, output_scale: number, output_zero_point: int):
    return lathe.requantized(relu(torch.batch_norm(dequantize(qx), weight, bias, mean, var, False, 0.1, eps)), output_scale, output_zero_point, qx)
  batch_norm1d_relu = batch_norm2d_relu = batch_norm3d_relu = batch_norm_relu
  def hardswish(qx, output_scale: number, output_zero_point: int): return lathe.requantized(torch.hardswish(dequantize(qx)), output_scale, output_zero_point, qx)
  def sigmoid(qx, output_scale: number, output_zero_point: int): return lathe.requantized(torch.sigmoid(dequantize(qx)), output_scale, output_zero_point, qx)
  def leaky_relu(qx, negative_slope: number, inplace: bool, output_scale: number, output_zero_point: int): return lathe.requantized(torch.leaky_relu(dequantize(qx), negative_slope), output_scale, output_zero_point, qx)
  def elu(qx, output_scale: number, output_zero_point: int, alpha: number = 1): return lathe.requantized(torch.elu(dequantize(qx), alpha), output_scale, output_zero_point, qx)
  def celu(qx, output_scale: number, output_zero_point: int, alpha: number = 1): return lathe.requantized(torch.celu(dequantize(qx), alpha), output_scale, output_zero_point, qx)
  def softmax(qx, dim: int, output_scale: number, output_zero_point: int): return lathe.requantized(torch.softmax(dequantize(qx), dim), output_scale, output_zero_point, qx)
  def prelu(qx, weight, output_scale: number, output_zero_point: int): return lathe.requantized(torch.prelu(dequantize(qx), weight), output_scale, output_zero_point, qx)
  def layer_norm(qx, normalized_shape: List[int], weight, bias, eps: number, output_scale: number, output_zero_point: int):
    return lathe.requantized(torch.layer_norm(dequantize(qx), normalized_shape, weight, bias, eps), output_scale, output_zero_point, qx)
  def instance_norm(qx, weight, bias, eps: number, output_scale: number, output_zero_point: int):
    return lathe.requantized(torch.instance_norm(dequantize(qx), weight, bias, None, None, True, 0.1, eps), output_scale, output_zero_point, qx)
  def matmul(qa, qb, output_scale: number, output_zero_point: int): return lathe.requantized(dequantize(qa) @ dequantize(qb), output_scale, output_zero_point, qa)
  def relu(self): return lathe.requantized(torch.relu(dequantize(self)), q_scale(self), q_zero_point(self), self)
  def relu6(self): return lathe.requantized(torch.relu6(dequantize(self)), q_scale(self), q_zero_point(self), self)

# The numbers that integers of a range stand for.
def fake_quantize_per_tensor_affine(self, scale, zero_point, quant_min: int, quant_max: int):
  y = clamp(round(self * reciprocal(scale)) + zero_point, quant_min, quant_max)
  return (y - zero_point) * scale

def fake_quantize_per_channel_affine(self, scale, zero_point, axis: int, quant_min: int, quant_max: int):
  shape = [1] * ndimension(self)
  shape[axis] = -1
  return fake_quantize_per_tensor_affine(self, reshape(scale, shape), reshape(zero_point, shape), quant_min, quant_max)
