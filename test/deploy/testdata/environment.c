// A run neither depends on the caller's mode of computing with floats nor changes it, and callbacks see the caller's:
// environment NET.so, a network with its weights inside.
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

#if defined(__x86_64__)
static uint64_t control(void) { return __builtin_ia32_stmxcsr(); }
static void set_control(uint64_t v) { __builtin_ia32_ldmxcsr((uint32_t)v); }
static const uint64_t odd[] = {0x1f80, 0x7f80, 0x3f80, 0x9fc0, 0x1f80 ^ 0x0080, 0x1fbf}; // rounding, flushing, a trap, flags
#elif defined(__aarch64__)
static uint64_t control(void) {
  uint64_t v;
  __asm__ volatile("mrs %0, fpcr" : "=r"(v));
  return v;
}
static void set_control(uint64_t v) { __asm__ volatile("msr fpcr, %0" ::"r"(v)); }
static const uint64_t odd[] = {0, 1u << 22, 2u << 22, 3u << 22, 1u << 24, 1u << 25};
#else
static uint64_t control(void) { return (uint64_t)fegetround(); }
static void set_control(uint64_t v) { fesetround((int)v); }
static const uint64_t odd[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
#endif

static uint64_t expected;
static atomic_int calls, wrong;

static void wait_for(void *user, uint32_t *addr, uint32_t seen) {
  (void)user, (void)addr, (void)seen;
  calls++;
  if (control() != expected) wrong++;
}

static void wake(void *user, uint32_t *addr) {
  (void)user, (void)addr;
  calls++;
  if (control() != expected) wrong++;
}

typedef struct job {
  const lathe_library *library;
  lathe_ctx *ctx;
  int32_t worker;
} job;

static void *work(void *arg) {
  job *j = arg;
  uint64_t before = control();
  set_control(expected);
  CHECK(j->library->run(j->ctx, j->worker, 2, 0, j->library->step_count) == 0);
  if (control() != expected) wrong++;
  set_control(before);
  return NULL;
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  lathe_model *m;
  OK(lathe_open(argv[1], NULL, &m));
  const lathe_library *l = lathe_model_library(m);
  CHECK(l->weights && l->input_count == 1 && l->output_count == 1);
  size_t n = l->inputs[0].bytes / 4, bytes = l->outputs[0].bytes;
  float *x = lathe_input_data(m, 0);
  for (size_t i = 0; i < n; i++) x[i] = (float)(i * 37 % 101) / 50 - 1;
  void *first = malloc(bytes), *y = malloc(bytes);
  OK(lathe_run(m));
  memcpy(first, lathe_output_data(m, 0), bytes);

  uint64_t before = control();
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    set_control(odd[i]);
    lathe_status status = lathe_run(m);
    uint64_t after = control();
    set_control(before);
    CHECK(status == LATHE_OK && after == odd[i]);
    CHECK(memcmp(lathe_output_data(m, 0), first, bytes) == 0);
  }

  static _Alignas(64) lathe_team team;
  static _Alignas(64) lathe_part parts[2];
  size_t stride = (l->scratch + 63) / 64 * 64;
  void *params[l->param_count + 1], *inputs[] = {x}, *outputs[] = {y};
  for (int32_t i = 0; i < l->param_count; i++) params[i] = (char *)(uintptr_t)l->weights + l->params[i].offset;
  void *space = aligned_alloc(64, (l->workspace + 63) / 64 * 64 + 2 * stride + 64);
  lathe_ctx ctx = {.abi = LATHE_ABI, .size = sizeof ctx, .inputs = inputs, .outputs = outputs, .params = params, .workspace = space,
                   .scratch = (char *)space + (l->workspace + 63) / 64 * 64, .scratch_stride = stride, .team = &team, .parts = parts, .wait = wait_for, .wake = wake};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
    expected = odd[i];
    /* Both wait behind the first step for a chunk before it that is not finished. */
    parts[0].base = parts[1].base = team.done + 1;
    pthread_t threads[2];
    job jobs[2] = {{l, &ctx, 0}, {l, &ctx, 1}};
    for (int w = 0; w < 2; w++) CHECK(pthread_create(&threads[w], NULL, work, &jobs[w]) == 0);
    while (__atomic_load_n(&team.asleep, __ATOMIC_SEQ_CST) % 2 == 0) usleep(100);
    __atomic_add_fetch(&team.done, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&team.asleep, 1, __ATOMIC_SEQ_CST);
    for (int w = 0; w < 2; w++) pthread_join(threads[w], NULL);
    CHECK(wrong == 0 && memcmp(y, first, bytes) == 0);
  }
  CHECK(calls > 0);
  printf("%d calls\n", calls);
  free(first), free(y), free(space);
  OK(lathe_close(m));
  return 0;
}
