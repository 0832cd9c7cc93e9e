/* Part of lathe.c: threads. */

#ifdef LATHE_NO_THREADS

/* Without threads a flag is enough; small processors have no atomic instructions. */
static uint32_t load(const uint32_t *word) { return *(const volatile uint32_t *)word; }
static void store(uint32_t *word, uint32_t value) { *(volatile uint32_t *)word = value; }
static int exchange_if(uint32_t *word, uint32_t from, uint32_t to) {
  if (load(word) != from) return 0;
  store(word, to);
  return 1;
}
#ifndef LATHE_NO_FILES
static uint32_t add(uint32_t *word, uint32_t n) {
  store(word, load(word) + n);
  return load(word);
}
#endif

#else

static uint32_t load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }
static void store(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); }
static int exchange_if(uint32_t *word, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(word, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static uint32_t add(uint32_t *word, uint32_t n) { return __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST); }

/* How long a worker looks before it sleeps: for a step that others finish, and for another run. Who sleeps frees its CPU for others, and
 * waking costs 10 to 150 us where each has a CPU of its own; within a run, on a machine that wakes threads on the CPU of who wakes
 * them (see keep_off), milliseconds. Callers that run a model in a loop come back within the time for another run, and an idle process pays it once.
 *
 * A worker that lost its CPU in the middle of a chunk gets one that is free, but no earlier than who waits for it sleeps. So after a run
 * in which somebody waited in vain the next HASTY_RUNS have less patience; then one tries whether it is needed no more. */
enum { STEP_PATIENCE_NS = 1000000, HASTY_PATIENCE_NS = 50000, IDLE_PATIENCE_NS = 50000, HASTY_RUNS = 31 };

/* A crew is the workers of a model. The caller's thread is worker 0, whose call of the library returns when all is done; the others
 * are started by the first run, sleep between runs and end when the model is closed. Nobody waits for them: one that comes
 * late finds its work done by others, also when the run is over and another one in progress. Words that different threads
 * write lie in different cache lines. */
typedef struct crew {
  lathe_run_function run;
  lathe_ctx *ctx;
  struct member *members;
  int32_t workers;
  strength takes; /* how many of them */
  int started;
  pid_t owner; /* the process whose threads they are: a child of fork has none of them */
  uint32_t spin_ns;
  uint32_t patience, hasty_patience; /* pauses before a step */
  uint32_t naps;                     /* what the word was on which the team sleeps */
  uint32_t hasty;                    /* runs to come of less patience */
#ifndef LATHE_FUTEX
  pthread_mutex_t lock;
  pthread_cond_t moved;
#endif
  _Alignas(64) uint32_t job; /* begins and ends of runs: odd while there is one, whose numbers follow */
  uint32_t sleepers;         /* workers that sleep on job */
  uint32_t stop;
  uint32_t steps[2]; /* from, to */
  uint32_t size;     /* who take part, from the caller on */
  uint32_t base[2];  /* the chunks that were done before, low half and high */
} crew;

/* CPU_WORDS hold a bit for each of 1024 CPUs. */
enum { CPU_WORDS = 128 / sizeof(unsigned long), CPU_WORD_BITS = 8 * sizeof(unsigned long) };

typedef struct member {
  crew *crew;
  int32_t worker;
  pthread_t thread;
#ifdef LATHE_AFFINITY
  uint32_t id; /* Linux's of the thread, 0 before it has begun */
  int kept;    /* from the caller's CPU */
  unsigned long cpus[CPU_WORDS];
#endif
} member;

/* wait_word returns when the word is not seen, when it is woken, or for no reason. */
static void wait_word(crew *c, uint32_t *word, uint32_t seen) {
#ifdef LATHE_FUTEX
  (void)c;
  syscall(SYS_futex, word, 0 | 128 /* wait, private */, seen, NULL, NULL, 0);
#else
  pthread_mutex_lock(&c->lock);
  if (load(word) == seen) pthread_cond_wait(&c->moved, &c->lock);
  pthread_mutex_unlock(&c->lock);
#endif
}

static void wake_word(crew *c, uint32_t *word) {
#ifdef LATHE_FUTEX
  (void)c;
  syscall(SYS_futex, word, 1 | 128 /* wake, private */, INT_MAX, NULL, NULL, 0);
#else
  (void)word;
  pthread_mutex_lock(&c->lock);
  pthread_cond_broadcast(&c->moved);
  pthread_mutex_unlock(&c->lock);
#endif
}

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
  __asm__ volatile("pause" ::: "memory");
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#elif defined(__arm__) && __ARM_ARCH >= 7
  __asm__ volatile("yield" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

static uint64_t now(void);

/* sleep_until_job returns when there is a run that is not seen: it looks for spin_ns, then sleeps. While it sleeps it counts in
 * sleepers; who changes the word wakes when that is not zero. Both sides write before they read, so one of them sees the
 * other. */
static uint32_t sleep_until_job(crew *c, uint32_t seen) {
  uint32_t job;
  if (c->spin_ns > 0) {
    uint64_t start = now();
    do {
      for (int looks = 0; looks < 16; looks++) {
        if ((job = __atomic_load_n(&c->job, __ATOMIC_ACQUIRE)) % 2 == 1 && job != seen) return job;
        pause_cpu();
      }
    } while (now() - start < c->spin_ns);
  }
  add(&c->sleepers, 1);
  while ((job = load(&c->job)) % 2 == 0 || job == seen) wait_word(c, &c->job, job);
  add(&c->sleepers, (uint32_t)-1);
  return job;
}

/* pauses_of is how many pauses of this CPU take so long; one takes 5 to 60 ns. The least of some tries counts, for others may take the
 * CPU meanwhile. */
static uint32_t pauses_of(uint64_t ns) {
  enum { TRIES = 5, PAUSES = 200 };
  uint64_t least = UINT64_MAX;
  for (int k = 0; k < TRIES; k++) {
    uint64_t start = now(), took;
    for (int i = 0; i < PAUSES; i++) pause_cpu();
    took = now() - start;
    if (took < least) least = took;
  }
  if (least < PAUSES) least = PAUSES;
  return (uint32_t)(ns * PAUSES / least);
}

/* look_again sets the patience for the next run by whether somebody slept in the last one. */
static void look_again(crew *c) {
  uint32_t naps = load(&c->ctx->team->asleep);
  int slept = naps != c->naps;
  c->naps = naps;
  if (c->hasty > 0) c->hasty--;
  else if (slept) c->hasty = HASTY_RUNS;
  store(&c->ctx->spin, c->hasty > 0 ? c->hasty_patience : c->patience);
}

static void on_wait(void *user, uint32_t *addr, uint32_t seen) { wait_word(user, addr, seen); }

static void on_wake(void *user, uint32_t *addr) { wake_word(user, addr); }

#ifdef LATHE_AFFINITY

/* How many threads are kept away: it takes three system calls for each, 3 us in all, and of more workers one matters less. */
enum { MOST_KEPT = 3 };

static int kept_at_most(const crew *c) { return c->workers - 1 < MOST_KEPT ? c->workers - 1 : MOST_KEPT; }

/* keep_off keeps workers from the caller's CPU, if they may run on another, until let_go lets them run where they could before. Linux puts a
 * thread that it wakes on the CPU of who wakes it, where it knows no other to be idle, and in a guest of KVM it knows none: a CPU that the
 * guest has halted counts as one that the hypervisor took away. The thread then waits there until the caller is done, or for some
 * milliseconds until threads are balanced, and the caller computes alone. A thread that has been woken stays where it is. The CPUs are
 * its own from then on: it does not follow a cpuset that is widened later. */
static void keep_off(crew *c) {
  unsigned cpu = 0;
  if (syscall(SYS_getcpu, &cpu, NULL, NULL) != 0 || cpu >= CPU_WORDS * CPU_WORD_BITS) return;
  for (int i = 0; i < kept_at_most(c); i++) {
    member *m = &c->members[i];
    unsigned long here = 1ul << cpu % CPU_WORD_BITS, others[CPU_WORDS];
    int count = 0;
    memset(m->cpus, 0, sizeof m->cpus);
    if (load(&m->id) == 0 || syscall(SYS_sched_getaffinity, load(&m->id), sizeof m->cpus, m->cpus) <= 0) continue;
    for (int k = 0; k < (int)CPU_WORDS; k++) count += __builtin_popcountl(others[k] = m->cpus[k]);
    if (count == 1 || !(others[cpu / CPU_WORD_BITS] & here)) continue;
    others[cpu / CPU_WORD_BITS] &= ~here;
    m->kept = syscall(SYS_sched_setaffinity, load(&m->id), sizeof others, others) == 0;
  }
}

static void let_go(crew *c) {
  for (int i = 0; i < kept_at_most(c); i++) {
    member *m = &c->members[i];
    if (m->kept) syscall(SYS_sched_setaffinity, load(&m->id), sizeof m->cpus, m->cpus);
    m->kept = 0;
  }
}

#else

static void keep_off(crew *c) { (void)c; }
static void let_go(crew *c) { (void)c; }

#endif

static void post(crew *c) {
  add(&c->job, 1);
  if (load(&c->sleepers) == 0) return;
  int ends = load(&c->stop) != 0; /* threads that end are gone before they could be let go */
  if (!ends) keep_off(c);
  wake_word(c, &c->job);
  if (!ends) let_go(c);
}

/* work is the life of a worker. What it read of a run that ended meanwhile may be that of two, and is not used. */
static void *work(void *arg) {
  member *m = arg;
  crew *c = m->crew;
#ifdef LATHE_AFFINITY
  store(&m->id, (uint32_t)syscall(SYS_gettid));
#endif
  for (uint32_t seen = 0;;) {
    seen = sleep_until_job(c, seen);
    if (load(&c->stop)) return NULL;
    int32_t first = (int32_t)load(&c->steps[0]), last = (int32_t)load(&c->steps[1]);
    uint64_t base = load(&c->base[0]) | (uint64_t)load(&c->base[1]) << 32;
    int32_t workers = (int32_t)load(&c->size);
    if (load(&c->job) != seen || m->worker >= workers) continue;
    c->ctx->parts[m->worker].base = base;
    c->run(c->ctx, m->worker, workers, first, last);
  }
}

static void stop_crew(crew *c, int32_t count) {
  store(&c->stop, 1);
  post(c);
  for (int32_t i = 0; i < count; i++) pthread_join(c->members[i].thread, NULL);
  add(&c->job, 1);
  store(&c->stop, 0);
  c->started = 0;
#ifndef LATHE_FUTEX
  pthread_cond_destroy(&c->moved);
  pthread_mutex_destroy(&c->lock);
#endif
}

/* prepare_crew sets up what threads of this process synchronise by; what a child of fork finds may count threads of its
 * parent, and is not destroyed. */
static void prepare_crew(crew *c) {
  c->owner = getpid();
  c->job = c->sleepers = c->stop = 0;
#ifndef LATHE_FUTEX
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->moved, NULL);
#endif
}

/* start_crew makes the threads. They take no signals, which are the program's. */
static lathe_status start_crew(const char *name, crew *c) {
  sigset_t all, before;
  sigfillset(&all);
  prepare_crew(c);
#ifdef LATHE_AFFINITY
  for (int32_t i = 0; i < c->workers - 1; i++) c->members[i].id = 0, c->members[i].kept = 0;
#endif
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int32_t count = 0;
  int error = 0;
  for (; count < c->workers - 1; count++) {
    member *m = &c->members[count];
    m->crew = c;
    m->worker = count + 1;
    if ((error = pthread_create(&m->thread, NULL, work, m)) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) {
    stop_crew(c, count);
    return fail(LATHE_ERROR_MEMORY, name, "no thread for worker %d of %d: %s", count + 1, c->workers, strerror(error));
  }
  c->started = 1;
  return LATHE_OK;
}

/* run_crew calls the library on so many workers and returns when the steps are done. The others are woken too, look for another run and sleep. */
static lathe_status run_crew(const char *name, crew *c, int32_t workers, int32_t first, int32_t last) {
  if (workers == 1) {
    c->run(c->ctx, 0, 1, first, last);
    return LATHE_OK;
  }
  if (!c->started || c->owner != getpid()) {
    lathe_status status = start_crew(name, c);
    if (status != LATHE_OK) return status;
  }
  uint64_t base = c->ctx->team->done;
  store(&c->steps[0], (uint32_t)first);
  store(&c->steps[1], (uint32_t)last);
  store(&c->base[0], (uint32_t)base);
  store(&c->base[1], (uint32_t)(base >> 32));
  store(&c->size, (uint32_t)workers);
  post(c);
  c->ctx->parts[0].base = base;
  c->run(c->ctx, 0, workers, first, last);
  add(&c->job, 1);
  look_again(c);
  return LATHE_OK;
}

#endif
