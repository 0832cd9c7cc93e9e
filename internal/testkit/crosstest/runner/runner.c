/* Runs libraries that lathe compiled, one per line of standard input:
 *
 *   LIBRARY DATA SYMBOL WORKERS STRIDE WORKSPACE SYMBOLS INPUTS OFFSET... OUTPUTS OFFSET... PARAMS OFFSET...
 *
 * DATA is a file that holds the tensors at the given offsets and, from SYMBOLS on, the extents that the run finds out.
 * It is mapped and changed in place. STRIDE is the scratch of a worker and WORKSPACE their common memory, both in bytes.
 * The answer is one line: "ok STATUS" or "error TEXT". */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The table of docs/ARCHITECTURE.md. */
typedef struct {
  uint32_t abi, size;
  void **inputs, **outputs, **params;
  void *workspace, *scratch;
  size_t scratch_stride;
  void *team, *parts;
  int64_t *symbols;
  int32_t status;
  uint32_t spin;
  void (*wait)(void *user, uint32_t *addr, uint32_t seen);
  void (*wake)(void *user, uint32_t *addr);
  int32_t (*external)(void *user, int32_t step, int32_t worker, int32_t workers);
  void *user;
} context;

typedef int32_t run_function(context *ctx, int32_t worker, int32_t workers, int32_t first, int32_t last);

typedef struct {
  pthread_t thread;
  run_function *run;
  context *ctx;
  int32_t worker, workers, status;
} share;

/* Calls back on every wait and wake, so that both are seen to be called as the table says. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void wait_for_change(void *user, uint32_t *addr, uint32_t seen) {
  (void)user;
  pthread_mutex_lock(&lock);
  while (__atomic_load_n(addr, __ATOMIC_SEQ_CST) == seen)
    pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

static void wake_all(void *user, uint32_t *addr) {
  (void)user, (void)addr;
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static void *work(void *p) {
  share *s = p;
  s->status = s->run(s->ctx, s->worker, s->workers, 0, INT32_MAX);
  return NULL;
}

/* table reads a count and as many offsets, and returns their addresses. */
static void **table(char *base) {
  char *word = strtok(NULL, " \n");
  size_t n = word ? strtoull(word, NULL, 10) : 0;
  void **list = calloc(n + 1, sizeof *list);
  for (size_t i = 0; i < n && (word = strtok(NULL, " \n")); i++)
    list[i] = base + strtoull(word, NULL, 10);
  return list;
}

static void *cache_lines(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (p)
    memset(p, 0xA5, bytes);
  return p;
}

static const char *run_line(char *line, int32_t *status) {
  const char *library = strtok(line, " \n"), *data = strtok(NULL, " \n"), *symbol = strtok(NULL, " \n"), *word;
  size_t number[4];
  for (int i = 0; i < 4; i++) {
    if (!(word = strtok(NULL, " \n")))
      return "line too short";
    number[i] = strtoull(word, NULL, 10);
  }
  int fd = open(data, O_RDWR);
  struct stat st;
  if (fd < 0 || fstat(fd, &st))
    return "cannot open the data";
  char *base = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (base == MAP_FAILED)
    return "cannot map the data";
  void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!lib)
    return dlerror();
  run_function *run = (run_function *)dlsym(lib, symbol);
  if (!run)
    return "no such symbol";
  int32_t workers = number[0];
  context ctx = {.abi = 2, .size = sizeof(context), .scratch_stride = number[1], .spin = 100};
  ctx.workspace = cache_lines(number[2]);
  ctx.scratch = cache_lines(number[1] * workers);
  ctx.team = aligned_alloc(128, 128);
  ctx.parts = aligned_alloc(128, 128 * workers);
  if (!ctx.workspace || !ctx.scratch || !ctx.team || !ctx.parts)
    return "out of memory";
  memset(ctx.team, 0, 128);
  memset(ctx.parts, 0, 128 * workers);
  ctx.symbols = (int64_t *)(base + number[3]);
  ctx.wait = wait_for_change;
  ctx.wake = wake_all;
  ctx.inputs = table(base);
  ctx.outputs = table(base);
  ctx.params = table(base);
  share *all = calloc(workers, sizeof *all);
  for (int32_t w = 0; w < workers; w++)
    all[w] = (share){.run = run, .ctx = &ctx, .worker = w, .workers = workers};
  for (int32_t w = 1; w < workers; w++)
    if (pthread_create(&all[w].thread, NULL, work, &all[w]))
      return "cannot start a thread";
  work(&all[0]);
  for (int32_t w = 1; w < workers; w++)
    pthread_join(all[w].thread, NULL);
  *status = all[0].status;
  free(all), free(ctx.inputs), free(ctx.outputs), free(ctx.params);
  free(ctx.workspace), free(ctx.scratch), free(ctx.team), free(ctx.parts);
  dlclose(lib);
  munmap(base, st.st_size);
  return NULL;
}

int main(void) {
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    int32_t status = 0;
    const char *error = run_line(line, &status);
    if (error)
      printf("error %s\n", error);
    else
      printf("ok %d\n", status);
    fflush(stdout);
  }
  return 0;
}
