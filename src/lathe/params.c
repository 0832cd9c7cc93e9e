/* Part of lathe.c: parameters: TVM's parameter blob. */

#define PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)
#define TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

/* cursor walks over bytes. After a read beyond the end, short_of is set and every later read gives zero. */
typedef struct cursor {
  const unsigned char *at, *end;
  int short_of;
} cursor;

static const unsigned char *take(cursor *c, uint64_t n) {
  if (c->short_of || n > (uint64_t)(c->end - c->at)) {
    c->short_of = 1;
    return NULL;
  }
  const unsigned char *p = c->at;
  c->at += n;
  return p;
}

static uint64_t little(const unsigned char *b, int n) {
  uint64_t v = 0;
  while (n-- > 0) v = v << 8 | b[n];
  return v;
}

static uint64_t take_u64(cursor *c) {
  const unsigned char *b = take(c, 8);
  return b ? little(b, 8) : 0;
}

static int is_prefix(const char *prefix, const void *bytes, size_t n) {
  size_t k = length(prefix);
  return n >= k && memcmp(bytes, prefix, k) == 0;
}

/* take_tensor reads a tensor's header, checks that shape and type take as many bytes as it says, and returns its data. */
static const unsigned char *take_tensor(cursor *c, uint64_t *bytes, const char **cause) {
  const unsigned char *head = take(c, 32); /* magic, reserved, device, rank, type */
  if (!head) return NULL;
  uint64_t rank = little(head + 24, 4), size = ((uint64_t)head[29] + 7) / 8;
  if (little(head, 8) != TENSOR_MAGIC || rank > 64 || little(head + 30, 2) != 1) {
    *cause = "has a damaged header";
    return NULL;
  }
  int empty = 0;
  for (uint64_t i = 0; i < rank; i++) {
    uint64_t extent = take_u64(c);
    if (extent == 0) empty = 1;
    else if (extent > (UINT64_C(1) << 46) / (size ? size : 1)) size = UINT64_C(1) << 46; /* more than there can be */
    else size *= extent;
  }
  *bytes = take_u64(c);
  if (!c->short_of && *bytes != (empty ? 0 : size)) {
    *cause = "has another size than its shape";
    return NULL;
  }
  return take(c, *bytes);
}

/* read_params fills table with the addresses of the library's constants in a blob, which is used in place. */
static lathe_status read_params(const char *name, const lathe_library *l, const void *blob, size_t bytes, void **table) {
  cursor c = {blob, (const unsigned char *)blob + bytes, 0};
  if (take_u64(&c) != PARAMS_MAGIC)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: not a TVM parameter blob (wrong magic number)");
  take_u64(&c); /* reserved */
  uint64_t count = take_u64(&c);
  if (c.short_of || count > (uint64_t)(c.end - c.at) / 8)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated or damaged: %l names in %b", (int64_t)count, bytes);
  cursor names = c;
  for (uint64_t i = 0; i < count; i++) take(&c, take_u64(&c));
  uint64_t tensors = take_u64(&c);
  if (c.short_of || tensors != count)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated or damaged: the list of names");
  for (int32_t i = 0; i < l->param_count; i++) table[i] = NULL;
  int32_t next = 0, found = 0; /* constants are usually in the library's order */
  for (uint64_t i = 0; i < count; i++) {
    size_t n = (size_t)take_u64(&names);
    const char *param = (const char *)take(&names, n);
    uint64_t size = 0;
    const char *cause = NULL;
    const unsigned char *data = take_tensor(&c, &size, &cause);
    if (cause) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n %s", param, n, cause);
    if (c.short_of)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated: the %b end inside %n; copy the file again", bytes, param, n);
    if (is_prefix("__pad.", param, n)) continue;
    int32_t tried = 0;
    for (; tried < l->param_count; tried++, next = next + 1 < l->param_count ? next + 1 : 0)
      if (length(lathe_param_name(l, next)) == n && memcmp(lathe_param_name(l, next), param, n) == 0) break;
    if (tried >= l->param_count)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: the library has no constant %n: they belong to another model", param, n);
    if (table[next]) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n occurs twice", param, n);
    if (l->params[next].bytes != size)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n has %l bytes, the library expects %z: they belong to another model",
                  param, n, (int64_t)size, l->params[next].bytes);
    if (size > 0 && (uintptr_t)data % LATHE_ALIGNMENT)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n is not aligned to %d bytes: another program rewrote the package; recompile the model",
                  param, n, LATHE_ALIGNMENT);
    table[next] = (void *)(uintptr_t)data; /* code reads it only */
    found++;
    next = next + 1 < l->param_count ? next + 1 : 0;
  }
  if (c.at != c.end)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: %b after the last one", (size_t)(c.end - c.at));
  if (found != l->param_count)
    for (int32_t i = 0; i < l->param_count; i++)
      if (!table[i]) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %q is missing: they belong to another model", lathe_param_name(l, i));
  return LATHE_OK;
}
