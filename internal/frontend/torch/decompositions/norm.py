# Norms, and distances along axes.
def native_batch_norm(input, weight, bias, running_mean, running_var, training: bool, momentum, eps: number):
  return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps), zeros([0]), zeros([0])
_native_batch_norm_legit = cudnn_batch_norm = native_batch_norm

def _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps: number):
  return batch_norm(input, weight, bias, running_mean, running_var, False, momentum, eps), zeros([0]), zeros([0])

def native_group_norm(input, weight, bias, N: int, C: int, HxW: int, group: int, eps: number): return group_norm(input, group, weight, bias, eps), zeros([0]), zeros([0])
def native_layer_norm(input, normalized_shape: List[int], weight, bias, eps: number): return layer_norm(input, normalized_shape, weight, bias, eps), zeros([0]), zeros([0])

def rms_norm(input, normalized_shape: List[int], weight=None, eps=None):
  return relay.nn.rms_norm(input, weight, axis=ndimension(input) - len(normalized_shape), epsilon=1.1920928955078125e-07 if eps is None else eps)

def local_response_norm(input, size: int = 5, alpha: number = 0.0001, beta: number = 0.75, k: number = 1):
  return relay.nn.lrn(input, size=size, axis=1, alpha=alpha, beta=beta, bias=k)

def normalize(input, p: number = 2, dim: int = 1, eps: number = 1e-12): return input / clamp_min(norm(input, p, [dim], True), eps)
def pairwise_distance(x1, x2, p: number = 2, eps: number = 1e-06, keepdim: bool = False): return norm(x1 - x2 + eps, p, [-1], keepdim)

def cosine_similarity(x1, x2, dim: int = 1, eps: number = 1e-08):
  a = clamp_min(sqrt(sum(x1 * x1, [dim])), eps)
  b = clamp_min(sqrt(sum(x2 * x2, [dim])), eps)
  return sum(x1 * x2, [dim]) / (a * b)

def _weight_norm(v, g, dim: int = 0):
  others = []
  for k in range(ndimension(v)):
    if k != lathe.axis(dim, v): append(others, k)
  return v * (g / norm(v, 2, others, True))
