/* Part of lathe.c: regions of external code generators. */

int32_t lathe_region_count(const lathe_model *model) { return model ? region_count(model->library) : 0; }

#ifdef LATHE_NO_EXTERNAL

static lathe_status open_regions(lathe_model *m) {
  (void)m;
  return LATHE_OK;
}

static void close_regions(lathe_model *m) { (void)m; }

static struct open_region *next_region(lathe_model *m, struct open_region *r) {
  (void)m, (void)r;
  return NULL;
}

static const lathe_region *region_of(const struct open_region *r) {
  (void)r;
  return NULL;
}

static lathe_status run_region(lathe_model *m, struct open_region *r) {
  (void)m, (void)r;
  return LATHE_OK;
}

const char *lathe_region_note(const lathe_model *model, int32_t index) {
  return index >= 0 && index < lathe_region_count(model) ? "this build of the runtime opens no modules of external code generators" : NULL;
}

#else

/* What the run-time module of a generator exports; NATIVE is machine code without them. */
static const char native[] = "native";

typedef void native_function(const void *const *in, void *const *out, int32_t worker, int32_t workers);

typedef struct external_calls {
  uint32_t (*abi)(void);
  void (*open)(const lathe_external_info *info, lathe_external **module);
  int32_t (*run)(lathe_external *module, const lathe_external_tensor *inputs, const lathe_external_tensor *outputs, int32_t workers);
  void (*close)(lathe_external *module);
  const char *(*last_error)(void);
} external_calls;

/* A region of a model. Neither code nor module: the package's own steps compute it, for the reason in note. */
typedef struct open_region {
  const lathe_region *region;
  external_calls calls;
  lathe_external *module;
  native_function *code;
  void *handle; /* of code, and the open file it lies in */
  int fd;
  lathe_external_info info;
  lathe_external_tensor *tensors; /* of a run: inputs, then outputs */
  lathe_external_tensor *bare;    /* the same without data */
  void **data;                    /* their addresses */
  char *note;
} open_region;

static const lathe_region *region_of(const open_region *r) { return r->region; }

/* next_region returns the region behind r, or behind none the first, that a module computes; NULL: there is none. */
static open_region *next_region(lathe_model *m, open_region *r) {
  if (!m->regions) return NULL;
  for (r = r ? r + 1 : m->regions; r < m->regions + region_count(m->library); r++)
    if (r->module || r->code) return r;
  return NULL;
}

const char *lathe_region_note(const lathe_model *model, int32_t index) {
  if (index < 0 || index >= lathe_region_count(model)) return NULL;
  return model->regions ? model->regions[index].note : "the library was opened without the package around it";
}

static void *operand_data(const lathe_model *m, const lathe_operand *o) {
  switch (o->memory) {
    case LATHE_IN_INPUT: return m->ctx.inputs[o->index];
    case LATHE_IN_OUTPUT: return m->ctx.outputs[o->index];
    case LATHE_IN_PARAM: return m->ctx.params[o->index];
    case LATHE_IN_SYMBOLS: return &m->ctx.symbols[o->index];
    default: return (char *)m->ctx.workspace + o->offset;
  }
}

/* say fails with a message that names the region; the cause is of other programs, and becomes one line. */
static lathe_status say(lathe_status status, const lathe_model *m, const lathe_region *g, const char *cause) {
  char line[256];
  size_t n = 0;
  for (const char *s = cause ? cause : "the module does not say why"; *s && n < sizeof line - 1; s++) line[n++] = (unsigned char)*s < ' ' ? ' ' : *s;
  line[n] = 0;
  return fail(status, m->name, "external region %s (%s): %s", g->symbol, g->runtime, line);
}

static lathe_status run_region(lathe_model *m, open_region *r) {
  const lathe_region *g = r->region;
  int32_t count = g->input_count + g->output_count;
  for (int32_t i = 0; i < count; i++)
    r->data[i] = r->tensors[i].data = operand_data(m, i < g->input_count ? &g->inputs[i] : &g->outputs[i - g->input_count]);
  if (r->code) {
    r->code((const void *const *)r->data, r->data + g->input_count, 0, 1);
    return LATHE_OK;
  }
  int32_t status = r->calls.run(r->module, r->tensors, r->tensors + g->input_count, m->workers);
  if (status == 0) return LATHE_OK;
  char cause[256];
  const char *why = r->calls.last_error();
  snprintf(cause, sizeof cause, "status %d: %s", (int)status, why ? why : "the module does not say why");
  return say(LATHE_ERROR_RUN, m, g, cause);
}

/* symbol_of is dlsym for functions, whose addresses C does not convert. */
static int symbol_of(void *handle, const char *name, void *function) {
  void *at = dlsym(handle, name);
  memcpy(function, &at, sizeof at);
  return at != NULL;
}

/* open_native loads machine code. */
static lathe_status open_native(lathe_model *m, open_region *r, mapping blob) {
  const char *cause = NULL;
  lathe_status status = check_elf(m->name, blob);
  if (status != LATHE_OK) return status;
  if (!(r->handle = load_library(blob, &r->fd, &cause))) return say(LATHE_ERROR_PACKAGE, m, r->region, cause);
  if (!symbol_of(r->handle, r->region->symbol, &r->code)) return say(LATHE_ERROR_PACKAGE, m, r->region, "its code does not export the region");
  return LATHE_OK;
}

/* find_calls loads the library of a run-time module from a folder of LATHE_EXTERNAL_PATH, and from nowhere else. It stays loaded as long
 * as the process lives. */
static lathe_status find_calls(lathe_model *m, open_region *r) {
  const char *folders = getenv("LATHE_EXTERNAL_PATH"), *runtime = r->region->runtime;
  char path[PATH_BYTES], cause[256];
  void *handle = NULL;
  for (const char *p = folders; p && *p && !handle; p += *p == ':') {
    size_t n = strcspn(p, ":");
    int k = snprintf(path, sizeof path, "%.*s/liblathe_ext_%s.so", (int)n, p, runtime);
    if (n > 0 && *p == '/' && !strchr(runtime, '/') && k > 0 && (size_t)k < sizeof path && exists(path) &&
        !(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
      return say(LATHE_ERROR_FILE, m, r->region, dlerror());
    p += n;
  }
  if (!handle) {
    snprintf(cause, sizeof cause, "there is no liblathe_ext_%s.so in %s (LATHE_EXTERNAL_PATH)", runtime, folders && *folders ? folders : "any folder");
    return say(LATHE_ERROR_FILE, m, r->region, cause);
  }
  const struct {
    const char *name;
    void *function;
  } exports[] = {
      {"lathe_external_abi", &r->calls.abi},
      {"lathe_external_open", &r->calls.open},
      {"lathe_external_run", &r->calls.run},
      {"lathe_external_close", &r->calls.close},
      {"lathe_external_last_error", &r->calls.last_error},
  };
  for (int i = 0; i < COUNT(exports); i++) {
    if (symbol_of(handle, exports[i].name, exports[i].function)) continue;
    snprintf(cause, sizeof cause, "%.180s does not export %s", path, exports[i].name);
    return say(LATHE_ERROR_FILE, m, r->region, cause);
  }
  if (r->calls.abi() == LATHE_EXTERNAL_ABI) return LATHE_OK;
  snprintf(cause, sizeof cause, "%.160s is made for version %u of lathe_external.h, and this runtime calls version %d", path, (unsigned)r->calls.abi(), LATHE_EXTERNAL_ABI);
  return say(LATHE_ERROR_VERSION, m, r->region, cause);
}

static lathe_status open_module(lathe_model *m, open_region *r, mapping blob) {
  const lathe_region *g = r->region;
  if (g->abi != LATHE_EXTERNAL_ABI) return say(LATHE_ERROR_VERSION, m, g, "compiled for another version of lathe_external.h: recompile the model");
  if (!blob.at) return say(LATHE_ERROR_FILE, m, g, "its file is missing in the package, or beside the library");
  size_t count = (size_t)g->input_count + (size_t)g->output_count;
  r->tensors = calloc(count, sizeof *r->tensors);
  r->bare = calloc(count, sizeof *r->bare);
  r->data = calloc(count, sizeof *r->data);
  if (!r->tensors || !r->bare || !r->data) return fail(LATHE_ERROR_MEMORY, m->name, "no memory for external region %s", g->symbol);
  for (size_t i = 0; i < count; i++) {
    const lathe_operand *o = i < (size_t)g->input_count ? &g->inputs[i] : &g->outputs[i - (size_t)g->input_count];
    r->bare[i] = r->tensors[i] = (lathe_external_tensor){.shape = o->shape, .bytes = o->bytes, .dtype = lathe_dtype_name(o->dtype), .rank = o->rank};
  }
  if (equal(g->runtime, native)) return open_native(m, r, blob);
  lathe_status status = find_calls(m, r);
  if (status != LATHE_OK) return status;
  r->info = (lathe_external_info){
      .size = sizeof r->info,
      .workers = m->workers,
      .blob = blob.at,
      .bytes = blob.bytes,
      .symbol = g->symbol,
      .inputs = r->bare,
      .outputs = r->bare + g->input_count,
      .num_inputs = g->input_count,
      .num_outputs = g->output_count,
  };
  r->calls.open(&r->info, &r->module);
  return r->module ? LATHE_OK : say(LATHE_ERROR_PACKAGE, m, g, r->calls.last_error());
}

static void close_module(open_region *r) {
  if (r->module) r->calls.close(r->module);
  if (r->handle) dlclose(r->handle);
  if (r->fd >= 0) close(r->fd);
  r->module = NULL, r->code = NULL, r->handle = NULL, r->fd = -1;
}

/* least is the least time that the own steps of a region take, or its module and they. They are run so often, and for so long: threads of a
 * library, that go on spinning for milliseconds when they have nothing to do, disturb none of the runs by the end. */
static lathe_status least(lathe_model *m, open_region *r, int module, uint64_t *took) {
  enum { RACES = 4, RACED_BY = 20 * 1000 * 1000 };
  uint64_t begin = now();
  lathe_status status = LATHE_OK;
  *took = UINT64_MAX;
  for (int i = 0; status == LATHE_OK && (i < RACES || now() - begin < RACED_BY); i++) {
    uint64_t start = now(), each;
    if (module) status = run_region(m, r);
    if (status == LATHE_OK) status = run_library(m, r->region->first, r->region->last);
    each = now() - start;
    if (each < *took) *took = each;
  }
  return status;
}

/* race says in an error that the package's own steps compute a region in less time than its module does, on the zeros of fresh
 * memory. Behind the module own steps run, as in a network: it pays for the cores that it keeps busy when it has returned. */
static lathe_status race(lathe_model *m, open_region *r) {
  uint64_t own, both;
  lathe_status status = least(m, r, 0, &own);
  if (status == LATHE_OK) status = least(m, r, 1, &both);
  memset(m->ctx.workspace, 0, m->library->workspace);
  m->ctx.status = 0;
  if (status != LATHE_OK || both <= own || both - own <= own) return status;
  char cause[128];
  snprintf(cause, sizeof cause, "it takes %llu us, and the package's own steps %llu us", (unsigned long long)(both - own) / 1000, (unsigned long long)own / 1000);
  return say(LATHE_ERROR_STATE, m, r->region, cause);
}

/* lend gives a model whose inputs and outputs are the caller's memory for them, until take_back; NULL: there is none. */
static char *lend(lathe_model *m) {
  const lathe_library *l = m->library;
  plan p = {0};
  for (int32_t i = 0; i < l->input_count; i++) place(&p, l->inputs[i].bytes);
  for (int32_t i = 0; i < l->output_count; i++) place(&p, l->outputs[i].bytes);
  char *base = p.overflow ? NULL : calloc(1, p.total + 1);
  p.total = 0;
  for (int32_t i = 0; base && i < l->input_count; i++) m->ctx.inputs[i] = base + place(&p, l->inputs[i].bytes);
  for (int32_t i = 0; base && i < l->output_count; i++) m->ctx.outputs[i] = base + place(&p, l->outputs[i].bytes);
  return base;
}

static void take_back(lathe_model *m, char *lent) {
  for (int32_t i = 0; lent && i < m->library->input_count; i++) m->ctx.inputs[i] = NULL;
  for (int32_t i = 0; lent && i < m->library->output_count; i++) m->ctx.outputs[i] = NULL;
  free(lent);
}

static lathe_status open_regions(lathe_model *m) {
  const char *mode = getenv("LATHE_EXTERNAL");
  int off = mode && equal(mode, "off"), require = mode && equal(mode, "require");
  if (mode && *mode && !off && !require && !equal(mode, "auto"))
    return fail(LATHE_ERROR_ARGUMENT, m->name, "environment variable LATHE_EXTERNAL=%q: must be off, require or auto", mode);
  const package *p = m->package;
  int32_t count = region_count(m->library);
  char before[sizeof last_error];
  memcpy(before, last_error, sizeof before);
  lathe_status status = LATHE_OK;
  if (!(m->regions = calloc((size_t)count, sizeof *m->regions))) return fail(LATHE_ERROR_MEMORY, m->name, "no memory for external regions");
  for (int32_t i = 0; i < count; i++) m->regions[i].region = &m->library->regions[i], m->regions[i].fd = -1;
  for (int32_t i = 0; i < count && status == LATHE_OK; i++) {
    open_region *r = &m->regions[i];
    mapping blob = p->members[i];
    if (blob.at && (blob.bytes != r->region->bytes || crc32c(0, blob.at, blob.bytes) != r->region->digest))
      return fail(LATHE_ERROR_PACKAGE, m->name, "%s is damaged: its bytes do not have the digest that was written with them; copy the package again", r->region->member);
    int alone = r->region->flags & LATHE_NO_FALLBACK;
    if (off && alone)
      return say(LATHE_ERROR_ARGUMENT, m, r->region, "LATHE_EXTERNAL=off, and the package has no steps of its own for it (--external-fallback=false)");
    if (off) {
      r->note = strdup("LATHE_EXTERNAL=off");
      continue;
    }
    status = open_module(m, r, blob);
    if (status == LATHE_OK && !require && r->region->flags & LATHE_WHEN_FASTER) {
      char *lent = m->options.flags & LATHE_NO_BUFFERS ? lend(m) : NULL;
      status = race(m, r);
      take_back(m, lent);
    }
    if (status == LATHE_OK) continue;
    close_module(r);
    if (require || alone || !(r->note = strdup(last_error))) break;
    status = LATHE_OK;
  }
  if (status == LATHE_OK) memcpy(last_error, before, sizeof before);
  return status;
}

static void close_regions(lathe_model *m) {
  for (int32_t i = 0; m->regions && i < region_count(m->library); i++) {
    open_region *r = &m->regions[i];
    close_module(r);
    free(r->tensors), free(r->bare), free(r->data), free(r->note);
  }
  free(m->regions);
  m->regions = NULL;
}

#endif
