/* Part of lathe.c: models. */

/* A package is what models that were opened from files share. */
struct package;
static void retain(struct package *p);
static void release(struct package *p);

/* Regions of external code generators, as a model runs them. */
struct open_region;
static lathe_status open_regions(lathe_model *m);
static void close_regions(lathe_model *m);

struct lathe_model {
  uint32_t user; /* IDLE, or the process one of whose threads is in a call */
  const lathe_library *library;
  const char *name;        /* in messages */
  struct package *package; /* NULL for a library that is linked in */
  const void *params;      /* as they were given */
  size_t params_bytes;
  lathe_options options;
  int32_t workers;
  int ran;
  int32_t unset;        /* inputs that were never set */
  unsigned char *set;   /* by input */
  void **own;           /* the model's own memory of inputs, then of outputs; NULL with LATHE_NO_BUFFERS */
  void *block;          /* of the system, with this structure in it; NULL: the caller's */
  size_t block_bytes;
  struct open_region *regions; /* of a package, by region; NULL: all are computed by the package's own steps */
  lathe_ctx ctx;
#ifndef LATHE_NO_THREADS
  crew crew;
#endif
};

/* A plan says where the parts of a model lie in its memory. */
typedef struct plan {
  size_t team, parts, inputs, outputs, params, own, set, symbols, members, buffers, copy, scratch, workspace, total;
  size_t stride; /* of the workers' scratch */
  int overflow;
} plan;

SMALL static size_t place(plan *p, size_t bytes) {
  size_t at = p->total;
  if (bytes > SIZE_MAX / 2 - at) p->overflow = 1;
  else p->total = (at + bytes + LATHE_ALIGNMENT - 1) / LATHE_ALIGNMENT * LATHE_ALIGNMENT;
  return at;
}

static size_t times(plan *p, size_t a, size_t b) {
  if (a != 0 && b > SIZE_MAX / a) p->overflow = 1;
  return a * b;
}

/* copied is the bytes of parameters that cannot be used where they are. */
static size_t copied(const lathe_library *l, const void *params, size_t bytes) {
  return l->weights || l->param_count == 0 || (uintptr_t)params % LATHE_ALIGNMENT == 0 ? 0 : bytes;
}

static plan plan_model(const lathe_library *l, int32_t workers, const lathe_options *o, size_t copy) {
  plan p = {0};
  place(&p, sizeof(struct lathe_model));
  if (workers > 1) { /* lines are fetched in pairs, so what workers write is two lines apart */
    p.total += p.total % (2 * LATHE_ALIGNMENT);
    p.team = place(&p, sizeof(lathe_team));
    p.parts = place(&p, sizeof(lathe_part) * (size_t)workers);
  }
  p.inputs = place(&p, sizeof(void *) * (size_t)l->input_count);
  p.outputs = place(&p, sizeof(void *) * (size_t)l->output_count);
  p.params = place(&p, sizeof(void *) * (size_t)l->param_count);
  p.own = place(&p, sizeof(void *) * ((size_t)l->input_count + (size_t)l->output_count));
  p.set = place(&p, (size_t)l->input_count);
  p.symbols = place(&p, sizeof(int64_t) * (size_t)l->symbol_count);
#ifndef LATHE_NO_THREADS
  p.members = place(&p, sizeof(member) * (size_t)(workers - 1));
#endif
  p.buffers = p.total;
  if (!(o->flags & LATHE_NO_BUFFERS)) {
    for (int32_t i = 0; i < l->input_count; i++) place(&p, l->inputs[i].bytes);
    for (int32_t i = 0; i < l->output_count; i++) place(&p, l->outputs[i].bytes);
  }
  p.copy = place(&p, copy);
  /* Neighbouring lines are fetched in pairs, so workers keep two lines apart. */
  size_t pair = workers > 1 ? 2 * LATHE_ALIGNMENT : LATHE_ALIGNMENT;
  if (l->scratch > SIZE_MAX - pair) p.overflow = 1;
  p.stride = (l->scratch + pair - 1) / pair * pair;
  p.scratch = place(&p, times(&p, p.stride, (size_t)workers));
  p.workspace = place(&p, l->workspace);
  return p;
}

/* allocate returns zeroed memory; *block is what to hand to release_block. */
static void *allocate(size_t bytes, void **block, size_t *block_bytes) {
#if !defined(LATHE_NO_FILES)
  void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) return NULL;
  *block = m;
  *block_bytes = bytes;
  return m;
#elif __STDC_HOSTED__
  char *m = calloc(1, bytes + LATHE_ALIGNMENT);
  if (!m) return NULL;
  *block = m;
  *block_bytes = bytes;
  return m + (LATHE_ALIGNMENT - (uintptr_t)m % LATHE_ALIGNMENT);
#else
  (void)bytes, (void)block, (void)block_bytes;
  return NULL;
#endif
}

static void release_block(void *block, size_t bytes) {
#if !defined(LATHE_NO_FILES)
  munmap(block, bytes);
#elif __STDC_HOSTED__
  (void)bytes;
  free(block);
#else
  (void)block, (void)bytes;
#endif
}

/* end_model ends what a model has beside its memory, and gives that back. */
static void end_model(lathe_model *m) {
  close_regions(m);
#ifndef LATHE_NO_THREADS
  crew *c = &m->crew;
  if (c->started && c->owner == getpid()) stop_crew(c, c->workers - 1);
#endif
  if (m->block) release_block(m->block, m->block_bytes); /* with the model in it */
}

static const lathe_options default_options;

static lathe_status check_library(const char *name, const lathe_library *l) {
  if (l->abi != LATHE_ABI)
    return fail(LATHE_ERROR_VERSION, name, "made for version %d of the interface, this runtime has version %d: recompile the model", (int32_t)l->abi, LATHE_ABI);
  if (l->size < offsetof(lathe_library, flags))
    return fail(LATHE_ERROR_VERSION, name, "made by an older compiler than this runtime: recompile the model");
  return LATHE_OK;
}

/* bind_params fills the table of constants. */
static lathe_status bind_params(const char *name, const lathe_library *l, const void *params, size_t bytes, void *copy, void **table) {
  if (l->weights) {
    for (int32_t i = 0; i < l->param_count; i++)
      table[i] = (void *)(uintptr_t)((const char *)l->weights + l->params[i].offset); /* code reads it only */
    return LATHE_OK;
  }
  if (l->param_count == 0) return LATHE_OK;
  if (!params) return fail(LATHE_ERROR_ARGUMENT, name, "the weights are not in the library: give the content of mod.params");
  if (copied(l, params, bytes)) {
    memcpy(copy, params, bytes);
    params = copy;
  }
  return read_params(name, l, params, bytes, table);
}

/* make_model sets up a model of a checked library. It takes over the caller's reference to the package when it succeeds. */
static lathe_status make_model(const lathe_library *l, const char *name, struct package *package, const void *params, size_t bytes,
                               const lathe_options *o, lathe_model **model) {
  int32_t workers;
  int crowded;
  lathe_status status = count_workers(name, o->workers, l->max_workers, &workers, &crowded);
  if (status != LATHE_OK) return status;
  if (o->flags & ~LATHE_NO_BUFFERS) return fail(LATHE_ERROR_ARGUMENT, name, "options: unknown flags");
  plan p = plan_model(l, workers, o, copied(l, params, bytes));
  void *block = NULL;
  size_t block_bytes = 0;
  char *base = o->memory;
  if (base && (uintptr_t)base % LATHE_ALIGNMENT)
    return fail(LATHE_ERROR_ARGUMENT, name, "options: the memory is not aligned to %d bytes", LATHE_ALIGNMENT);
  if (base && !p.overflow && o->memory_bytes < p.total)
    return fail(LATHE_ERROR_ARGUMENT, name, "options: the memory has %b, the model needs %z", o->memory_bytes, p.total);
  if (base && !p.overflow) memset(base, 0, p.total);
  if (!base && !p.overflow) base = allocate(p.total, &block, &block_bytes);
  if (!base || p.overflow)
    return fail(LATHE_ERROR_MEMORY, name, "no memory for the model: %b for tensors, work space and scratch", p.total);

  lathe_model *m = (lathe_model *)(void *)base;
  m->library = l;
  m->name = name;
  m->params = params;
  m->params_bytes = bytes;
  m->options = *o;
  m->workers = workers;
  m->unset = l->input_count;
  m->block = block;
  m->block_bytes = block_bytes;
  m->set = (unsigned char *)base + p.set;
  m->own = (void **)(void *)(base + p.own);
  m->ctx = (lathe_ctx){
      .abi = LATHE_ABI,
      .size = sizeof(lathe_ctx),
      .inputs = (void **)(void *)(base + p.inputs),
      .outputs = (void **)(void *)(base + p.outputs),
      .params = (void **)(void *)(base + p.params),
      .workspace = base + p.workspace,
      .scratch = base + p.scratch,
      .scratch_stride = p.stride,
      .team = workers > 1 ? (lathe_team *)(void *)(base + p.team) : NULL,
      .parts = workers > 1 ? (lathe_part *)(void *)(base + p.parts) : NULL,
      .symbols = (int64_t *)(void *)(base + p.symbols),
  };
  if (!(o->flags & LATHE_NO_BUFFERS)) {
    plan at = {.total = p.buffers};
    for (int32_t i = 0; i < l->input_count; i++) m->own[i] = base + place(&at, l->inputs[i].bytes);
    for (int32_t i = 0; i < l->output_count; i++) m->own[l->input_count + i] = base + place(&at, l->outputs[i].bytes);
  }
  for (int32_t i = 0; i < l->input_count; i++) m->ctx.inputs[i] = m->own[i];
  for (int32_t i = 0; i < l->output_count; i++) m->ctx.outputs[i] = m->own[l->input_count + i];
  status = bind_params(name, l, params, bytes, base + p.copy, m->ctx.params);
#ifndef LATHE_NO_THREADS
  m->crew = (crew){.run = l->run, .ctx = &m->ctx, .workers = workers, .members = (member *)(void *)(base + p.members)};
  m->crew.spin_ns = crowded ? 0 : IDLE_PATIENCE_NS;
  m->crew.takes = new_strength(workers);
  m->crew.patience = crowded ? 0 : pauses_of(STEP_PATIENCE_NS);
  m->crew.hasty_patience = crowded ? 0 : pauses_of(HASTY_PATIENCE_NS);
  m->ctx.spin = m->crew.patience;
  m->ctx.wait = on_wait;
  m->ctx.wake = on_wake;
  m->ctx.user = &m->crew;
#else
  (void)crowded;
#endif
  m->package = package;
  if (status == LATHE_OK && package && region_count(l) > 0) status = open_regions(m);
  if (status == LATHE_OK) *model = m;
  else end_model(m);
  return status;
}

lathe_status lathe_open_library(const lathe_library *library, const void *params, size_t params_bytes,
                                const lathe_options *options, lathe_model **model) {
  if (!model) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open_library: no place for the model");
  *model = NULL;
  if (!library) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open_library: no library");
  const char *name = library->abi == LATHE_ABI ? library->module : NULL;
  lathe_status status = check_library(name, library);
  if (status == LATHE_OK) status = check_cpu(name, library);
  if (status != LATHE_OK) return status;
  return make_model(library, name, NULL, params, params_bytes, options ? options : &default_options, model);
}

size_t lathe_memory_needed(const lathe_library *library, const void *params, size_t params_bytes, const lathe_options *options) {
  if (!library) {
    fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_memory_needed: no library");
    return 0;
  }
  int32_t workers;
  int crowded;
  if (!options) options = &default_options;
  if (check_library(NULL, library) != LATHE_OK) return 0;
  if (count_workers(library->module, options->workers, library->max_workers, &workers, &crowded) != LATHE_OK) return 0;
  plan p = plan_model(library, workers, options, copied(library, params, params_bytes));
  if (p.overflow) fail(LATHE_ERROR_MEMORY, library->module, "needs more memory than this machine can have");
  return p.overflow ? 0 : p.total;
}

enum { IDLE = 0 };

#ifdef LATHE_NO_THREADS
static uint32_t this_process(void) { return 1; }
#else
static uint32_t this_process(void) { return (uint32_t)getpid(); }
#endif

/* abandoned makes a model usable that a thread of the parent was using at a fork: that call goes on in the parent only. */
static void abandoned(lathe_model *m) {
  if (m->workers > 1) *m->ctx.team = (lathe_team){0};
  for (int32_t w = 0; m->workers > 1 && w < m->workers; w++) m->ctx.parts[w] = (lathe_part){0};
  m->ran = 0;
  m->unset = 0;
  for (int32_t i = 0; i < m->library->input_count; i++) m->unset += !m->set[i];
}

/* enter claims the model for one call; leave gives it back. */
static lathe_status enter(lathe_model *m) {
  if (!m) return fail(LATHE_ERROR_ARGUMENT, NULL, "no model: it is NULL");
  uint32_t me = this_process();
  if (exchange_if(&m->user, IDLE, me)) return LATHE_OK;
  uint32_t other = load(&m->user);
  if (other != IDLE && other != me && exchange_if(&m->user, other, me)) {
    abandoned(m);
    return LATHE_OK;
  }
  return fail(LATHE_ERROR_BUSY, m->name, "the model is in use by another thread; lathe_clone makes one for each");
}

static lathe_status leave(lathe_model *m, lathe_status status) {
  store(&m->user, IDLE);
  return status;
}

lathe_status lathe_check(lathe_model *model) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  const lathe_library *l = model->library;
  if (!(flags_of(l) & LATHE_PARAMS_DIGEST))
    return leave(model, fail(LATHE_ERROR_VERSION, model->name, "holds no digest of its weights: an older lathe compiled it; recompile the model"));
  return leave(model, check_weights(model->name, l, model->params, model->params_bytes));
}

lathe_status lathe_clone(lathe_model *model, lathe_model **clone) {
  if (!clone) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_clone: no place for the model");
  *clone = NULL;
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  lathe_options o = model->options;
  o.memory = NULL;
  status = make_model(model->library, model->name, model->package, model->params, model->params_bytes, &o, clone);
  if (status == LATHE_OK) retain(model->package);
  return leave(model, status);
}

lathe_status lathe_close(lathe_model *model) {
  if (!model) return LATHE_OK;
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  struct package *package = model->package;
  end_model(model);
  release(package);
  return LATHE_OK;
}

const lathe_library *lathe_model_library(const lathe_model *model) { return model ? model->library : NULL; }

int32_t lathe_workers(const lathe_model *model) { return model ? model->workers : 0; }

int32_t lathe_input_count(const lathe_model *model) { return model ? model->library->input_count : 0; }

int32_t lathe_output_count(const lathe_model *model) { return model ? model->library->output_count : 0; }

/* ports are a model's inputs or its outputs. */
typedef struct ports {
  const char *what;
  const lathe_tensor_info *info;
  int32_t count;
} ports;

static ports inputs_of(const lathe_model *m) { return (ports){"input", m->library->inputs, m->library->input_count}; }

static ports outputs_of(const lathe_model *m) { return (ports){"output", m->library->outputs, m->library->output_count}; }

static lathe_status check_index(const char *name, ports p, int32_t index) {
  if (index >= 0 && index < p.count) return LATHE_OK;
  return fail(LATHE_ERROR_ARGUMENT, name, "%s %d: the model has %d %ss", p.what, index, p.count, p.what);
}

static const lathe_tensor_info *info_of(const lathe_model *m, ports p, int32_t index) {
  return check_index(m->name, p, index) == LATHE_OK ? &p.info[index] : NULL;
}

const lathe_tensor_info *lathe_input_info(const lathe_model *model, int32_t index) {
  return model ? info_of(model, inputs_of(model), index) : NULL;
}

const lathe_tensor_info *lathe_output_info(const lathe_model *model, int32_t index) {
  return model ? info_of(model, outputs_of(model), index) : NULL;
}

static int32_t index_of(const lathe_model *m, ports p, const char *name) {
  for (int32_t i = 0; name && i < p.count; i++)
    if (equal(p.info[i].name, name)) return i;
  char list[256];
  text t = {list, list + sizeof list - 1, 0};
  for (int32_t i = 0; i < p.count; i++) {
    if (i > 0) put_string(&t, ", ");
    put_name(&t, p.info[i].name, length(p.info[i].name));
  }
  finish(&t);
  fail(LATHE_ERROR_ARGUMENT, m->name, "unknown %s %q: the model has %s", p.what, name ? name : "", list);
  return -1;
}

int32_t lathe_input_index(const lathe_model *model, const char *name) { return model ? index_of(model, inputs_of(model), name) : -1; }

int32_t lathe_output_index(const lathe_model *model, const char *name) { return model ? index_of(model, outputs_of(model), name) : -1; }

/* check_tensor checks memory that a run is to read or to write. */
static lathe_status check_tensor(const lathe_model *m, ports p, int32_t index, const void *data, size_t bytes, int aligned) {
  lathe_status status = check_index(m->name, p, index);
  if (status != LATHE_OK) return status;
  const lathe_tensor_info *i = &p.info[index];
  if (bytes != i->bytes) return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: %b given, %z wanted (%t)", p.what, i->name, bytes, i->bytes, i);
  if (!data && bytes > 0) return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: no data", p.what, i->name);
  size_t element = lathe_dtype_size(i->dtype);
  if (aligned && element > 1 && (uintptr_t)data % element)
    return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: the data is not aligned to its elements of %b", p.what, i->name, element);
  return LATHE_OK;
}

static void mark_set(lathe_model *m, int32_t index) {
  if (!m->set[index]) m->unset--;
  m->set[index] = 1;
}

static lathe_status set_input(lathe_model *m, int32_t index, const void *data, size_t bytes) {
  lathe_status status = check_tensor(m, inputs_of(m), index, data, bytes, 1);
  if (status != LATHE_OK) return status;
  m->ctx.inputs[index] = (void *)(uintptr_t)data; /* code reads it only */
  mark_set(m, index);
  return LATHE_OK;
}

lathe_status lathe_set_input(lathe_model *model, int32_t index, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  return status != LATHE_OK ? status : leave(model, set_input(model, index, data, bytes));
}

lathe_status lathe_set_input_by_name(lathe_model *model, const char *name, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  int32_t index = lathe_input_index(model, name);
  return leave(model, index < 0 ? LATHE_ERROR_ARGUMENT : set_input(model, index, data, bytes));
}

lathe_status lathe_set_input_tensor(lathe_model *model, int32_t index, const void *data, int32_t dtype, const int64_t *shape, int32_t rank) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_index(model->name, inputs_of(model), index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *want = &model->library->inputs[index];
  int same = dtype == want->dtype && rank == want->rank && (shape || rank == 0);
  for (int32_t i = 0; same && i < rank; i++) same = shape[i] == want->shape[i];
  if (!same) {
    lathe_tensor_info got = {.shape = shape, .rank = shape && rank > 0 && rank <= 64 ? rank : 0, .dtype = dtype};
    return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "input %q: %t given, %t wanted", want->name, &got, want));
  }
  return leave(model, set_input(model, index, data, want->bytes));
}

/* own_input returns the model's own memory of an input and lets runs read it. */
static lathe_status own_input(lathe_model *m, int32_t index, void **data) {
  lathe_status status = check_index(m->name, inputs_of(m), index);
  if (status != LATHE_OK) return status;
  if (!m->own[index])
    return fail(LATHE_ERROR_ARGUMENT, m->name, "input %q: the model was opened with LATHE_NO_BUFFERS", m->library->inputs[index].name);
  *data = m->ctx.inputs[index] = m->own[index];
  mark_set(m, index);
  return LATHE_OK;
}

lathe_status lathe_copy_input(lathe_model *model, int32_t index, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  void *own = NULL;
  status = check_tensor(model, inputs_of(model), index, data, bytes, 0);
  if (status == LATHE_OK) status = own_input(model, index, &own);
  if (status == LATHE_OK && bytes > 0) memcpy(own, data, bytes);
  return leave(model, status);
}

void *lathe_input_data(lathe_model *model, int32_t index) {
  void *own = NULL;
  if (enter(model) == LATHE_OK) leave(model, own_input(model, index, &own));
  return own;
}

lathe_status lathe_bind_output(lathe_model *model, int32_t index, void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_index(model->name, outputs_of(model), index);
  if (status != LATHE_OK) return leave(model, status);
  if (!data) data = model->own[model->library->input_count + index];
  else status = check_tensor(model, outputs_of(model), index, data, bytes, 1);
  if (status != LATHE_OK) return leave(model, status);
  if (!data)
    return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: the model was opened with LATHE_NO_BUFFERS",
                             model->library->outputs[index].name));
  model->ctx.outputs[index] = data;
  return leave(model, LATHE_OK);
}

/* check_ran checks that there is an output to look at. */
static lathe_status check_ran(const lathe_model *m, int32_t index) {
  lathe_status status = check_index(m->name, outputs_of(m), index);
  if (status != LATHE_OK || m->ran) return status;
  return fail(LATHE_ERROR_STATE, m->name, "output %q: the model has not run yet", m->library->outputs[index].name);
}

const void *lathe_output_data(lathe_model *model, int32_t index) {
  const void *data = NULL;
  if (enter(model) != LATHE_OK) return NULL;
  if (check_ran(model, index) == LATHE_OK) data = model->ctx.outputs[index];
  leave(model, LATHE_OK);
  return data;
}

/* actual_extent is the extent of an output's axis after a run. */
static lathe_status actual_extent(const lathe_model *m, const lathe_tensor_info *i, int32_t axis, int64_t *extent) {
  *extent = i->shape[axis];
  if (!i->symbols || i->symbols[axis] < 0) return LATHE_OK;
  int64_t n = m->ctx.symbols[i->symbols[axis]];
  if (n < 0 || n > *extent)
    return fail(LATHE_ERROR_RUN, m->name, "output %q: axis %d has the extent %l, outside 0 to %l", i->name, axis, n, *extent);
  *extent = n;
  return LATHE_OK;
}

lathe_status lathe_output_shape(lathe_model *model, int32_t index, int64_t *shape) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_ran(model, index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *i = &model->library->outputs[index];
  if (!shape && i->rank > 0) return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: no place for the shape", i->name));
  for (int32_t k = 0; k < i->rank && status == LATHE_OK; k++) status = actual_extent(model, i, k, &shape[k]);
  return leave(model, status);
}

lathe_status lathe_output_bytes(lathe_model *model, int32_t index, size_t *bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_ran(model, index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *i = &model->library->outputs[index];
  if (!bytes) return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: no place for the size", i->name));
  *bytes = lathe_dtype_size(i->dtype);
  for (int32_t k = 0; k < i->rank && status == LATHE_OK; k++) {
    int64_t extent = 0;
    status = actual_extent(model, i, k, &extent);
    *bytes *= (size_t)extent;
  }
  return leave(model, status);
}
