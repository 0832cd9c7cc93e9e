# Functions of single elements.
def rsub(self, other, alpha: number = 1): return sub(other, self, alpha=alpha)
def max(self: Tensor, other: Tensor): return maximum(self, other)
def min(self: Tensor, other: Tensor): return minimum(self, other)
def square(self): return self * self
def lerp(self, end, weight): return self + lathe.like(weight, self) * (end - self)
def masked_fill(self, mask, value): return relay.where(lathe.truth(mask), lathe.like(value, self), self)
def addcmul(self, tensor1, tensor2, value: number = 1): return self + lathe.scaled(tensor1 * tensor2, value)
def addcdiv(self, tensor1, tensor2, value: number = 1): return self + lathe.scaled(tensor1 / tensor2, value)
def xlogy(self, other): return where(self == 0, 0, self * log(other))
def hypot(self, other): return sqrt(self * self + other * other)
def isclose(self, other, rtol: number = 1e-05, atol: number = 1e-08, equal_nan: bool = False): return abs(self - other) <= rtol * abs(other) + atol
def dist(self, other, p: number = 2): return norm(self - other, p)

def atan2(self, other):
  y, x = lathe.promoted(self, other)
  return relay.atan2(lathe.real(y), lathe.real(x))
arctan2 = atan2

def frac(self): return self - trunc(self)
def exp2(self): return exp(lathe.real(self) * 0.69314718055994530941723212145818)
def log2(self): return log(self) * 1.4426950408889634073599246810019
def log10(self): return log(self) * 0.43429448190325182765112891891661
def erfc(self): return 1 - erf(self)
def rad2deg(self): return self * 57.295779513082320876798154814105
def deg2rad(self): return self * 0.017453292519943295769236907684886
def isinf(self): return relay.isinf(lathe.real(self), detect_positive=True, detect_negative=True)
def isposinf(self): return relay.isinf(lathe.real(self), detect_positive=True)
def isneginf(self): return relay.isinf(lathe.real(self), detect_negative=True)
def isfinite(self): return abs(lathe.real(self)) < inf

def logit(self, eps: number = None):
  x = lathe.real(self) if eps is None else clamp(self, eps, 1 - eps)
  return log(x / (1 - x))

def round(self, decimals: int):
  f = 10.0 ** decimals
  return round(self * f) / f

class lathe:
  # reduction 1 is the average, 2 the sum, 0 nothing of the kind.
  def loss(x, reduction: int):
    if reduction == 1: return mean(x)
    return sum(x) if reduction == 2 else x

def mse_loss(self, target, reduction: int = 1): return lathe.loss(square(self - target), reduction)
def l1_loss(self, target, reduction: int = 1): return lathe.loss(abs(self - target), reduction)

def binary_cross_entropy_with_logits(self, target, weight=None, pos_weight=None, reduction: int = 1):
  falls = log(1 + exp(-abs(self))) + relu(-self)
  y = (1 - target) * self + (falls if pos_weight is None else (1 + (pos_weight - 1) * target) * falls)
  return lathe.loss(y if weight is None else y * weight, reduction)

def heaviside(self, values): return where(self == 0, values, where(self > 0, 1, 0))
def sinc(self): return where(self == 0, 1.0, sin(self * 3.1415926535897932384626433832795) / (self * 3.1415926535897932384626433832795))
