// A library as the compiler would write it, for the tests of the C runtime: it imports nothing and has no writable data.
// Inputs: x float32[1,1024], fault int32[]. Constants: scale float32[1024], bias float32[]. Outputs: y = reverse(x * scale)
// + bias, and positive int64[n], the indices of positive values. Steps: 0 scales into the work space, 1 reverses, 2 lists
// the indices and sets the status *fault, 3 checks scratch and 200 barriers.
#include "lathe.h"

#ifndef ABI
#define ABI LATHE_ABI
#endif
#ifndef FEATURES
#define FEATURES ""
#endif
#ifndef WORKSPACE
#define WORKSPACE 4 * N
#endif
#ifndef EXTRA
#define EXTRA 0 // added to y, to tell two libraries apart
#endif
#ifndef MODULE
#define MODULE fixture
#endif

#ifdef OLD // as compilers wrote it before there were digests
#define SIZE offsetof(lathe_library, flags)
#define FLAGS ~0u
#else
#define SIZE sizeof(lathe_library)
#define FLAGS 0
#endif

enum { N = 1024, SCRATCH = 100 };

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

static void meet(lathe_ctx *c, int32_t workers) {
  lathe_barrier *b = c->barrier;
  uint32_t seen = __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE);
  if (workers <= 1) return;
  if (__atomic_add_fetch(&b->arrived, 1, __ATOMIC_ACQ_REL) == (uint32_t)workers) {
    __atomic_store_n(&b->arrived, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&b->generation, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&b->sleepers, __ATOMIC_SEQ_CST) != 0) c->wake(c->user, &b->generation);
    return;
  }
  for (uint32_t k = 0; __atomic_load_n(&b->generation, __ATOMIC_ACQUIRE) == seen; k++) {
    if (k < __atomic_load_n(&c->spin, __ATOMIC_RELAXED) || !c->wait) {
      pause_cpu();
      continue;
    }
    __atomic_add_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
    c->wait(c->user, &b->generation, seen);
    __atomic_sub_fetch(&b->sleepers, 1, __ATOMIC_SEQ_CST);
  }
}

static void scale(lathe_ctx *c, int32_t lo, int32_t hi) {
  const float *x = c->inputs[0], *s = c->params[0];
  float *w = c->workspace;
  for (int32_t i = lo; i < hi; i++) w[i] = x[i] * s[i];
}

static void reverse(lathe_ctx *c, int32_t lo, int32_t hi) {
  const float *w = c->workspace, *bias = c->params[1];
  float *y = c->outputs[0];
  for (int32_t i = lo; i < hi; i++) y[i] = w[N - 1 - i] + *bias + EXTRA;
}

static void positive(lathe_ctx *c) {
  const float *y = c->outputs[0];
  int64_t *index = c->outputs[1], n = 0;
  for (int32_t i = 0; i < N; i++)
    if (y[i] > 0) index[n++] = i;
  c->symbols[0] = n;
  c->status = *(const int32_t *)c->inputs[1];
}

static void stress(lathe_ctx *c, int32_t worker, int32_t workers) {
  uint32_t *round = c->workspace;
  volatile char *mine = (volatile char *)c->scratch + (size_t)worker * c->scratch_stride;
  if ((uintptr_t)mine % 64 || (uintptr_t)c->workspace % 64 || c->scratch_stride < SCRATCH) c->status = 1001;
  for (int32_t i = 0; i < SCRATCH; i++) mine[i] = (char)worker;
  for (uint32_t r = 1; r <= 100; r++) {
    __atomic_store_n(&round[16 * worker], r, __ATOMIC_RELAXED);
    meet(c, workers);
    for (int32_t w = 0; w < workers; w++)
      if (__atomic_load_n(&round[16 * w], __ATOMIC_RELAXED) != r) c->status = 1002;
    meet(c, workers);
  }
  for (int32_t i = 0; i < SCRATCH; i++)
    if (mine[i] != (char)worker) c->status = 1003;
}

static int32_t run(lathe_ctx *c, int32_t worker, int32_t workers, int32_t first, int32_t last) {
  int32_t lo = N * worker / workers, hi = N * (worker + 1) / workers;
  for (int32_t step = first; step < last; step++) {
    if (step > first) meet(c, workers);
    if (step == 0) scale(c, lo, hi);
    if (step == 1) reverse(c, lo, hi);
    if (step == 2 && worker == 0) positive(c);
    if (step == 3) stress(c, worker, workers);
  }
  return c->status;
}

static const int64_t line[] = {1, N}, count[] = {N};
static const int32_t first_symbol[] = {0};

static const lathe_tensor_info inputs[] = {
    {"x", line, 0, 4 * N, 2, LATHE_FLOAT32},
    {"fault", 0, 0, 4, 0, LATHE_INT32},
};
static const lathe_tensor_info outputs[] = {
    {"y", line, 0, 4 * N, 2, LATHE_FLOAT32},
    {"positive", count, first_symbol, 8 * N, 1, LATHE_INT64},
};

// The strings of constants and steps, and where each begins; the constant and the step share "scale".
static const char strings[] = "scale\0" "bias\0" "mul\0" "reverse\0" "flip\nadd\0" "positive\0" "stress";
enum { SCALE = 0, BIAS = 6, MUL = 11, REVERSE = 15, FLIP_ADD = 23, POSITIVE = 32, STRESS = 41, NOTHING = 47 };
static const lathe_param_info params[] = {{SCALE, 4 * N, 0}, {BIAS, 4, 4 * N}};
static const lathe_step_info steps[] = {{SCALE, MUL}, {REVERSE, FLIP_ADD}, {POSITIVE, NOTHING}, {STRESS, NOTHING}};

#ifdef WEIGHTS // linked in: scale[i] is i % 7 - 3, as in the test's package, and bias 0.5
#define SEVEN -3, -2, -1, 0, 1, 2, 3,
#define FORTY_NINE SEVEN SEVEN SEVEN SEVEN SEVEN SEVEN SEVEN
static const _Alignas(64) float weights[N + 1] = {
    FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE
    FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE FORTY_NINE
    SEVEN SEVEN SEVEN SEVEN SEVEN SEVEN -3, -2, 0.5f};
#define IMAGE weights, sizeof weights
#else
#define IMAGE 0, 0
#endif

#define NAME2(module) lathe_##module##_library
#define NAME(module) NAME2(module)
#define STRING2(s) #s
#define STRING(s) STRING2(s)

__attribute__((visibility("default"))) extern const lathe_library NAME(MODULE);
const lathe_library NAME(MODULE) = {
    ABI, SIZE, STRING(MODULE), "lathe test", "fixture.onnx", "llvm", FEATURES, inputs, outputs, params, steps, strings,
    2, 2, 2, 4, 1, 0, WORKSPACE, SCRATCH, IMAGE, run, FLAGS, 0,
};
#ifdef SHARED
__attribute__((visibility("default"), alias(STRING(NAME(MODULE))))) extern const lathe_library in_shared_objects __asm__("lathe_library");
#endif
