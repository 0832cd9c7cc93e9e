// A library as the compiler would write it, for the tests of the runtime: it imports nothing and has no writable data.
// Steps: 0 scales x into the work space, 1 reverses and adds a bias, 2 lists the indices of positive values (a
// data-dependent size) and reports status *fault, 3 checks scratch and 2000 meetings.
#include "team.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef lathe_ctx context;

#ifndef EXTRA
#define EXTRA 0 // added to y, to tell two libraries apart
#endif

enum { N = 1024, SCRATCH = 100 };

static void scale(context *c, i32 lo, i32 hi) {
  const float *x = c->inputs[0], *s = c->params[0];
  float *w = c->workspace;
  for (i32 i = lo; i < hi; i++) w[i] = x[i] * s[i];
}

static void reverse(context *c, i32 lo, i32 hi) {
  const float *w = c->workspace, *bias = c->params[1];
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

// stress has every round write all its chunks once, and the next one find them written.
enum { CHUNKS = 48, ROUNDS = 1000 };

static void stress(context *c, int32_t worker, int32_t workers) {
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

__attribute__((visibility("default"))) i32 lathe_fixture_run(context *c, i32 worker, i32 workers, i32 first, i32 last) {
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

