/* While it is woken a worker may not run on the CPU of who wakes it, unless there is no other, and behind that it may run where it could
 * before. The runtime is part of this file, which calls functions of it that have no names outside. */
#define _GNU_SOURCE
#include <sched.h>
#include <semaphore.h>

#include "lathe.c"

#include "check.h"

enum { WORKERS = 6 };

static cpu_set_t masks[WORKERS];
static sem_t began, end;

static void *sleeper(void *arg) {
  member *m = arg;
  CHECK(sched_setaffinity(0, sizeof masks[0], &masks[m->worker]) == 0);
  store(&m->id, (uint32_t)gettid());
  sem_post(&began);
  sem_wait(&end);
  return NULL;
}

static void check(const crew *c, const cpu_set_t *const *want) {
  for (int w = 1; w < WORKERS - 1; w++) {
    cpu_set_t is;
    CHECK(sched_getaffinity((pid_t)c->members[w - 1].id, sizeof is, &is) == 0);
    CHECK(CPU_EQUAL(&is, want[w]));
  }
}

int main(void) {
  cpu_set_t all, here, there, both;
  int cpus[2], n = 0;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
    if (CPU_ISSET(i, &all)) cpus[n++] = i;
  if (n < 2) {
    puts("one CPU");
    return 0;
  }
  CPU_ZERO(&here);
  CPU_ZERO(&there);
  CPU_SET(cpus[0], &here);
  CPU_SET(cpus[1], &there);
  CPU_OR(&both, &here, &there);
  CHECK(sched_setaffinity(0, sizeof here, &here) == 0); /* so that the CPU does not change meanwhile */
  masks[1] = masks[4] = both, masks[2] = here, masks[3] = there;
  member members[WORKERS - 1] = {{0}}; /* the last two are too many, and one of them does not begin */
  crew c = {.workers = WORKERS, .members = members};
  CHECK(sem_init(&began, 0, 0) == 0 && sem_init(&end, 0, 0) == 0);
  for (int w = 1; w < WORKERS - 1; w++) {
    members[w - 1].worker = w;
    CHECK(pthread_create(&members[w - 1].thread, NULL, sleeper, &members[w - 1]) == 0);
    sem_wait(&began);
  }
  for (int k = 0; k < 2; k++) {
    keep_off(&c);
    check(&c, (const cpu_set_t *const[]){NULL, &there, &here, &there, &both});
    let_go(&c);
    check(&c, (const cpu_set_t *const[]){NULL, &both, &here, &there, &both});
  }
  for (int w = 1; w < WORKERS - 1; w++) sem_post(&end);
  for (int w = 1; w < WORKERS - 1; w++) pthread_join(members[w - 1].thread, NULL);
  puts("ok");
  return 0;
}
