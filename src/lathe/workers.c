/* Part of lathe.c: how many workers a model gets. */

enum { MOST_WORKERS = 1024 };

#if !defined(LATHE_NO_THREADS) && defined(__linux__)

/* first_number reads a number that follows blanks; -1 if there is none. */
static int64_t first_number(const char **s) {
  while (**s == ' ' || **s == '\n' || **s == '\t') ++*s;
  if (**s < '0' || **s > '9') return -1;
  int64_t n = 0;
  for (; **s >= '0' && **s <= '9'; ++*s)
    if (n < INT64_MAX / 16) n = 10 * n + (**s - '0');
  return n;
}

static int64_t file_number(const char *format, int cpu) {
  char path[96], content[64];
  snprintf(path, sizeof path, format, cpu);
  const char *s = content;
  return read_start(path, content, sizeof content) ? first_number(&s) : -1;
}

/* physical_cores counts the cores behind the CPUs of a mask: two threads of one core share its arithmetic units. It counts
 * no further than MOST_WORKERS. */
static int physical_cores(const unsigned long *mask, size_t words, int cpus) {
  const char *active = "/sys/devices/system/cpu/smt/active";
  if (file_number(active, 0) == 0) return cpus;
  struct {
    int64_t package, die, core;
  } seen[MOST_WORKERS];
  int count = 0;
  for (size_t i = 0; i < words * sizeof *mask * CHAR_BIT && count < MOST_WORKERS; i++) {
    if (!(mask[i / (sizeof *mask * CHAR_BIT)] >> i % (sizeof *mask * CHAR_BIT) & 1)) continue;
    int cpu = (int)i, known = 0;
    /* Core numbers repeat from package to package and, on some machines, from die to die. */
    int64_t core = file_number("/sys/devices/system/cpu/cpu%d/topology/core_id", cpu);
    int64_t package = file_number("/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    int64_t die = file_number("/sys/devices/system/cpu/cpu%d/topology/die_id", cpu);
    if (core < 0) core = -2 - cpu;
    for (int k = 0; k < count && !known; k++) known = seen[k].core == core && seen[k].package == package && seen[k].die == die;
    if (known) continue;
    seen[count].core = core, seen[count].package = package, seen[count].die = die;
    count++;
  }
  return count;
}

/* quotient is quota / period in CPUs, rounded up, or INT_MAX without a limit. */
static int quotient(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0 || (quota - 1) / period + 1 > INT_MAX) return INT_MAX;
  return (int)((quota - 1) / period + 1);
}

static int quota_of(const char *folder, int version) {
  char path[640], content[64];
  const char *s = content;
  if (version == 2) {
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_start(path, content, sizeof content)) return INT_MAX;
    int64_t quota = first_number(&s); /* "max" is none */
    return quotient(quota, first_number(&s));
  }
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  int64_t quota = read_start(path, content, sizeof content) ? first_number(&s) : -1;
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
  s = content;
  return quotient(quota, read_start(path, content, sizeof content) ? first_number(&s) : -1);
}

/* cpu_quota is the number of CPUs that the control groups of this process allow. A limit may stand on any ancestor. In a
 * container the path may be the host's, which is not there; its own limits are at the root then. */
static int cpu_quota(void) {
  char groups[4096], folder[576];
  int quota = INT_MAX;
  if (!read_start("/proc/self/cgroup", groups, sizeof groups)) return quota;
  for (char *line = groups, *next; line && *line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path) continue;
    *path++ = 0;
    controllers++;
    int version = line[0] == '0' && !*controllers ? 2 : 1, cpu = version == 2;
    for (char *c = controllers; !cpu && c; c = strchr(c, ',')) {
      if (*c == ',') c++;
      cpu = strncmp(c, "cpu", 3) == 0 && (c[3] == 0 || c[3] == ',');
    }
    int n = snprintf(folder, sizeof folder, "%s%s", version == 2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu", path);
    if (!cpu || n < 0 || (size_t)n >= sizeof folder) continue;
    for (size_t root = version == 2 ? 14 : 18;;) {
      int q = quota_of(folder, version);
      if (q < quota) quota = q;
      char *slash = strrchr(folder, '/');
      if (!slash || (size_t)(slash - folder) < root) break;
      *slash = 0;
    }
  }
  return quota;
}

/* allowed_workers returns how many workers can run at once, and how many should: one per physical core. */
static void allowed_workers(int *most, int *best) {
  static const size_t words = 16384 / CHAR_BIT / sizeof(unsigned long);
  unsigned long mask[16384 / CHAR_BIT / sizeof(unsigned long)] = {0};
  int cpus = 0;
  if (syscall(SYS_sched_getaffinity, 0, sizeof mask, mask) > 0)
    for (size_t i = 0; i < words; i++) cpus += __builtin_popcountl(mask[i]);
  int quota = cpu_quota();
  if (cpus == 0) cpus = 1;
  *most = quota < cpus ? quota : cpus;
  int cores = physical_cores(mask, words, cpus);
  *best = cores > 0 && cores < *most ? cores : *most;
}

#elif !defined(LATHE_NO_THREADS)

static void allowed_workers(int *most, int *best) {
  long n = 1;
#ifdef _SC_NPROCESSORS_ONLN
  n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  *most = *best = n < 1 ? 1 : n > MOST_WORKERS ? MOST_WORKERS : (int)n;
}

#endif

/* count_workers decides the number of workers of a model that gains from limit at most (0: any number), and whether they
 * are more than the CPUs they may run on, so that spinning would keep a worker from its CPU. */
static lathe_status count_workers(const char *name, int32_t asked, int32_t limit, int32_t *workers, int *crowded) {
  *workers = 1;
  *crowded = 0;
  if (asked < 0 || asked > MOST_WORKERS)
    return fail(LATHE_ERROR_ARGUMENT, name, "%d workers: must be from 1 to %d, or 0", asked, MOST_WORKERS);
#ifdef LATHE_NO_THREADS
  (void)limit;
#else
  static const char *const variables[] = {"LATHE_NUM_THREADS", "TVM_NUM_THREADS"};
  for (int i = 0; i < COUNT(variables) && asked == 0; i++) {
    const char *value = getenv(variables[i]);
    if (!value || !*value) continue;
    char *end;
    long n = strtol(value, &end, 10);
    if (*end || n < 1 || n > MOST_WORKERS)
      return fail(LATHE_ERROR_ARGUMENT, name, "environment variable %s=%q: must be a number from 1 to %d", variables[i], value, MOST_WORKERS);
    asked = (int32_t)n;
  }
  if (limit == 1) return LATHE_OK;
  int most = 1, best = 1;
  allowed_workers(&most, &best);
  if (asked == 0) asked = best < MOST_WORKERS ? best : MOST_WORKERS;
  if (limit > 0 && asked > limit) asked = limit;
  *workers = asked;
  *crowded = asked > most;
#endif
  return LATHE_OK;
}
