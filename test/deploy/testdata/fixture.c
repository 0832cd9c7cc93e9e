// A library as the compiler would write it, for the tests of the C runtime: it imports nothing and has no writable data.
// Inputs: x float32[1,1024], fault int32[]. Constants: scale float32[1024], bias float32[]. Outputs: y = reverse(x * scale)
// + bias, and positive int64[n], the indices of positive values. Steps: 0 scales into the work space, 1 reverses, 2 lists
// the indices and sets the status *fault, 3 checks scratch and 200 meetings.
#include "../../../runtime/testdata/team.h"

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

// stress has every round write all its chunks once, and the next one find them written.
enum { CHUNKS = 48, ROUNDS = 100 };

static void stress(lathe_ctx *c, int32_t worker, int32_t workers) {
  uint32_t *round = c->workspace;
  volatile char *mine = (volatile char *)c->scratch + (size_t)worker * c->scratch_stride;
  if ((uintptr_t)mine % 64 || (uintptr_t)c->workspace % 64 || c->scratch_stride < SCRATCH) c->status = 1001;
  for (uint32_t r = 0; r <= 2 * ROUNDS; r++) {
    int32_t chunks = r % 2 ? CHUNKS : 1; // a serial step looks at what the divided one before it wrote
    for (int32_t i = -1; (i = next(c, worker, workers, chunks, i)) >= 0;) {
      for (int32_t k = 0; k < SCRATCH; k++) mine[k] = (char)worker;
      if (chunks > 1) round[16 * i]++;
      for (int32_t k = 0; chunks == 1 && k < CHUNKS; k++) {
        if (r > 0 && round[16 * k] != 1) c->status = 1002;
        round[16 * k] = 0;
      }
      for (int32_t k = 0; k < SCRATCH; k++)
        if (mine[k] != (char)worker) c->status = 1003;
    }
    sync_workers(c, worker, workers, 1);
  }
}

static int32_t run(lathe_ctx *c, int32_t worker, int32_t workers, int32_t first, int32_t last) {
  for (int32_t step = first; step < last; step++) {
    int32_t chunks = step == 2 ? 1 : 8;
    for (int32_t i = -1; step < 3 && (i = next(c, worker, workers, chunks, i)) >= 0;) {
      int32_t lo = N * i / chunks, hi = N * (i + 1) / chunks;
      if (step == 0) scale(c, lo, hi);
      if (step == 1) reverse(c, lo, hi);
      if (step == 2) positive(c);
    }
    if (step == 3) stress(c, worker, workers);
    sync_workers(c, worker, workers, step + 1 < last || worker == 0);
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
