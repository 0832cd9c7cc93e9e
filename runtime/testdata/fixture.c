// A library as the compiler would write it, for the tests of the runtime: it imports nothing and has no writable data.
// Steps: 0 scales x into the work space, 1 reverses and adds a bias, 2 lists the indices of positive values (a
// data-dependent size) and reports status *fault, 3 checks scratch and 2000 barriers.
typedef signed int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

typedef struct {
  u32 arrived __attribute__((aligned(64)));
  u32 generation __attribute__((aligned(64)));
  u32 sleepers __attribute__((aligned(64)));
} barrier;

typedef struct {
  u32 abi, size;
  void **inputs, **outputs, **params;
  char *workspace, *scratch;
  u64 scratch_stride;
  barrier *bar;
  i64 *symbols;
  i32 status;
  u32 spin;
  void (*wait)(void *, u32 *, u32);
  void (*wake)(void *, u32 *);
  i32 (*external)(void *, i32, i32, i32);
  void *user;
} context;

_Static_assert(sizeof(context) == 112 && sizeof(barrier) == 192, "ABI");

#ifndef EXTRA
#define EXTRA 0 // added to y, to tell two libraries apart
#endif

enum { N = 1024, SCRATCH = 100 };

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void sync_workers(context *c, u32 workers) {
  barrier *b = c->bar;
  u32 seen = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == workers) {
    __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&b->generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&b->sleepers, __ATOMIC_SEQ_CST) != 0) c->wake(c->user, &b->generation);
    return;
  }
  for (u32 k = 0; __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == seen; k++) {
    if (k < c->spin || !c->wait) {
      pause_cpu();
      continue;
    }
    __atomic_add_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
    c->wait(c->user, &b->generation, seen);
    __atomic_sub_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
  }
}

static void scale(context *c, i32 lo, i32 hi) {
  const float *x = c->inputs[0], *s = c->params[0];
  float *w = (float *)c->workspace;
  for (i32 i = lo; i < hi; i++) w[i] = x[i] * s[i];
}

static void reverse(context *c, i32 lo, i32 hi) {
  const float *w = (float *)c->workspace, *bias = c->params[1];
  float *y = c->outputs[0];
  for (i32 i = lo; i < hi; i++) y[i] = w[N - 1 - i] + *bias + EXTRA;
}

static void positive(context *c) {
  const float *y = c->outputs[0];
  i64 *index = c->outputs[1], n = 0;
  for (i32 i = 0; i < N; i++)
    if (y[i] > 0) index[n++] = i;
  c->symbols[0] = n;
  c->status = *(i32 *)c->inputs[1];
}

static void stress(context *c, i32 worker, i32 workers) {
  volatile u32 *round = (volatile u32 *)c->workspace;
  volatile char *mine = (volatile char *)c->scratch + worker * c->scratch_stride;
  if ((u64)mine % 64 || (u64)c->workspace % 64 || c->scratch_stride < SCRATCH) c->status = 1001;
  for (i32 i = 0; i < SCRATCH; i++) mine[i] = (char)worker;
  for (u32 r = 1; r <= 1000; r++) {
    round[16 * worker] = r;
    sync_workers(c, workers);
    for (i32 w = 0; w < workers; w++)
      if (round[16 * w] != r) c->status = 1002;
    sync_workers(c, workers);
  }
  for (i32 i = 0; i < SCRATCH; i++)
    if (mine[i] != (char)worker) c->status = 1003;
}

__attribute__((visibility("default"))) i32 lathe_fixture_run(context *c, i32 worker, i32 workers, i32 first, i32 last) {
  i32 lo = N * worker / workers, hi = N * (worker + 1) / workers;
  for (i32 step = first; step < last; step++) {
    if (step > first) sync_workers(c, workers);
    if (step == 0) scale(c, lo, hi);
    if (step == 1) reverse(c, lo, hi);
    if (step == 2 && worker == 0) positive(c);
    if (step == 3) stress(c, worker, workers);
  }
  return c->status;
}
