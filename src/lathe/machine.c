/* Part of lathe.c: what this machine is. */

/* A feature that compiled code may need: LLVM's name, where the machine tells, and the bits of XCR0 that must be set. */
typedef struct cpu_feature {
  const char *name;
  uint8_t word, bit; /* of the machine's words */
  uint32_t state;
} cpu_feature;

/* What a machine tells: the words of its table, and on x86-64 the registers that the system saves. */
typedef struct cpu_answer {
  uint64_t words[8];
  uint64_t xcr0;
} cpu_answer;

#if __STDC_HOSTED__ && defined(__linux__) && (!defined(LATHE_NO_THREADS) || defined(__arm__) || defined(__riscv))

/* read_start reads the beginning of a small file of the kernel's as a string; 0 when there is none. */
static int read_start(const char *path, char *buffer, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t n = 0;
  for (ssize_t k = 1; k > 0 && n < size - 1;) {
    k = read(fd, buffer + n, size - 1 - n);
    if (k > 0) n += (size_t)k;
    if (k < 0 && errno == EINTR) k = 1;
  }
  close(fd);
  buffer[n] = 0;
  return n > 0;
}

#endif

/* Keys of the auxiliary vector, which is right under an emulator too. */
#define HWCAP 16
#define HWCAP2 26

#if defined(__x86_64__)

#include <cpuid.h>

#define MACHINE "x86_64"

typedef struct cpu_leaf {
  uint32_t leaf, sub;
  uint8_t reg; /* 0 to 3: eax, ebx, ecx, edx */
} cpu_leaf;

/* Begin of x86_64 */
/* Written by go generate ./internal/cpu; internal/isa says what the words are. */
static const cpu_feature cpu_features[] = {
    {"sse3", 0, 0, 0x0}, {"pclmul", 0, 1, 0x0}, {"ssse3", 0, 9, 0x0}, {"fma", 0, 12, 0x6}, {"cx16", 0, 13, 0x0},
    {"sse4.1", 0, 19, 0x0}, {"sse4.2", 0, 20, 0x0}, {"crc32", 0, 20, 0x0}, {"movbe", 0, 22, 0x0},
    {"popcnt", 0, 23, 0x0}, {"aes", 0, 25, 0x0}, {"avx", 0, 28, 0x6}, {"f16c", 0, 29, 0x6}, {"bmi", 1, 3, 0x0},
    {"avx2", 1, 5, 0x6}, {"bmi2", 1, 8, 0x0}, {"avx512f", 1, 16, 0xe6}, {"avx512dq", 1, 17, 0xe6}, {"adx", 1, 19, 0x0},
    {"avx512ifma", 1, 21, 0xe6}, {"avx512cd", 1, 28, 0xe6}, {"sha", 1, 29, 0x0}, {"avx512bw", 1, 30, 0xe6},
    {"avx512vl", 1, 31, 0xe6}, {"avx512vbmi", 2, 1, 0xe6}, {"avx512vbmi2", 2, 6, 0xe6}, {"gfni", 2, 8, 0x0},
    {"vaes", 2, 9, 0x6}, {"vpclmulqdq", 2, 10, 0x6}, {"avx512vnni", 2, 11, 0xe6}, {"avx512bitalg", 2, 12, 0xe6},
    {"avx512vpopcntdq", 2, 14, 0xe6}, {"avx512vp2intersect", 3, 8, 0xe6}, {"amx-bf16", 3, 22, 0x60000},
    {"avx512fp16", 3, 23, 0xe6}, {"amx-tile", 3, 24, 0x60000}, {"amx-int8", 3, 25, 0x60000}, {"sha512", 4, 0, 0x6},
    {"sm3", 4, 1, 0x6}, {"sm4", 4, 2, 0x6}, {"avxvnni", 4, 4, 0x6}, {"avx512bf16", 4, 5, 0xe6},
    {"amx-fp16", 4, 21, 0x60000}, {"avxifma", 4, 23, 0x6}, {"avxvnniint8", 5, 4, 0x6}, {"avxneconvert", 5, 5, 0x6},
    {"amx-complex", 5, 8, 0x60000}, {"avxvnniint16", 5, 10, 0x6}, {"sahf", 6, 0, 0x0}, {"lzcnt", 6, 5, 0x0},
    {"sse4a", 6, 6, 0x0}, {"xop", 6, 11, 0x6}, {"fma4", 6, 16, 0x6}, {"tbm", 6, 21, 0x0},
};

static const cpu_leaf cpu_leaves[] = {{0x1, 0, 2}, {0x7, 0, 1}, {0x7, 0, 2}, {0x7, 0, 3}, {0x7, 1, 0}, {0x7, 1, 3}, {0x80000001, 0, 2}};

static const struct {
  const char *features, *advice;
} cpu_levels[] = {
    {"", "with --target \"llvm -mcpu=x86-64\""},
    {"popcnt sse3 sse4.1 sse4.2 ssse3", "with --target \"llvm -mcpu=x86-64-v2\""},
    {"avx avx2 bmi bmi2 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 ssse3", "with --target \"llvm -mcpu=x86-64-v3\""},
    {"avx avx2 avx512bw avx512cd avx512dq avx512f avx512vl bmi bmi2 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 ssse3", "with --target \"llvm -mcpu=x86-64-v4\""},
};
/* End of x86_64 */

typedef void cpuid_function(uint32_t leaf, uint32_t sub, uint32_t *regs);

/* read_leaves fills the words from what cpuid answers. Leaves and parts that there are not count as zeros, where some
 * processors repeat another leaf. */
static void read_leaves(cpuid_function *cpuid, uint64_t xcr0, cpu_answer *m) {
  uint32_t most[2][4], parts[4], r[4];
  cpuid(0, 0, most[0]), cpuid(0x80000000, 0, most[1]), cpuid(7, 0, parts);
  for (int i = 0; i < COUNT(cpu_leaves); i++) {
    const cpu_leaf *l = &cpu_leaves[i];
    if (l->leaf > most[l->leaf >> 31][0] || (l->leaf == 7 && l->sub > parts[0])) continue;
    cpuid(l->leaf, l->sub, r);
    m->words[i] = r[l->reg];
  }
  cpuid(1, 0, r);
  m->xcr0 = r[2] >> 27 & 1 ? xcr0 : 0;
}

static void ask_cpuid(uint32_t leaf, uint32_t sub, uint32_t *r) { __cpuid_count(leaf, sub, r[0], r[1], r[2], r[3]); }

static int read_machine(cpu_answer *m) {
  uint32_t r[4];
  ask_cpuid(1, 0, r);
  uint32_t low = 0, high = 0;
  if (r[2] >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0)); /* programs may read what the system saves */
  read_leaves(ask_cpuid, (uint64_t)high << 32 | low, m);
  return 1;
}

#elif defined(__aarch64__)

#define MACHINE "aarch64"

/* Begin of aarch64 */
/* Written by go generate ./internal/cpu; internal/isa says what the words are. */
static const cpu_feature cpu_features[] = {
    {"fp-armv8", 0, 0, 0x0}, {"neon", 0, 1, 0x0}, {"aes", 0, 4, 0x0}, {"sha2", 0, 6, 0x0}, {"crc", 0, 7, 0x0},
    {"lse", 0, 8, 0x0}, {"fullfp16", 0, 10, 0x0}, {"rdm", 0, 12, 0x0}, {"jsconv", 0, 13, 0x0},
    {"complxnum", 0, 14, 0x0}, {"rcpc", 0, 15, 0x0}, {"sha3", 0, 17, 0x0}, {"sm4", 0, 19, 0x0}, {"dotprod", 0, 20, 0x0},
    {"sve", 0, 22, 0x0}, {"fp16fml", 0, 23, 0x0}, {"rcpc-immo", 0, 26, 0x0}, {"flagm", 0, 27, 0x0}, {"sve2", 1, 1, 0x0},
    {"sve-aes", 1, 2, 0x0}, {"sve2-aes", 1, 2, 0x0}, {"sve-bitperm", 1, 4, 0x0}, {"sve2-bitperm", 1, 4, 0x0},
    {"sve-sha3", 1, 5, 0x0}, {"sve2-sha3", 1, 5, 0x0}, {"sve-sm4", 1, 6, 0x0}, {"sve2-sm4", 1, 6, 0x0},
    {"altnzcv", 1, 7, 0x0}, {"fptoint", 1, 8, 0x0}, {"f32mm", 1, 10, 0x0}, {"f64mm", 1, 11, 0x0}, {"i8mm", 1, 13, 0x0},
    {"bf16", 1, 14, 0x0}, {"sme", 1, 23, 0x0}, {"sme-i16i64", 1, 24, 0x0}, {"sme-f64f64", 1, 25, 0x0},
    {"cssc", 1, 34, 0x0}, {"sve2p1", 1, 36, 0x0}, {"sme2", 1, 37, 0x0}, {"sme2p1", 1, 38, 0x0},
    {"sme-b16b16", 1, 41, 0x0}, {"sme-f16f16", 1, 42, 0x0}, {"mops", 1, 43, 0x0}, {"sve-b16b16", 1, 45, 0x0},
    {"rcpc3", 1, 46, 0x0}, {"lut", 1, 49, 0x0}, {"faminmax", 1, 50, 0x0}, {"fp8", 1, 51, 0x0}, {"fp8fma", 1, 52, 0x0},
    {"fp8dot4", 1, 53, 0x0}, {"fp8dot2", 1, 54, 0x0},
};
/* End of aarch64 */

static int read_machine(cpu_answer *m) {
#if __STDC_HOSTED__ && defined(__linux__)
  uint64_t *words = m->words;
  words[0] = getauxval(HWCAP);
  words[1] = getauxval(HWCAP2);
  return 1;
#else
  (void)m;
  return 0;
#endif
}

#elif defined(__arm__)

#define MACHINE "arm"

/* Begin of arm */
/* Written by go generate ./internal/cpu; internal/isa says what the words are. */
static const cpu_feature cpu_features[] = {
    {"neon", 0, 12, 0x0}, {"vfp3", 0, 13, 0x0}, {"vfp4", 0, 16, 0x0}, {"hwdiv-arm", 0, 17, 0x0}, {"hwdiv", 0, 18, 0x0},
    {"aes", 1, 1, 0x0}, {"sha2", 1, 3, 0x0}, {"crc", 1, 4, 0x0}, {"fp16", 2, 0, 0x0}, {"fp-armv8", 2, 1, 0x0},
};
/* End of arm */

static int read_machine(cpu_answer *m) {
#if __STDC_HOSTED__ && defined(__linux__)
  uint64_t *words = m->words;
  words[0] = getauxval(HWCAP);
  words[1] = getauxval(HWCAP2);
  /* The kernel has no bit for conversions of half precision: every VFPv4 has them, and the Cortex-A9. */
  char info[4096];
  int half = (words[0] >> 16 & 1) || (read_start("/proc/cpuinfo", info, sizeof info) && strstr(info, "0xc09") != NULL);
  /* Nor for the floating point of ARMv8, which is where its other instructions are. */
  words[2] = (uint64_t)half | (uint64_t)(words[1] != 0) << 1;
  return 1;
#else
  (void)m;
  return 0;
#endif
}

#elif defined(__riscv) && __riscv_xlen == 64

#define MACHINE "riscv64"

/* Begin of riscv64 */
/* Written by go generate ./internal/cpu; internal/isa says what the words are. */
static const cpu_feature cpu_features[] = {
    {"a", 0, 0, 0x0}, {"c", 0, 2, 0x0}, {"d", 0, 3, 0x0}, {"f", 0, 5, 0x0}, {"m", 0, 12, 0x0}, {"v", 0, 21, 0x0},
    {"zba", 1, 3, 0x0}, {"zbb", 1, 4, 0x0}, {"zbs", 1, 5, 0x0}, {"zbc", 1, 7, 0x0}, {"zvbb", 1, 17, 0x0},
    {"zfh", 1, 27, 0x0}, {"zfhmin", 1, 28, 0x0}, {"zvfh", 1, 30, 0x0}, {"zvl128b", 2, 2, 0x0}, {"zvl256b", 2, 3, 0x0},
    {"zvl512b", 2, 4, 0x0}, {"zvl1024b", 2, 5, 0x0},
};
/* End of riscv64 */

#if __STDC_HOSTED__ && defined(__linux__)

/* in_isa looks an extension up in the isa line of /proc/cpuinfo: rv64imafdc_zba_zbb. */
static int in_isa(const char *isa, const char *extension) {
  size_t n = length(extension);
  for (const char *p = strchr(isa, '_'); p && p < strchr(isa, '\n'); p = strchr(p + 1, '_'))
    if (strncmp(p + 1, extension, n) == 0 && strchr("_\n", p[1 + n])) return 1;
  return 0;
}

#endif

static int read_machine(cpu_answer *m) {
#if __STDC_HOSTED__ && defined(__linux__)
  uint64_t *words = m->words;
  words[0] = getauxval(HWCAP);
  struct {
    int64_t key;
    uint64_t value;
  } probe = {4 /* extensions */, 0};
  if (syscall(258 /* riscv_hwprobe */, &probe, 1, 0, NULL, 0) == 0 && probe.key == 4) words[1] = probe.value;
  char info[8192];
  const char *isa = read_start("/proc/cpuinfo", info, sizeof info) ? strstr(info, "isa\t") : NULL;
  if (isa && strchr(isa, '\n'))
    for (int i = 0; i < COUNT(cpu_features); i++)
      if (cpu_features[i].word == 1 && in_isa(isa, cpu_features[i].name)) words[1] |= UINT64_C(1) << cpu_features[i].bit;
  if (words[0] >> 21 & 1) {
    uint64_t bytes;
    __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb */
    for (int bit = 0; bit < 6; bit++) words[2] |= (uint64_t)(bytes * 8 >= UINT64_C(32) << bit) << bit;
  }
  return 1;
#else
  (void)m;
  return 0;
#endif
}

#else

#if defined(__i386__)
#define MACHINE "i386"
#else
#define MACHINE "this machine"
#endif

static const cpu_feature cpu_features[] = {{"", 0, 0, 0}};

static int read_machine(cpu_answer *m) {
  (void)m;
  return 0;
}

#endif

/* has tells whether a machine has a feature; one that nobody knows it has not. */
static int has(const char *feature, size_t n, const cpu_answer *m) {
  for (int i = 0; i < COUNT(cpu_features); i++) {
    const cpu_feature *f = &cpu_features[i];
    if (length(f->name) == n && memcmp(f->name, feature, n) == 0) return (m->xcr0 & f->state) == f->state && (m->words[f->word] >> f->bit & 1);
  }
  return 0;
}

static int has_all(const char *features, const cpu_answer *m, text *missing) {
  int all = 1;
  for (const char *p = features; *p;) {
    size_t n = 0;
    while (p[n] && p[n] != ' ') n++;
    if (n > 0 && !has(p, n, m)) {
      all = 0;
      if (missing) put(missing, ' ');
      for (size_t i = 0; missing && i < n; i++) put(missing, p[i]);
    }
    p += n;
    while (*p == ' ') p++;
  }
  return all;
}

/* advice says how to compile for a machine. */
static const char *advice(const cpu_answer *m) {
#if defined(__x86_64__)
  for (int i = COUNT(cpu_levels) - 1; i > 0; i--)
    if (has_all(cpu_levels[i].features, m, NULL)) return cpu_levels[i].advice;
  return cpu_levels[0].advice;
#else
  (void)m;
  return "with --target \"llvm -mtriple=" MACHINE "-linux-gnu\" and this machine's -mcpu";
#endif
}

/* permit asks the system for the registers that features need and that it gives to no process unasked; 0 when it refuses. What it gave
 * once, all threads of the process have. */
static int permit(const char *features) {
#if defined(__x86_64__) && defined(__linux__)
  enum { ARCH_PRCTL = 158, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  for (const char *p = features; *p; p += *p == ' ') {
    size_t n = 0;
    while (p[n] && p[n] != ' ') n++;
    for (int i = 0; i < COUNT(cpu_features); i++) {
      const cpu_feature *f = &cpu_features[i];
      if (!(f->state >> TILE_DATA & 1) || length(f->name) != n || memcmp(f->name, p, n) != 0) continue;
      long result;
      __asm__ volatile("syscall" : "=a"(result) : "a"((long)ARCH_PRCTL), "D"((long)REQUEST_PERMISSION), "S"((long)TILE_DATA) : "rcx", "r11", "memory");
      return result == 0;
    }
    p += n;
  }
#else
  (void)features;
#endif
  return 1;
}

/* check_cpu refuses code that would end in an illegal instruction. Where the machine cannot be asked (without an operating
 * system) the code is taken at its word. */
static lathe_status check_cpu(const char *name, const lathe_library *l) {
  cpu_answer m = {{0}, 0};
  if (!l->features[0] || !read_machine(&m)) return LATHE_OK;
  char list[256];
  text missing = {list, list + sizeof list - 1, 0};
  if (has_all(l->features, &m, &missing)) {
    if (permit(l->features)) return LATHE_OK;
    return fail(LATHE_ERROR_TARGET, name, "needs registers for amx-tile, which the system does not give to this process; recompile with -mattr=-amx-tile in the target");
  }
  finish(&missing);
  return fail(LATHE_ERROR_TARGET, name, "needs the CPU features%s, which this CPU does not have; recompile %s", list, advice(&m));
}
