# Reductions. Sums of integers and truth values are int64.
def sum(self, dim: List[int] = None, keepdim: bool = False, dtype=None):
  return lathe.cast(relay.sum(lathe.summed(lathe.cast(self, dtype)), axis=lathe.some(dim, self), keep_dims=keepdim), dtype)

def prod(self, dim: List[int] = None, keepdim: bool = False, dtype=None):
  return lathe.cast(relay.prod(lathe.summed(lathe.cast(self, dtype)), axis=lathe.some(dim, self), keep_dims=keepdim), dtype)

def mean(self, dim: List[int] = None, keepdim: bool = False, dtype=None):
  return lathe.cast(relay.mean(lathe.real(lathe.cast(self, dtype)), axis=lathe.some(dim, self), keep_dims=keepdim), dtype)

def nansum(self, dim: List[int] = None, keepdim: bool = False, dtype=None): return sum(where(isnan(self), 0, self), dim, keepdim, dtype)
def nanmean(self, dim: List[int] = None, keepdim: bool = False, dtype=None): return nansum(self, dim, keepdim, dtype) / sum(logical_not(isnan(self)), dim, keepdim)
def any(self, dim: List[int] = None, keepdim: bool = False): return relay.any(lathe.truth(self), axis=lathe.some(dim, self), keep_dims=keepdim)
def all(self, dim: List[int] = None, keepdim: bool = False): return relay.all(lathe.truth(self), axis=lathe.some(dim, self), keep_dims=keepdim)
def count_nonzero(self, dim: List[int] = None): return sum(lathe.truth(self), dim)
def amax(self, dim: List[int] = None, keepdim: bool = False): return relay.max(self, axis=lathe.some(dim, self), keep_dims=keepdim)
def amin(self, dim: List[int] = None, keepdim: bool = False): return relay.min(self, axis=lathe.some(dim, self), keep_dims=keepdim)
def aminmax(self, dim: int = None, keepdim: bool = False): return amin(self, dim, keepdim), amax(self, dim, keepdim)
def max(self: Tensor): return amax(self)
def min(self: Tensor): return amin(self)
def max(self: Tensor, dim: int, keepdim: bool = False): return amax(self, dim, keepdim), argmax(self, dim, keepdim)
def min(self: Tensor, dim: int, keepdim: bool = False): return amin(self, dim, keepdim), argmin(self, dim, keepdim)
def logsumexp(self, dim: List[int], keepdim: bool = False): return lathe.log_sum_exp(lathe.real(self), keepdim, lathe.axes(dim, self))
def equal(self, other): return bool(all(self == other)) if size(self) == size(other) else False
def trace(self): return sum(diagonal(self))

def cumsum(self, dim: int, dtype=None):
  x = lathe.summed(lathe.cast(self, dtype))
  return lathe.cast(relay.cumsum(x, axis=lathe.axis(dim, x)), dtype)

def cumprod(self, dim: int, dtype=None):
  x = lathe.summed(lathe.cast(self, dtype))
  return lathe.cast(relay.cumprod(x, axis=lathe.axis(dim, x)), dtype)

def argmax(self, dim: int = None, keepdim: bool = False):
  x = byte(self) if dtype(self) == 11 else self
  if dim is not None and ndimension(x) > 0: return relay.argmax(x, axis=lathe.axis(dim, x), keep_dims=keepdim)
  y = relay.argmax(ravel(x), axis=0)
  return reshape(y, [1] * ndimension(x)) if keepdim else y

def argmin(self, dim: int = None, keepdim: bool = False):
  x = byte(self) if dtype(self) == 11 else self
  if dim is not None and ndimension(x) > 0: return relay.argmin(x, axis=lathe.axis(dim, x), keep_dims=keepdim)
  y = relay.argmin(ravel(x), axis=0)
  return reshape(y, [1] * ndimension(x)) if keepdim else y

class lathe:
  # The sum of squares is divided by the number of elements less the correction.
  def variance(self, dim, correction: number, keepdim: bool):
    x = lathe.real(self)
    axes = lathe.axes(dim, x)
    n = 1
    for a in axes: n = n * size(x, a)
    d = x - mean(x, axes, True)
    return lathe.scaled(mean(d * d, axes, keepdim), n / max(n - correction, 0))

def var(self, unbiased: bool): return lathe.variance(self, None, 1 if unbiased else 0, False)
def var(self, dim: List[int], unbiased: bool, keepdim: bool = False): return lathe.variance(self, dim, 1 if unbiased else 0, keepdim)
def var(self, dim: List[int] = None, correction: number = 1, keepdim: bool = False): return lathe.variance(self, dim, 1 if correction is None else correction, keepdim)
def std(self, unbiased: bool): return sqrt(var(self, unbiased))
def std(self, dim: List[int], unbiased: bool, keepdim: bool = False): return sqrt(var(self, dim, unbiased, keepdim))
def std(self, dim: List[int] = None, correction: number = 1, keepdim: bool = False): return sqrt(var(self, dim, correction=correction, keepdim=keepdim))
def var_mean(self, unbiased: bool): return var(self, unbiased), mean(self)
def var_mean(self, dim: List[int], unbiased: bool, keepdim: bool = False): return var(self, dim, unbiased, keepdim), mean(self, dim, keepdim)
def var_mean(self, dim: List[int] = None, correction: number = 1, keepdim: bool = False): return var(self, dim, correction=correction, keepdim=keepdim), mean(self, dim, keepdim)
def std_mean(self, unbiased: bool): return std(self, unbiased), mean(self)
def std_mean(self, dim: List[int], unbiased: bool, keepdim: bool = False): return std(self, dim, unbiased, keepdim), mean(self, dim, keepdim)
def std_mean(self, dim: List[int] = None, correction: number = 1, keepdim: bool = False): return std(self, dim, correction=correction, keepdim=keepdim), mean(self, dim, keepdim)

def norm(self, p=2, dim: List[int] = None, keepdim: bool = False, dtype=None):
  x = lathe.cast(abs(self) if is_complex(self) else lathe.real(self), dtype)
  if p is None or p == "fro": p = 2
  if isinstance(p, str): lathe.refuse("a norm of kind \"" + p + "\" is not supported")
  if ndimension(x) == 0: return abs(x)
  if p == inf: return amax(abs(x), dim, keepdim)
  if p == -inf: return amin(abs(x), dim, keepdim)
  if p == 0: return sum(lathe.like(lathe.truth(x), x), dim, keepdim)
  return lathe.lp_norm(x, p, keepdim, lathe.axes(dim, x))

def linalg_vector_norm(self, ord: number = 2, dim: List[int] = None, keepdim: bool = False, dtype=None): return norm(self, ord, dim, keepdim, dtype)
def frobenius_norm(self, dim: List[int], keepdim: bool = False): return norm(self, 2, dim, keepdim)
def linalg_norm(self, ord=None, dim: List[int] = None, keepdim: bool = False, dtype=None): return norm(self, ord, dim, keepdim, dtype)

def logcumsumexp(self, dim: int):
  greatest = amax(self, [dim], True)
  return log(cumsum(exp(self - greatest), dim)) + greatest
