# Products of matrices, and what is made of them.
def linear(input, weight, bias=None): return lathe.plus(lathe.matmul(input, weight) if ndimension(weight) == 1 else lathe.dense(input, weight), bias)

def matmul(self, other):
  x, y = lathe.promoted(self, other)
  return lathe.matmul(x, y)
mm = bmm = mv = dot = inner = vdot = matmul

def mm(self, mat2): return self @ mat2
bmm = mm
def mv(self, vec): return self @ vec
def dot(self, tensor): return self @ tensor
def outer(self, vec2): return unsqueeze(self, 1) * vec2
ger = outer

class lathe:
  def added(self, product, beta: number, alpha: number): return lathe.plus(lathe.scaled(product, alpha), None if beta == 0 else lathe.scaled(self, beta))

def addmm(self, mat1, mat2, beta: number = 1, alpha: number = 1): return lathe.added(self, mat1 @ mat2, beta, alpha)
def addmv(self, mat, vec, beta: number = 1, alpha: number = 1): return lathe.added(self, mat @ vec, beta, alpha)
def baddbmm(self, batch1, batch2, beta: number = 1, alpha: number = 1): return lathe.added(self, batch1 @ batch2, beta, alpha)
def addbmm(self, batch1, batch2, beta: number = 1, alpha: number = 1): return lathe.added(self, sum(batch1 @ batch2, [0]), beta, alpha)
def bilinear(input1, input2, weight, bias=None): return lathe.plus(einsum("...i,oij,...j->...o", [input1, weight, input2]), bias)
def cdist(x1, x2, p: number = 2, compute_mode=None): return norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, [-1])

def chain_matmul(matrices: List[Tensor]):
  y = matrices[0]
  for x in matrices[1:]: y = y @ x
  return y
linalg_multi_dot = chain_matmul

def _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p: number = 0, is_causal: bool = False, return_debug_mask: bool = False, attn_mask=None, scale=None):
  return scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale=scale), None
_scaled_dot_product_flash_attention = _scaled_dot_product_flash_attention_for_cpu

class lathe:
  # Projects words [batch, words, width] to queries, keys and values with one weight, attends, and projects back.
  # A mask tells what is not looked at: words by words where its type is 0, words of each batch where it is 1.
  def self_attention(x, heads: int, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, mask_type=None):
    batch, words, width = size(x)
    qkv = reshape(linear(x, qkv_weight, qkv_bias), [batch, words, 3, heads, width // heads])
    q, k, v = unbind(permute(qkv, [2, 0, 3, 1, 4]))
    keep = None
    if mask is not None:
      keep = logical_not(lathe.truth(mask))
      if mask_type == 1: keep = reshape(keep, [batch, 1, 1, words])
      elif mask_type == 0: keep = reshape(keep, [1, 1, words, words])
      else: lathe.refuse("a mask is not supported in this form")
    y = scaled_dot_product_attention(q, k, v, keep)
    return linear(reshape(transpose(y, 1, 2), [batch, words, width]), proj_weight, proj_bias)

def _native_multi_head_attention(query, key, value, embed_dim: int, num_head: int, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, need_weights: bool = True, average_attn_weights: bool = True, mask_type=None):
  if query is not key: lathe.refuse("attention to other words is not supported in this form")
  return lathe.self_attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type), None

def _transformer_encoder_layer_fwd(src, embed_dim: int, num_heads: int, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu: bool, norm_first: bool, eps: number,
    norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None):
  x = src
  y = layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps) if norm_first else x
  x = x + lathe.self_attention(y, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type)
  if not norm_first: x = layer_norm(x, [embed_dim], norm_weight_1, norm_bias_1, eps)
  y = layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps) if norm_first else x
  h = linear(y, ffn_weight_1, ffn_bias_1)
  x = x + linear(gelu(h) if use_gelu else relu(h), ffn_weight_2, ffn_bias_2)
  return x if norm_first else layer_norm(x, [embed_dim], norm_weight_2, norm_bias_2, eps)

# One step of a recurrent layer.
def lstm_cell(input, hx: List[Tensor], w_ih, w_hh, b_ih=None, b_hh=None):
  h, c = hx
  i, f, n, o = chunk(linear(input, w_ih, b_ih) + linear(h, w_hh, b_hh), 4, -1)
  c = sigmoid(f) * c + sigmoid(i) * tanh(n)
  return sigmoid(o) * tanh(c), c

def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
  x = chunk(linear(input, w_ih, b_ih), 3, -1)
  h = chunk(linear(hx, w_hh, b_hh), 3, -1)
  r = sigmoid(x[0] + h[0])
  z = sigmoid(x[1] + h[1])
  return (1 - z) * tanh(x[2] + r * h[2]) + z * hx

def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None): return tanh(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None): return relu(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))
