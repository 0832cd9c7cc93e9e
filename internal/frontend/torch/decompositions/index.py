# Elements by their places.
def embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False): return relay.take(weight, lathe.indices(indices), axis=0)
def take(self, index): return relay.take(ravel(self), lathe.indices(index), axis=0)

def index_select(self, dim: int, index):
  at = lathe.indices(index)
  return relay.take(self, at if ndimension(at) > 0 else reshape(at, [1]), axis=lathe.axis(dim, self))

def masked_scatter(self, mask, source):
  m = expand(lathe.truth(mask), size(self))
  order = relay.cumsum(lathe.summed(ravel(m)), axis=0, exclusive=True)
  return relay.where(m, reshape(take(source, order), size(self)), self)

def one_hot(self, num_classes: int = -1):
  if num_classes < 0: lathe.refuse("a number of classes that depends on data is not supported")
  return relay.one_hot(lathe.indices(self), 1, 0, depth=num_classes, axis=ndimension(self))

class lathe:
  # Reduces the rows of a bag: 0 adds them up, 1 averages them, 2 takes their maxima.
  def bag(x, mode: int):
    if mode == 0: return sum(x, [-2])
    if mode == 1: return mean(x, [-2])
    if mode != 2: lathe.refuse("mode {} is not supported".format(mode))
    return amax(x, [-2])

# Bags are the rows of a matrix of indices, or go from offset to offset where these are known.
def embedding_bag(weight, indices, offsets=None, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False, per_sample_weights=None, include_last_offset: bool = False, padding_idx=None):
  rows = embedding(weight, indices)
  if per_sample_weights is not None: rows = rows * unsqueeze(per_sample_weights, -1)
  if ndimension(indices) == 2: return lathe.bag(rows, mode), None, None, None
  at = lathe.ints(offsets)
  if not include_last_offset: at = at + [size(indices, 0)]
  bags = []
  for i in range(len(at) - 1): append(bags, lathe.bag(rows[at[i]:at[i + 1]], mode))
  return stack(bags), None, None, None
