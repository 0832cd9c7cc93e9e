# Activations.
def gelu(self, approximate: str = "none"):
  if approximate == "tanh": return lathe.gelu_tanh(self)
  if approximate != "none": lathe.refuse("approximate \"" + approximate + "\" is not supported")
  return lathe.gelu(self)

def hardsigmoid(self): return relay.hard_sigmoid(lathe.real(self), alpha=1 / 6, beta=0.5)
def log_sigmoid(self): return -relay.softplus(-lathe.real(self))
def tanhshrink(self): return self - tanh(self)
def leaky_relu(self, negative_slope: number = 0.01): return relay.nn.leaky_relu(self, alpha=negative_slope)
def rrelu(self, lower: number = 1 / 8, upper: number = 1 / 3, training: bool = False, generator=None): return relay.nn.leaky_relu(self, alpha=(lower + upper) / 2)
def celu(self, alpha: number = 1): return relay.celu(self, alpha=alpha)
def selu(self): return relay.selu(self, alpha=1.6732632423543772848170429916717, gamma=1.0507009873554804934193349852946)
def threshold(self, threshold: number, value: number): return where(self > threshold, self, value)
def hardtanh(self, min_val: number = -1, max_val: number = 1): return clamp(self, min_val, max_val)
def relu6(self): return clamp(self, 0, 6)

def elu(self, alpha: number = 1, scale: number = 1, input_scale: number = 1):
  if scale == 1 and input_scale == 1: return relay.elu(self, alpha=alpha)
  return lathe.scaled(where(self > 0, self, lathe.scaled(expm1(lathe.scaled(self, input_scale)), alpha)), scale)

# Above a threshold of 20, log(1 + exp(x)) and x are equal in float32.
def softplus(self, beta: number = 1, threshold: number = 20):
  y = lathe.scaled(relay.softplus(lathe.scaled(self, beta)), 1 / beta)
  return where(lathe.scaled(self, beta) > threshold, self, y) if threshold < 20 else y

def glu(self, dim: int = -1):
  n = size(self, dim)
  if n % 2 != 0: lathe.refuse("an axis of {} elements has no halves".format(n))
  a, b = relay.split(self, axis=lathe.axis(dim, self), sizes=[n // 2, n // 2])
  return a * sigmoid(b)

def softmax(self, dim: int, dtype: int = None):
  x = lathe.cast(lathe.real(self), dtype)
  return relay.nn.softmax(x, axis=lathe.axis(dim, x)) if ndimension(x) > 0 else ones_like(x)
special_softmax = softmax

def log_softmax(self, dim: int, dtype: int = None):
  x = lathe.cast(lathe.real(self), dtype)
  return relay.nn.log_softmax(x, axis=lathe.axis(dim, x)) if ndimension(x) > 0 else zeros_like(x)
special_log_softmax = log_softmax

def _softmax(self, dim: int, half_to_float: bool): return softmax(self, dim)
def _log_softmax(self, dim: int, half_to_float: bool): return log_softmax(self, dim)
def softmin(self, dim: int, dtype: int = None): return softmax(-self, dim, dtype)

def dropout(input, p: number, train: bool):
  if train: lathe.note("is that of training and is left out")
  return input
native_dropout = feature_dropout = alpha_dropout = feature_alpha_dropout = dropout2d = dropout3d = dropout
