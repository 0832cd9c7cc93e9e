# Views, and what moves elements to new places.
def ravel(self): return reshape(self, [numel(self)])
def view_as(self, other): return view(self, size(other))
reshape_as = view_as
def expand_as(self, other): return expand(self, size(other))
def copy(self, src, non_blocking: bool = False): return clone(src)
def tril(self, diagonal: int = 0): return relay.trilu(self, k=diagonal)
def triu(self, diagonal: int = 0): return relay.trilu(self, k=diagonal, upper=True)
def fliplr(self): return flip(self, [1])
def flipud(self): return flip(self, [0])
def repeat(self, repeats: List[int]): return relay.tile(reshape(self, [1] * (len(repeats) - ndimension(self)) + size(self)), reps=repeats)
def tile(self, dims: List[int]): return repeat(self, [1] * (ndimension(self) - len(dims)) + dims)

def rot90(self, k: int = 1, dims: List[int] = [0, 1]):
  a, b = dims
  k = k % 4
  if k == 1: return transpose(flip(self, [b]), a, b)
  if k == 2: return flip(self, dims)
  return transpose(flip(self, [a]), a, b) if k == 3 else self

def hstack(tensors: List[Tensor]):
  parts = []
  for t in tensors: append(parts, reshape(t, [numel(t)]) if ndimension(t) < 2 else t)
  return cat(parts, min(1, ndimension(parts[0]) - 1))

def vstack(tensors: List[Tensor]):
  parts = []
  for t in tensors: append(parts, reshape(t, [1, numel(t)]) if ndimension(t) < 2 else t)
  return cat(parts)
row_stack = vstack

def chunk(self, chunks: int, dim: int = 0): return split(self, max((size(self, dim) + chunks - 1) // max(chunks, 1), 1), dim)
unsafe_chunk = chunk

def tensor_split(self, sections: int, dim: int = 0):
  n = size(self, dim)
  sizes = []
  for i in range(sections): append(sizes, n // sections + (1 if i < n % sections else 0))
  return split(self, sizes, dim)

class lathe:
  # Leading axes of images are joined to one.
  def images(x): return reshape(x, [-1] + size(x)[-3:])

def pixel_shuffle(self, upscale_factor: int):
  y = relay.nn.depth_to_space(lathe.images(self), block_size=upscale_factor, mode="CRD")
  return reshape(y, size(self)[:-3] + size(y)[1:])

def pixel_unshuffle(self, downscale_factor: int):
  y = relay.nn.space_to_depth(lathe.images(self), block_size=downscale_factor, mode="CRD")
  return reshape(y, size(self)[:-3] + size(y)[1:])

def channel_shuffle(self, groups: int):
  s = size(self)
  y = reshape(self, [s[0], groups, s[1] // groups] + s[2:])
  return reshape(transpose(y, 1, 2), s)

def col2im(self, output_size: List[int], kernel_size: List[int], dilation: List[int], padding: List[int], stride: List[int]):
  pad = lathe.per_axis(padding, 2, 0)
  return relay.nn.col2im(self, image_shape=lathe.per_axis(output_size, 2, 0), block_shape=lathe.per_axis(kernel_size, 2, 1), strides=lathe.per_axis(stride, 2, 1),
    padding=pad + pad, dilation=lathe.per_axis(dilation, 2, 1))

def cartesian_prod(tensors: List[Tensor]):
  parts = []
  for g in meshgrid(tensors): append(parts, ravel(g))
  return stack(parts, 1)

def select_scatter(self, src, dim: int, index: int):
  y = clone(self)
  copy_(select(y, dim, index), src)
  return y

def slice_scatter(self, src, dim: int = 0, start=None, end=None, step=1):
  y = clone(self)
  copy_(slice(y, dim, start, end, step), src)
  return y

def column_stack(tensors: List[Tensor]):
  parts = []
  for t in tensors: append(parts, reshape(t, [numel(t), 1]) if ndimension(t) < 2 else t)
  return cat(parts, 1)

def atleast_1d(self: Tensor): return reshape(self, [1]) if ndimension(self) == 0 else self
def atleast_2d(self: Tensor): return reshape(self, [1, numel(self)]) if ndimension(self) < 2 else self
def atleast_3d(self: Tensor):
  if ndimension(self) < 2: return reshape(self, [1, numel(self), 1])
  return unsqueeze(self, 2) if ndimension(self) == 2 else self

def dstack(tensors: List[Tensor]):
  parts = []
  for t in tensors: append(parts, atleast_3d(t))
  return cat(parts, 2)

def hsplit(self, sections: int): return tensor_split(self, sections, min(1, ndimension(self) - 1))
def vsplit(self, sections: int): return tensor_split(self, sections, 0)
def dsplit(self, sections: int): return tensor_split(self, sections, 2)

def diff(self, n: int = 1, dim: int = -1):
  y = self
  for i in range(n): y = slice(y, dim, 1) - slice(y, dim, 0, -1)
  return y

def linalg_cross(self, other, dim: int = -1): return roll(self, -1, dim) * roll(other, -2, dim) - roll(self, -2, dim) * roll(other, -1, dim)
def cross(self, other, dim: int = None):
  d = dim
  if dim is None:
    d = -1
    for k in range(ndimension(self)):
      if d < 0 and size(self, k) == 3: d = k
  return linalg_cross(self, other, d)
