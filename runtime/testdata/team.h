// How compiled code shares the chunks of steps among workers, in C: a second opinion on package llvm's.
#include "../../include/lathe.h"

static void pause_cpu(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// claim returns a chunk of a step of so many; -1: all are claimed, and the step is behind the worker.
static int32_t claim(lathe_ctx *c, int32_t worker, int32_t workers, int32_t chunks) {
  lathe_part *me = &c->parts[worker];
  uint64_t tag = (me->base + 1) << 24;
  for (int32_t k = 0; k < workers; k++) {
    int32_t v = (worker + k) % workers;
    uint64_t *word = &c->parts[v].claim, w = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    for (;;) {
      int64_t ahead = (int64_t)((w & ~(uint64_t)0xffffff) - tag);
      if (ahead > 0) goto over;
      uint32_t from = (uint32_t)(w >> 12) & 0xfff, to = (uint32_t)w & 0xfff;
      if (ahead < 0) from = (uint32_t)((v * chunks + workers - 1) / workers), to = (uint32_t)(((v + 1) * chunks + workers - 1) / workers);
      if (from >= to) break;
      uint32_t chunk = k == 0 ? from++ : --to;
      if (!__atomic_compare_exchange_n(word, &w, tag | from << 12 | to, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
      me->mine++;
      return (int32_t)chunk;
    }
  }
over:
  me->base += (uint64_t)chunks;
  return -1;
}

// meet tells of what the worker has finished, and returns when all steps behind it are done, if it is to stay.
static void meet(lathe_ctx *c, int32_t worker, int stay) {
  lathe_part *me = &c->parts[worker];
  lathe_team *t = c->team;
  if (me->mine != 0) {
    uint64_t done = __atomic_add_fetch(&t->done, me->mine, __ATOMIC_SEQ_CST);
    me->mine = 0;
    uint32_t sleeps = done == me->base ? __atomic_load_n(&t->asleep, __ATOMIC_SEQ_CST) : 0;
    if (sleeps % 2 == 1 && __atomic_compare_exchange_n(&t->asleep, &sleeps, sleeps + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
      c->wake(c->user, &t->asleep);
  }
  for (uint32_t k = 0; stay && (int64_t)(__atomic_load_n(&t->done, __ATOMIC_ACQUIRE) - me->base) < 0; k++) {
    if (k < c->spin || !c->wait) {
      pause_cpu();
      continue;
    }
    uint32_t nap = __atomic_fetch_or(&t->asleep, 1, __ATOMIC_SEQ_CST) | 1;
    if ((int64_t)(__atomic_load_n(&t->done, __ATOMIC_SEQ_CST) - me->base) < 0) c->wait(c->user, &t->asleep, nap);
  }
}

// next is claim for one worker and several: of one worker, which has no team, the first chunk is all, and last says that it was had.
static int32_t next(lathe_ctx *c, int32_t worker, int32_t workers, int32_t chunks, int32_t last) {
  if (workers > 1) return claim(c, worker, workers, chunks);
  return last < chunks - 1 ? last + 1 : -1;
}

static void sync_workers(lathe_ctx *c, int32_t worker, int32_t workers, int stay) {
  if (workers > 1) meet(c, worker, stay);
}
