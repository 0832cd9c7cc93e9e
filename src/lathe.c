/* SPDX-License-Identifier: Apache-2.0
 *
 * lathe.c: the runtime behind lathe.h, in one file of C11 with the compiler's atomics (GCC, Clang). It needs pthreads and
 * the dynamic linker, and can do without either:
 *
 *   -DLATHE_NO_THREADS   one worker; no pthreads.
 *   -DLATHE_NO_FILES     no lathe_open: libraries are linked in (lathe_open_library); no dlopen, no mmap.
 *   -DLATHE_NO_EXTERNAL  no run-time modules of external code generators: the packages' own steps compute all. LATHE_NO_FILES
 *                        implies it, as does a machine without an operating system.
 *   -DLATHE_NO_FUTEX     workers sleep on a condition variable, as on systems other than Linux.
 *   -ffreestanding       both of the first, no allocation (lathe_options.memory) and no clock: for microcontrollers. memcpy,
 *                        memset and memcmp must exist, as GCC asks of every program.
 *
 * The order of this file: messages, digests, parameters, CPU features, threads, models, runs, opening,
 * regions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "lathe.h"

#include <stdarg.h>

#if __STDC_HOSTED__
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#else
#define LATHE_NO_THREADS
#define LATHE_NO_FILES
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
#endif

#ifndef LATHE_NO_FILES
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#else
#define LATHE_NO_EXTERNAL
#endif

#ifndef LATHE_NO_EXTERNAL
#include "lathe_external.h"
#endif

#ifndef LATHE_NO_THREADS
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#endif

#if __STDC_HOSTED__ && defined(__linux__)
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__linux__) && !defined(LATHE_NO_THREADS) && !defined(LATHE_NO_FUTEX)
#define LATHE_FUTEX 1
#if !defined(SYS_futex) && defined(SYS_futex_time64)
#define SYS_futex SYS_futex_time64
#endif
#endif

_Static_assert(sizeof(lathe_ctx) == (sizeof(void *) == 8 ? 120 : 68), "lathe_ctx is laid out as compiled code expects");
_Static_assert(sizeof(lathe_team) == 640 && sizeof(lathe_part) == 128, "laid out as compiled code expects");
_Static_assert(sizeof(lathe_library) == 12 * 4 + 16 * sizeof(void *), "lathe_library is laid out as the compiler writes it");

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

#ifdef LATHE_NO_THREADS
static char last_error[512];
#else
static _Thread_local char last_error[512];
#endif

/* text appends to a buffer; what does not fit is dropped, and finish shows that. */
typedef struct text {
  char *at;
  char *end; /* the byte for the final zero */
  int cut;
} text;

static void put(text *t, char c) {
  if (t->at < t->end) *t->at++ = c;
  else t->cut = 1;
}

/* finish ends the text, and one that was cut with "...", in front of a whole character of UTF-8. */
static void finish(text *t) {
  if (t->cut) {
    t->at -= 3;
    while ((*t->at & 0xc0) == 0x80) t->at--;
    for (int i = 0; i < 3; i++) *t->at++ = '.';
  }
  *t->at = 0;
}

static void put_string(text *t, const char *s) {
  while (*s) put(t, *s++);
}

/* put_name writes a name in quotes, without what would break the line. */
static void put_name(text *t, const char *s, size_t n) {
  put(t, '"');
  for (size_t i = 0; i < n && s[i]; i++) put(t, (unsigned char)s[i] < ' ' ? '?' : s[i]);
  put(t, '"');
}

static void put_number(text *t, int64_t value) {
  char digits[20];
  int n = 0;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do digits[n++] = (char)('0' + rest % 10);
  while ((rest /= 10) != 0);
  if (value < 0) put(t, '-');
  while (n > 0) put(t, digits[--n]);
}

static size_t length(const char *s) {
  size_t n = 0;
  while (s[n]) n++;
  return n;
}

static int equal(const char *a, const char *b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

static void put_type(text *t, int32_t dtype, const int64_t *shape, int32_t rank) {
  put_string(t, lathe_dtype_name(dtype));
  put(t, '[');
  for (int32_t i = 0; i < rank; i++) {
    if (i > 0) put(t, ',');
    put_number(t, shape[i]);
  }
  put(t, ']');
}

/* fail keeps a message for lathe_last_error and returns the status. name is the package's, or NULL. The format knows %s,
 * %q (a string in quotes), %n (bytes and their number, in quotes), %d (int32_t), %z (size_t), %b (a size_t of bytes, with
 * the noun), %l (int64_t) and %t (the type of a const lathe_tensor_info *). */
static lathe_status fail(lathe_status status, const char *name, const char *format, ...) {
  text t = {last_error, last_error + sizeof last_error - 1, 0};
  put_string(&t, "lathe: ");
  if (name) {
    size_t n = length(name), most = sizeof last_error / 3; /* a long path leaves room for the cause */
    if (n > most) put_string(&t, "...");
    put_string(&t, n > most ? name + n - most : name);
    put_string(&t, ": ");
  }
  va_list args;
  va_start(args, format);
  for (const char *f = format; *f; f++) {
    if (*f != '%') {
      put(&t, *f);
      continue;
    }
    switch (*++f) {
      case 's': put_string(&t, va_arg(args, const char *)); break;
      case 'd': put_number(&t, va_arg(args, int32_t)); break;
      case 'z': put_number(&t, (int64_t)va_arg(args, size_t)); break;
      case 'l': put_number(&t, va_arg(args, int64_t)); break;
      case 'b': {
        size_t n = va_arg(args, size_t);
        put_number(&t, (int64_t)n);
        put_string(&t, n == 1 ? " byte" : " bytes");
        break;
      }
      case 'q': {
        const char *s = va_arg(args, const char *);
        put_name(&t, s, length(s));
        break;
      }
      case 'n': {
        const char *s = va_arg(args, const char *);
        put_name(&t, s, va_arg(args, size_t));
        break;
      }
      case 't': {
        const lathe_tensor_info *i = va_arg(args, const lathe_tensor_info *);
        put_type(&t, i->dtype, i->shape, i->rank);
        break;
      }
      default: put(&t, *f);
    }
  }
  va_end(args);
  finish(&t);
  return status;
}

const char *lathe_last_error(void) { return last_error; }

const char *lathe_status_text(lathe_status status) {
  static const char *const texts[] = {
      "success",
      "wrong argument",
      "a file is missing or cannot be read",
      "not a package, or a damaged one",
      "made for another version of the runtime",
      "made for another processor",
      "out of memory",
      "the model is in use by another thread",
      "an input was not set, or the model has not run",
      "the model computed an index or a size that is out of range",
  };
  return (int)status >= 0 && (int)status < COUNT(texts) ? texts[status] : "unknown status";
}

const char *lathe_dtype_name(int32_t dtype) {
  static const struct {
    int32_t dtype;
    const char *name;
  } names[] = {
      {LATHE_INT4, "int4"},
      {LATHE_INT8, "int8"},
      {LATHE_INT16, "int16"},
      {LATHE_INT32, "int32"},
      {LATHE_INT64, "int64"},
      {LATHE_BOOL, "bool"},
      {LATHE_UINT4, "uint4"},
      {LATHE_UINT8, "uint8"},
      {LATHE_UINT16, "uint16"},
      {LATHE_UINT32, "uint32"},
      {LATHE_UINT64, "uint64"},
      {LATHE_FLOAT16, "float16"},
      {LATHE_FLOAT32, "float32"},
      {LATHE_FLOAT64, "float64"},
      {LATHE_BFLOAT16, "bfloat16"},
      {LATHE_FLOAT8_E4M3FN, "float8_e4m3fn"},
      {LATHE_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz"},
      {LATHE_FLOAT8_E5M2, "float8_e5m2"},
      {LATHE_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz"},
  };
  for (int i = 0; i < COUNT(names); i++)
    if (names[i].dtype == dtype) return names[i].name;
  return "unknown";
}

size_t lathe_dtype_size(int32_t dtype) {
  return equal(lathe_dtype_name(dtype), "unknown") ? 0 : ((size_t)(dtype & 0xff) + 7) / 8;
}

/* ---- Digests ----------------------------------------------------------------------------------------------------- */

/* crc32c continues a CRC-32C. It notices damage, and is no signature. Eight bytes a step with 8 KB of tables on the stack, or,
 * without an operating system, four bits a step with 64 bytes. */
static uint32_t crc32c(uint32_t sum, const unsigned char *b, size_t n) {
#if __STDC_HOSTED__
  enum { STEP = 8, BITS = 8 };
#else
  enum { STEP = 1, BITS = 4 };
#endif
  uint32_t table[STEP][1 << BITS];
  for (uint32_t i = 0; i < 1 << BITS; i++) {
    uint32_t c = i;
    for (int k = 0; k < BITS; k++) c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0);
    table[0][i] = c;
  }
  sum = ~sum;
#if __STDC_HOSTED__
  for (int k = 1; k < STEP; k++)
    for (int i = 0; i < 1 << BITS; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
  for (; n >= STEP; n -= STEP, b += STEP) {
    uint32_t low = sum ^ (b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    sum = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^ table[3][b[4]] ^
          table[2][b[5]] ^ table[1][b[6]] ^ table[0][b[7]];
  }
  while (n-- > 0) sum = sum >> 8 ^ table[0][(sum ^ *b++) & 255];
#else
  while (n-- > 0) {
    sum ^= *b++;
    sum = sum >> 4 ^ table[0][sum & 15];
    sum = sum >> 4 ^ table[0][sum & 15];
  }
#endif
  return ~sum;
}

/* flags_of gives the descriptor's flags; those of older compilers have none. */
static uint32_t flags_of(const lathe_library *l) {
  return l->size >= offsetof(lathe_library, params_digest) + sizeof l->params_digest ? l->flags : 0;
}

/* region_count gives the number of regions; descriptors of older compilers have none. */
static int32_t region_count(const lathe_library *l) {
  return l->size >= offsetof(lathe_library, region_count) + sizeof l->region_count ? l->region_count : 0;
}

/* check_weights compares weights, of which params are those that lie beside the library, with their digest if there is one. */
static lathe_status check_weights(const char *name, const lathe_library *l, const void *params, size_t bytes) {
  if (!(flags_of(l) & LATHE_PARAMS_DIGEST) || l->param_count == 0) return LATHE_OK;
  if (l->weights) params = l->weights, bytes = l->weights_size;
  if (crc32c(0, params, bytes) == l->params_digest) return LATHE_OK;
  return fail(LATHE_ERROR_PACKAGE, name,
              "the weights are damaged: their bytes do not have the digest that was written with them; copy the package again, or recompile the model");
}

/* ---- Parameters: TVM's parameter blob ---------------------------------------------------------------------------- */

#define PARAMS_MAGIC UINT64_C(0xF7E58D4F05049CB7)
#define TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

/* cursor walks over bytes. After a read beyond the end, short_of is set and every later read gives zero. */
typedef struct cursor {
  const unsigned char *at, *end;
  int short_of;
} cursor;

static const unsigned char *take(cursor *c, uint64_t n) {
  if (c->short_of || n > (uint64_t)(c->end - c->at)) {
    c->short_of = 1;
    return NULL;
  }
  const unsigned char *p = c->at;
  c->at += n;
  return p;
}

static uint64_t little(const unsigned char *b, int n) {
  uint64_t v = 0;
  while (n-- > 0) v = v << 8 | b[n];
  return v;
}

static uint64_t take_u64(cursor *c) {
  const unsigned char *b = take(c, 8);
  return b ? little(b, 8) : 0;
}

static int is_prefix(const char *prefix, const void *bytes, size_t n) {
  size_t k = length(prefix);
  return n >= k && memcmp(bytes, prefix, k) == 0;
}

/* take_tensor reads a tensor's header, checks that shape and type take as many bytes as it says, and returns its data. */
static const unsigned char *take_tensor(cursor *c, uint64_t *bytes, const char **cause) {
  const unsigned char *head = take(c, 32); /* magic, reserved, device, rank, type */
  if (!head) return NULL;
  uint64_t rank = little(head + 24, 4), size = ((uint64_t)head[29] + 7) / 8;
  if (little(head, 8) != TENSOR_MAGIC || rank > 64 || little(head + 30, 2) != 1) {
    *cause = "has a damaged header";
    return NULL;
  }
  int empty = 0;
  for (uint64_t i = 0; i < rank; i++) {
    uint64_t extent = take_u64(c);
    if (extent == 0) empty = 1;
    else if (extent > (UINT64_C(1) << 46) / (size ? size : 1)) size = UINT64_C(1) << 46; /* more than there can be */
    else size *= extent;
  }
  *bytes = take_u64(c);
  if (!c->short_of && *bytes != (empty ? 0 : size)) {
    *cause = "has another size than its shape";
    return NULL;
  }
  return take(c, *bytes);
}

/* read_params fills table with the addresses of the library's constants in a blob, which is used in place. */
static lathe_status read_params(const char *name, const lathe_library *l, const void *blob, size_t bytes, void **table) {
  cursor c = {blob, (const unsigned char *)blob + bytes, 0};
  if (take_u64(&c) != PARAMS_MAGIC)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: not a TVM parameter blob (wrong magic number)");
  take_u64(&c); /* reserved */
  uint64_t count = take_u64(&c);
  if (c.short_of || count > (uint64_t)(c.end - c.at) / 8)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated or damaged: %l names in %b", (int64_t)count, bytes);
  cursor names = c;
  for (uint64_t i = 0; i < count; i++) take(&c, take_u64(&c));
  uint64_t tensors = take_u64(&c);
  if (c.short_of || tensors != count)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated or damaged: the list of names");
  for (int32_t i = 0; i < l->param_count; i++) table[i] = NULL;
  int32_t next = 0, found = 0; /* constants are usually in the library's order */
  for (uint64_t i = 0; i < count; i++) {
    size_t n = (size_t)take_u64(&names);
    const char *param = (const char *)take(&names, n);
    uint64_t size = 0;
    const char *cause = NULL;
    const unsigned char *data = take_tensor(&c, &size, &cause);
    if (cause) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n %s", param, n, cause);
    if (c.short_of)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: truncated: the %b end inside %n; copy the file again", bytes, param, n);
    if (is_prefix("__pad.", param, n)) continue;
    int32_t tried = 0;
    for (; tried < l->param_count; tried++, next = next + 1 < l->param_count ? next + 1 : 0)
      if (length(lathe_param_name(l, next)) == n && memcmp(lathe_param_name(l, next), param, n) == 0) break;
    if (tried >= l->param_count)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: the library has no constant %n: they belong to another model", param, n);
    if (table[next]) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n occurs twice", param, n);
    if (l->params[next].bytes != size)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n has %l bytes, the library expects %z: they belong to another model",
                  param, n, (int64_t)size, l->params[next].bytes);
    if (size > 0 && (uintptr_t)data % LATHE_ALIGNMENT)
      return fail(LATHE_ERROR_PACKAGE, name, "parameters: %n is not aligned to %d bytes: another program rewrote the package; recompile the model",
                  param, n, LATHE_ALIGNMENT);
    table[next] = (void *)(uintptr_t)data; /* code reads it only */
    found++;
    next = next + 1 < l->param_count ? next + 1 : 0;
  }
  if (c.at != c.end)
    return fail(LATHE_ERROR_PACKAGE, name, "parameters: %b after the last one", (size_t)(c.end - c.at));
  if (found != l->param_count)
    for (int32_t i = 0; i < l->param_count; i++)
      if (!table[i]) return fail(LATHE_ERROR_PACKAGE, name, "parameters: %q is missing: they belong to another model", lathe_param_name(l, i));
  return LATHE_OK;
}

/* ---- What this machine is ---------------------------------------------------------------------------------------- */

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

/* ---- How many workers -------------------------------------------------------------------------------------------- */

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

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

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
 * waking costs 10 to 150 us where each has a CPU of its own; where a machine wakes threads on the CPU of who wakes them,
 * milliseconds. Callers that run a model in a loop come back within the time for another run, and an idle process pays it once. */
enum { STEP_PATIENCE_NS = 1000000, IDLE_PATIENCE_NS = 50000 };

/* A crew is the workers of a model. The caller's thread is worker 0, whose call of the library returns when all is done; the others
 * are started by the first run, sleep between runs and end when the model is closed. Nobody waits for them: one that comes
 * late finds its work done by others, also when the run is over and another one in progress. Words that different threads
 * write lie in different cache lines. */
typedef struct crew {
  lathe_run_function run;
  lathe_ctx *ctx;
  struct member *members;
  int32_t workers;
  int started;
  pid_t owner; /* the process whose threads they are: a child of fork has none of them */
  uint32_t spin_ns;
#ifndef LATHE_FUTEX
  pthread_mutex_t lock;
  pthread_cond_t moved;
#endif
  _Alignas(64) uint32_t job; /* begins and ends of runs: odd while there is one, whose numbers follow */
  uint32_t sleepers;         /* workers that sleep on job */
  uint32_t stop;
  uint32_t steps[2]; /* from, to */
  uint32_t base[2];  /* the chunks that were done before, low half and high */
} crew;

typedef struct member {
  crew *crew;
  int32_t worker;
  pthread_t thread;
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

/* step_pauses is how many pauses of this CPU are the patience for a step; one takes 5 to 60 ns. The least of some tries counts, for
 * others may take the CPU meanwhile. */
static uint32_t step_pauses(void) {
  enum { TRIES = 5, PAUSES = 200 };
  uint64_t least = UINT64_MAX;
  for (int k = 0; k < TRIES; k++) {
    uint64_t start = now(), took;
    for (int i = 0; i < PAUSES; i++) pause_cpu();
    took = now() - start;
    if (took < least) least = took;
  }
  if (least < PAUSES) least = PAUSES;
  return (uint32_t)((uint64_t)STEP_PATIENCE_NS * PAUSES / least);
}

static void on_wait(void *user, uint32_t *addr, uint32_t seen) { wait_word(user, addr, seen); }

static void on_wake(void *user, uint32_t *addr) { wake_word(user, addr); }

static void post(crew *c) {
  add(&c->job, 1);
  if (load(&c->sleepers) != 0) wake_word(c, &c->job);
}

/* work is the life of a worker. What it read of a run that ended meanwhile may be that of two, and is not used. */
static void *work(void *arg) {
  member *m = arg;
  crew *c = m->crew;
  for (uint32_t seen = 0;;) {
    seen = sleep_until_job(c, seen);
    if (load(&c->stop)) return NULL;
    int32_t first = (int32_t)load(&c->steps[0]), last = (int32_t)load(&c->steps[1]);
    uint64_t base = load(&c->base[0]) | (uint64_t)load(&c->base[1]) << 32;
    if (load(&c->job) != seen) continue;
    c->ctx->parts[m->worker].base = base;
    c->run(c->ctx, m->worker, c->workers, first, last);
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

/* run_crew calls the library on all workers and returns when the steps are done. */
static lathe_status run_crew(const char *name, crew *c, int32_t first, int32_t last) {
  if (!c->started || c->owner != getpid()) {
    lathe_status status = start_crew(name, c);
    if (status != LATHE_OK) return status;
  }
  uint64_t base = c->ctx->team->done;
  store(&c->steps[0], (uint32_t)first);
  store(&c->steps[1], (uint32_t)last);
  store(&c->base[0], (uint32_t)base);
  store(&c->base[1], (uint32_t)(base >> 32));
  post(c);
  c->ctx->parts[0].base = base;
  c->run(c->ctx, 0, c->workers, first, last);
  add(&c->job, 1);
  return LATHE_OK;
}

#endif

/* ---- Models ------------------------------------------------------------------------------------------------------ */

/* A package is what models that were opened from files share. */
struct package;
static void retain(struct package *p);
static void release(struct package *p);

/* Regions of external code generators, as a model runs them. */
struct open_region;
static lathe_status open_regions(lathe_model *m);
static void close_regions(lathe_model *m);

struct lathe_model {
  uint32_t user; /* IDLE, or the process one of whose threads is in a call */
  const lathe_library *library;
  const char *name;        /* in messages */
  struct package *package; /* NULL for a library that is linked in */
  const void *params;      /* as they were given */
  size_t params_bytes;
  lathe_options options;
  int32_t workers;
  int ran;
  int32_t unset;        /* inputs that were never set */
  unsigned char *set;   /* by input */
  void **own;           /* the model's own memory of inputs, then of outputs; NULL with LATHE_NO_BUFFERS */
  void *block;          /* of the system, with this structure in it; NULL: the caller's */
  size_t block_bytes;
  struct open_region *regions; /* of a package, by region; NULL: all are computed by the package's own steps */
  lathe_ctx ctx;
#ifndef LATHE_NO_THREADS
  crew crew;
#endif
};

/* A plan says where the parts of a model lie in its memory. */
typedef struct plan {
  size_t team, parts, inputs, outputs, params, own, set, symbols, members, buffers, copy, scratch, workspace, total;
  size_t stride; /* of the workers' scratch */
  int overflow;
} plan;

static size_t place(plan *p, size_t bytes) {
  size_t at = p->total;
  if (bytes > SIZE_MAX / 2 - at) p->overflow = 1;
  else p->total = (at + bytes + LATHE_ALIGNMENT - 1) / LATHE_ALIGNMENT * LATHE_ALIGNMENT;
  return at;
}

static size_t times(plan *p, size_t a, size_t b) {
  if (a != 0 && b > SIZE_MAX / a) p->overflow = 1;
  return a * b;
}

/* copied is the bytes of parameters that cannot be used where they are. */
static size_t copied(const lathe_library *l, const void *params, size_t bytes) {
  return l->weights || l->param_count == 0 || (uintptr_t)params % LATHE_ALIGNMENT == 0 ? 0 : bytes;
}

static plan plan_model(const lathe_library *l, int32_t workers, const lathe_options *o, size_t copy) {
  plan p = {0};
  place(&p, sizeof(struct lathe_model));
  if (workers > 1) { /* lines are fetched in pairs, so what workers write is two lines apart */
    p.total += p.total % (2 * LATHE_ALIGNMENT);
    p.team = place(&p, sizeof(lathe_team));
    p.parts = place(&p, sizeof(lathe_part) * (size_t)workers);
  }
  p.inputs = place(&p, sizeof(void *) * (size_t)l->input_count);
  p.outputs = place(&p, sizeof(void *) * (size_t)l->output_count);
  p.params = place(&p, sizeof(void *) * (size_t)l->param_count);
  p.own = place(&p, sizeof(void *) * ((size_t)l->input_count + (size_t)l->output_count));
  p.set = place(&p, (size_t)l->input_count);
  p.symbols = place(&p, sizeof(int64_t) * (size_t)l->symbol_count);
#ifndef LATHE_NO_THREADS
  p.members = place(&p, sizeof(member) * (size_t)(workers - 1));
#endif
  p.buffers = p.total;
  if (!(o->flags & LATHE_NO_BUFFERS)) {
    for (int32_t i = 0; i < l->input_count; i++) place(&p, l->inputs[i].bytes);
    for (int32_t i = 0; i < l->output_count; i++) place(&p, l->outputs[i].bytes);
  }
  p.copy = place(&p, copy);
  /* Neighbouring lines are fetched in pairs, so workers keep two lines apart. */
  size_t pair = workers > 1 ? 2 * LATHE_ALIGNMENT : LATHE_ALIGNMENT;
  if (l->scratch > SIZE_MAX - pair) p.overflow = 1;
  p.stride = (l->scratch + pair - 1) / pair * pair;
  p.scratch = place(&p, times(&p, p.stride, (size_t)workers));
  p.workspace = place(&p, l->workspace);
  return p;
}

/* allocate returns zeroed memory; *block is what to hand to release_block. */
static void *allocate(size_t bytes, void **block, size_t *block_bytes) {
#if !defined(LATHE_NO_FILES)
  void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) return NULL;
  *block = m;
  *block_bytes = bytes;
  return m;
#elif __STDC_HOSTED__
  char *m = calloc(1, bytes + LATHE_ALIGNMENT);
  if (!m) return NULL;
  *block = m;
  *block_bytes = bytes;
  return m + (LATHE_ALIGNMENT - (uintptr_t)m % LATHE_ALIGNMENT);
#else
  (void)bytes, (void)block, (void)block_bytes;
  return NULL;
#endif
}

static void release_block(void *block, size_t bytes) {
#if !defined(LATHE_NO_FILES)
  munmap(block, bytes);
#elif __STDC_HOSTED__
  (void)bytes;
  free(block);
#else
  (void)block, (void)bytes;
#endif
}

/* end_model ends what a model has beside its memory, and gives that back. */
static void end_model(lathe_model *m) {
  close_regions(m);
#ifndef LATHE_NO_THREADS
  crew *c = &m->crew;
  if (c->started && c->owner == getpid()) stop_crew(c, c->workers - 1);
#endif
  if (m->block) release_block(m->block, m->block_bytes); /* with the model in it */
}

static const lathe_options default_options;

static lathe_status check_library(const char *name, const lathe_library *l) {
  if (l->abi != LATHE_ABI)
    return fail(LATHE_ERROR_VERSION, name, "made for version %d of the interface, this runtime has version %d: recompile the model", (int32_t)l->abi, LATHE_ABI);
  if (l->size < offsetof(lathe_library, flags))
    return fail(LATHE_ERROR_VERSION, name, "made by an older compiler than this runtime: recompile the model");
  return LATHE_OK;
}

/* bind_params fills the table of constants. */
static lathe_status bind_params(const char *name, const lathe_library *l, const void *params, size_t bytes, void *copy, void **table) {
  if (l->weights) {
    for (int32_t i = 0; i < l->param_count; i++)
      table[i] = (void *)(uintptr_t)((const char *)l->weights + l->params[i].offset); /* code reads it only */
    return LATHE_OK;
  }
  if (l->param_count == 0) return LATHE_OK;
  if (!params) return fail(LATHE_ERROR_ARGUMENT, name, "the weights are not in the library: give the content of mod.params");
  if (copied(l, params, bytes)) {
    memcpy(copy, params, bytes);
    params = copy;
  }
  return read_params(name, l, params, bytes, table);
}

/* make_model sets up a model of a checked library. It takes over the caller's reference to the package when it succeeds. */
static lathe_status make_model(const lathe_library *l, const char *name, struct package *package, const void *params, size_t bytes,
                               const lathe_options *o, lathe_model **model) {
  int32_t workers;
  int crowded;
  lathe_status status = count_workers(name, o->workers, l->max_workers, &workers, &crowded);
  if (status != LATHE_OK) return status;
  if (o->flags & ~LATHE_NO_BUFFERS) return fail(LATHE_ERROR_ARGUMENT, name, "options: unknown flags");
  plan p = plan_model(l, workers, o, copied(l, params, bytes));
  void *block = NULL;
  size_t block_bytes = 0;
  char *base = o->memory;
  if (base && (uintptr_t)base % LATHE_ALIGNMENT)
    return fail(LATHE_ERROR_ARGUMENT, name, "options: the memory is not aligned to %d bytes", LATHE_ALIGNMENT);
  if (base && !p.overflow && o->memory_bytes < p.total)
    return fail(LATHE_ERROR_ARGUMENT, name, "options: the memory has %b, the model needs %z", o->memory_bytes, p.total);
  if (base && !p.overflow) memset(base, 0, p.total);
  if (!base && !p.overflow) base = allocate(p.total, &block, &block_bytes);
  if (!base || p.overflow)
    return fail(LATHE_ERROR_MEMORY, name, "no memory for the model: %b for tensors, work space and scratch", p.total);

  lathe_model *m = (lathe_model *)(void *)base;
  m->library = l;
  m->name = name;
  m->params = params;
  m->params_bytes = bytes;
  m->options = *o;
  m->workers = workers;
  m->unset = l->input_count;
  m->block = block;
  m->block_bytes = block_bytes;
  m->set = (unsigned char *)base + p.set;
  m->own = (void **)(void *)(base + p.own);
  m->ctx = (lathe_ctx){
      .abi = LATHE_ABI,
      .size = sizeof(lathe_ctx),
      .inputs = (void **)(void *)(base + p.inputs),
      .outputs = (void **)(void *)(base + p.outputs),
      .params = (void **)(void *)(base + p.params),
      .workspace = base + p.workspace,
      .scratch = base + p.scratch,
      .scratch_stride = p.stride,
      .team = workers > 1 ? (lathe_team *)(void *)(base + p.team) : NULL,
      .parts = workers > 1 ? (lathe_part *)(void *)(base + p.parts) : NULL,
      .symbols = (int64_t *)(void *)(base + p.symbols),
  };
  if (!(o->flags & LATHE_NO_BUFFERS)) {
    plan at = {.total = p.buffers};
    for (int32_t i = 0; i < l->input_count; i++) m->own[i] = base + place(&at, l->inputs[i].bytes);
    for (int32_t i = 0; i < l->output_count; i++) m->own[l->input_count + i] = base + place(&at, l->outputs[i].bytes);
  }
  for (int32_t i = 0; i < l->input_count; i++) m->ctx.inputs[i] = m->own[i];
  for (int32_t i = 0; i < l->output_count; i++) m->ctx.outputs[i] = m->own[l->input_count + i];
  status = bind_params(name, l, params, bytes, base + p.copy, m->ctx.params);
#ifndef LATHE_NO_THREADS
  m->crew = (crew){.run = l->run, .ctx = &m->ctx, .workers = workers, .members = (member *)(void *)(base + p.members)};
  m->crew.spin_ns = crowded ? 0 : IDLE_PATIENCE_NS;
  m->ctx.spin = crowded ? 0 : step_pauses();
  m->ctx.wait = on_wait;
  m->ctx.wake = on_wake;
  m->ctx.user = &m->crew;
#else
  (void)crowded;
#endif
  m->package = package;
  if (status == LATHE_OK && package && region_count(l) > 0) status = open_regions(m);
  if (status == LATHE_OK) *model = m;
  else end_model(m);
  return status;
}

lathe_status lathe_open_library(const lathe_library *library, const void *params, size_t params_bytes,
                                const lathe_options *options, lathe_model **model) {
  if (!model) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open_library: no place for the model");
  *model = NULL;
  if (!library) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open_library: no library");
  const char *name = library->abi == LATHE_ABI ? library->module : NULL;
  lathe_status status = check_library(name, library);
  if (status == LATHE_OK) status = check_cpu(name, library);
  if (status != LATHE_OK) return status;
  return make_model(library, name, NULL, params, params_bytes, options ? options : &default_options, model);
}

size_t lathe_memory_needed(const lathe_library *library, const void *params, size_t params_bytes, const lathe_options *options) {
  if (!library) {
    fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_memory_needed: no library");
    return 0;
  }
  int32_t workers;
  int crowded;
  if (!options) options = &default_options;
  if (check_library(NULL, library) != LATHE_OK) return 0;
  if (count_workers(library->module, options->workers, library->max_workers, &workers, &crowded) != LATHE_OK) return 0;
  plan p = plan_model(library, workers, options, copied(library, params, params_bytes));
  if (p.overflow) fail(LATHE_ERROR_MEMORY, library->module, "needs more memory than this machine can have");
  return p.overflow ? 0 : p.total;
}

enum { IDLE = 0 };

#ifdef LATHE_NO_THREADS
static uint32_t this_process(void) { return 1; }
#else
static uint32_t this_process(void) { return (uint32_t)getpid(); }
#endif

/* abandoned makes a model usable that a thread of the parent was using at a fork: that call goes on in the parent only. */
static void abandoned(lathe_model *m) {
  if (m->workers > 1) *m->ctx.team = (lathe_team){0};
  for (int32_t w = 0; m->workers > 1 && w < m->workers; w++) m->ctx.parts[w] = (lathe_part){0};
  m->ran = 0;
  m->unset = 0;
  for (int32_t i = 0; i < m->library->input_count; i++) m->unset += !m->set[i];
}

/* enter claims the model for one call; leave gives it back. */
static lathe_status enter(lathe_model *m) {
  if (!m) return fail(LATHE_ERROR_ARGUMENT, NULL, "no model: it is NULL");
  uint32_t me = this_process();
  if (exchange_if(&m->user, IDLE, me)) return LATHE_OK;
  uint32_t other = load(&m->user);
  if (other != IDLE && other != me && exchange_if(&m->user, other, me)) {
    abandoned(m);
    return LATHE_OK;
  }
  return fail(LATHE_ERROR_BUSY, m->name, "the model is in use by another thread; lathe_clone makes one for each");
}

static lathe_status leave(lathe_model *m, lathe_status status) {
  store(&m->user, IDLE);
  return status;
}

lathe_status lathe_check(lathe_model *model) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  const lathe_library *l = model->library;
  if (!(flags_of(l) & LATHE_PARAMS_DIGEST))
    return leave(model, fail(LATHE_ERROR_VERSION, model->name, "holds no digest of its weights: an older lathe compiled it; recompile the model"));
  return leave(model, check_weights(model->name, l, model->params, model->params_bytes));
}

lathe_status lathe_clone(lathe_model *model, lathe_model **clone) {
  if (!clone) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_clone: no place for the model");
  *clone = NULL;
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  lathe_options o = model->options;
  o.memory = NULL;
  status = make_model(model->library, model->name, model->package, model->params, model->params_bytes, &o, clone);
  if (status == LATHE_OK) retain(model->package);
  return leave(model, status);
}

lathe_status lathe_close(lathe_model *model) {
  if (!model) return LATHE_OK;
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  struct package *package = model->package;
  end_model(model);
  release(package);
  return LATHE_OK;
}

const lathe_library *lathe_model_library(const lathe_model *model) { return model ? model->library : NULL; }

int32_t lathe_workers(const lathe_model *model) { return model ? model->workers : 0; }

int32_t lathe_input_count(const lathe_model *model) { return model ? model->library->input_count : 0; }

int32_t lathe_output_count(const lathe_model *model) { return model ? model->library->output_count : 0; }

/* ports are a model's inputs or its outputs. */
typedef struct ports {
  const char *what;
  const lathe_tensor_info *info;
  int32_t count;
} ports;

static ports inputs_of(const lathe_model *m) { return (ports){"input", m->library->inputs, m->library->input_count}; }

static ports outputs_of(const lathe_model *m) { return (ports){"output", m->library->outputs, m->library->output_count}; }

static lathe_status check_index(const char *name, ports p, int32_t index) {
  if (index >= 0 && index < p.count) return LATHE_OK;
  return fail(LATHE_ERROR_ARGUMENT, name, "%s %d: the model has %d %ss", p.what, index, p.count, p.what);
}

static const lathe_tensor_info *info_of(const lathe_model *m, ports p, int32_t index) {
  return check_index(m->name, p, index) == LATHE_OK ? &p.info[index] : NULL;
}

const lathe_tensor_info *lathe_input_info(const lathe_model *model, int32_t index) {
  return model ? info_of(model, inputs_of(model), index) : NULL;
}

const lathe_tensor_info *lathe_output_info(const lathe_model *model, int32_t index) {
  return model ? info_of(model, outputs_of(model), index) : NULL;
}

static int32_t index_of(const lathe_model *m, ports p, const char *name) {
  for (int32_t i = 0; name && i < p.count; i++)
    if (equal(p.info[i].name, name)) return i;
  char list[256];
  text t = {list, list + sizeof list - 1, 0};
  for (int32_t i = 0; i < p.count; i++) {
    if (i > 0) put_string(&t, ", ");
    put_name(&t, p.info[i].name, length(p.info[i].name));
  }
  finish(&t);
  fail(LATHE_ERROR_ARGUMENT, m->name, "unknown %s %q: the model has %s", p.what, name ? name : "", list);
  return -1;
}

int32_t lathe_input_index(const lathe_model *model, const char *name) { return model ? index_of(model, inputs_of(model), name) : -1; }

int32_t lathe_output_index(const lathe_model *model, const char *name) { return model ? index_of(model, outputs_of(model), name) : -1; }

/* check_tensor checks memory that a run is to read or to write. */
static lathe_status check_tensor(const lathe_model *m, ports p, int32_t index, const void *data, size_t bytes, int aligned) {
  lathe_status status = check_index(m->name, p, index);
  if (status != LATHE_OK) return status;
  const lathe_tensor_info *i = &p.info[index];
  if (bytes != i->bytes) return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: %b given, %z wanted (%t)", p.what, i->name, bytes, i->bytes, i);
  if (!data && bytes > 0) return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: no data", p.what, i->name);
  size_t element = lathe_dtype_size(i->dtype);
  if (aligned && element > 1 && (uintptr_t)data % element)
    return fail(LATHE_ERROR_ARGUMENT, m->name, "%s %q: the data is not aligned to its elements of %b", p.what, i->name, element);
  return LATHE_OK;
}

static void mark_set(lathe_model *m, int32_t index) {
  if (!m->set[index]) m->unset--;
  m->set[index] = 1;
}

static lathe_status set_input(lathe_model *m, int32_t index, const void *data, size_t bytes) {
  lathe_status status = check_tensor(m, inputs_of(m), index, data, bytes, 1);
  if (status != LATHE_OK) return status;
  m->ctx.inputs[index] = (void *)(uintptr_t)data; /* code reads it only */
  mark_set(m, index);
  return LATHE_OK;
}

lathe_status lathe_set_input(lathe_model *model, int32_t index, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  return status != LATHE_OK ? status : leave(model, set_input(model, index, data, bytes));
}

lathe_status lathe_set_input_by_name(lathe_model *model, const char *name, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  int32_t index = lathe_input_index(model, name);
  return leave(model, index < 0 ? LATHE_ERROR_ARGUMENT : set_input(model, index, data, bytes));
}

lathe_status lathe_set_input_tensor(lathe_model *model, int32_t index, const void *data, int32_t dtype, const int64_t *shape, int32_t rank) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_index(model->name, inputs_of(model), index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *want = &model->library->inputs[index];
  int same = dtype == want->dtype && rank == want->rank && (shape || rank == 0);
  for (int32_t i = 0; same && i < rank; i++) same = shape[i] == want->shape[i];
  if (!same) {
    lathe_tensor_info got = {.shape = shape, .rank = shape && rank > 0 && rank <= 64 ? rank : 0, .dtype = dtype};
    return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "input %q: %t given, %t wanted", want->name, &got, want));
  }
  return leave(model, set_input(model, index, data, want->bytes));
}

/* own_input returns the model's own memory of an input and lets runs read it. */
static lathe_status own_input(lathe_model *m, int32_t index, void **data) {
  lathe_status status = check_index(m->name, inputs_of(m), index);
  if (status != LATHE_OK) return status;
  if (!m->own[index])
    return fail(LATHE_ERROR_ARGUMENT, m->name, "input %q: the model was opened with LATHE_NO_BUFFERS", m->library->inputs[index].name);
  *data = m->ctx.inputs[index] = m->own[index];
  mark_set(m, index);
  return LATHE_OK;
}

lathe_status lathe_copy_input(lathe_model *model, int32_t index, const void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  void *own = NULL;
  status = check_tensor(model, inputs_of(model), index, data, bytes, 0);
  if (status == LATHE_OK) status = own_input(model, index, &own);
  if (status == LATHE_OK && bytes > 0) memcpy(own, data, bytes);
  return leave(model, status);
}

void *lathe_input_data(lathe_model *model, int32_t index) {
  void *own = NULL;
  if (enter(model) == LATHE_OK) leave(model, own_input(model, index, &own));
  return own;
}

lathe_status lathe_bind_output(lathe_model *model, int32_t index, void *data, size_t bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_index(model->name, outputs_of(model), index);
  if (status != LATHE_OK) return leave(model, status);
  if (!data) data = model->own[model->library->input_count + index];
  else status = check_tensor(model, outputs_of(model), index, data, bytes, 1);
  if (status != LATHE_OK) return leave(model, status);
  if (!data)
    return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: the model was opened with LATHE_NO_BUFFERS",
                             model->library->outputs[index].name));
  model->ctx.outputs[index] = data;
  return leave(model, LATHE_OK);
}

/* check_ran checks that there is an output to look at. */
static lathe_status check_ran(const lathe_model *m, int32_t index) {
  lathe_status status = check_index(m->name, outputs_of(m), index);
  if (status != LATHE_OK || m->ran) return status;
  return fail(LATHE_ERROR_STATE, m->name, "output %q: the model has not run yet", m->library->outputs[index].name);
}

const void *lathe_output_data(lathe_model *model, int32_t index) {
  const void *data = NULL;
  if (enter(model) != LATHE_OK) return NULL;
  if (check_ran(model, index) == LATHE_OK) data = model->ctx.outputs[index];
  leave(model, LATHE_OK);
  return data;
}

/* actual_extent is the extent of an output's axis after a run. */
static lathe_status actual_extent(const lathe_model *m, const lathe_tensor_info *i, int32_t axis, int64_t *extent) {
  *extent = i->shape[axis];
  if (!i->symbols || i->symbols[axis] < 0) return LATHE_OK;
  int64_t n = m->ctx.symbols[i->symbols[axis]];
  if (n < 0 || n > *extent)
    return fail(LATHE_ERROR_RUN, m->name, "output %q: axis %d has the extent %l, outside 0 to %l", i->name, axis, n, *extent);
  *extent = n;
  return LATHE_OK;
}

lathe_status lathe_output_shape(lathe_model *model, int32_t index, int64_t *shape) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_ran(model, index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *i = &model->library->outputs[index];
  if (!shape && i->rank > 0) return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: no place for the shape", i->name));
  for (int32_t k = 0; k < i->rank && status == LATHE_OK; k++) status = actual_extent(model, i, k, &shape[k]);
  return leave(model, status);
}

lathe_status lathe_output_bytes(lathe_model *model, int32_t index, size_t *bytes) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  status = check_ran(model, index);
  if (status != LATHE_OK) return leave(model, status);
  const lathe_tensor_info *i = &model->library->outputs[index];
  if (!bytes) return leave(model, fail(LATHE_ERROR_ARGUMENT, model->name, "output %q: no place for the size", i->name));
  *bytes = lathe_dtype_size(i->dtype);
  for (int32_t k = 0; k < i->rank && status == LATHE_OK; k++) {
    int64_t extent = 0;
    status = actual_extent(model, i, k, &extent);
    *bytes *= (size_t)extent;
  }
  return leave(model, status);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* check_ready checks that a run finds all its memory. */
static lathe_status check_ready(const lathe_model *m) {
  for (int32_t i = 0; m->unset > 0 && i < m->library->input_count; i++)
    if (!m->set[i]) return fail(LATHE_ERROR_STATE, m->name, "input %q was never set", m->library->inputs[i].name);
  for (int32_t i = 0; m->options.flags & LATHE_NO_BUFFERS && i < m->library->output_count; i++)
    if (!m->ctx.outputs[i])
      return fail(LATHE_ERROR_STATE, m->name, "output %q has no memory: call lathe_bind_output", m->library->outputs[i].name);
  return LATHE_OK;
}

#if __STDC_HOSTED__
static uint64_t now(void);
#endif

/* run_library runs steps of the package's own. */
static lathe_status run_library(lathe_model *m, int32_t first, int32_t last) {
#ifndef LATHE_NO_THREADS
  if (m->workers > 1) return run_crew(m->name, &m->crew, first, last);
#endif
  m->library->run(&m->ctx, 0, 1, first, last);
  return LATHE_OK;
}

static lathe_status run_region(lathe_model *m, struct open_region *r);
static struct open_region *next_region(lathe_model *m, struct open_region *r);
static const lathe_region *region_of(const struct open_region *r);

/* run_range runs steps, each region that is whole among them by its module. A call of the library ends in front of a region and begins
 * behind it, so that all workers have met. */
static lathe_status run_range(lathe_model *m, int32_t first, int32_t last) {
  lathe_status status = LATHE_OK;
  for (struct open_region *r = next_region(m, NULL); r && status == LATHE_OK; r = next_region(m, r)) {
    int32_t from = region_of(r)->first, to = region_of(r)->last;
    if (from < first || to > last) continue;
    if (first < from) status = run_library(m, first, from);
    if (status == LATHE_OK && m->ctx.status != 0) return LATHE_OK; /* which the caller tells */
    if (status == LATHE_OK) status = run_region(m, r);
    first = to;
  }
  return status == LATHE_OK && first < last ? run_library(m, first, last) : status;
}

/* run_steps writes the nanoseconds of each step to times, which may be NULL. */
static lathe_status run_steps(lathe_model *m, int32_t first, int32_t last, uint64_t *times) {
  m->ctx.status = 0;
  lathe_status status = LATHE_OK;
#if __STDC_HOSTED__
  for (int32_t i = first; times && i < last && status == LATHE_OK; i++) {
    uint64_t start = now();
    status = run_range(m, i, i + 1);
    times[i] = now() - start;
  }
#endif
  if (!times) status = run_range(m, first, last);
  if (status != LATHE_OK) return status;
  m->ran = 1;
  if (m->ctx.status == 0) return LATHE_OK;
  return fail(LATHE_ERROR_RUN, m->name, "the model reports status %d: %s", m->ctx.status,
              m->ctx.status == 2 ? "a loop would run more often than its bound (--loop-bound)"
                                 : "an index or a size that depends on the input's values is out of range");
}

lathe_status lathe_run(lathe_model *model) { return lathe_run_steps(model, 0, model ? model->library->step_count : 0); }

lathe_status lathe_run_steps(lathe_model *model, int32_t first, int32_t last) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
  if (first < 0 || last < first || last > model->library->step_count)
    status = fail(LATHE_ERROR_ARGUMENT, model->name, "steps %d to %d of a model with %d", first, last, model->library->step_count);
  if (status == LATHE_OK) status = check_ready(model);
  if (status == LATHE_OK) status = run_steps(model, first, last, NULL);
  return leave(model, status);
}

#if __STDC_HOSTED__

static uint64_t now(void) {
  struct timespec t;
#ifdef CLOCK_MONOTONIC
  clock_gettime(CLOCK_MONOTONIC, &t);
#else
  timespec_get(&t, TIME_UTC);
#endif
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif

lathe_status lathe_profile(lathe_model *model, uint64_t *nanoseconds) {
  lathe_status status = enter(model);
  if (status != LATHE_OK) return status;
#if __STDC_HOSTED__
  if (!nanoseconds) status = fail(LATHE_ERROR_ARGUMENT, model->name, "lathe_profile: no place for the times");
  if (status == LATHE_OK) status = check_ready(model);
  if (status == LATHE_OK) status = run_steps(model, 0, model->library->step_count, nanoseconds);
  return leave(model, status);
#else
  (void)nanoseconds;
  return leave(model, fail(LATHE_ERROR_STATE, model->name, "lathe_profile: this build of the runtime has no clock"));
#endif
}

/* ---- Opening packages -------------------------------------------------------------------------------------------- */

#ifdef LATHE_NO_FILES

static void retain(struct package *p) { (void)p; }
static void release(struct package *p) { (void)p; }

lathe_status lathe_open(const char *path, const lathe_options *options, lathe_model **model) {
  (void)options;
  if (model) *model = NULL;
  return fail(LATHE_ERROR_FILE, path, "this build of the runtime opens no files: use lathe_open_library");
}

#else

typedef struct mapping {
  const unsigned char *at;
  size_t bytes;
} mapping;

typedef struct package {
  uint32_t users;
  const lathe_library *library;
  void *handle; /* of the dynamic linker */
  int fd;       /* of the library; -1 */
  int sealed;   /* the library's file had its digest, which is right */
  mapping file; /* the tar or the file of parameters, which holds */
  mapping params;
  mapping *members; /* of regions; NULL: there are none */
  int mapped;       /* each is a mapping of its own */
  char name[];
} package;

static void retain(package *p) {
  if (p) add(&p->users, 1);
}

static void release(package *p) {
  if (!p || add(&p->users, (uint32_t)-1) > 0) return;
  for (int32_t i = 0; p->members && p->mapped && i < region_count(p->library); i++)
    if (p->members[i].at) munmap((void *)(uintptr_t)p->members[i].at, p->members[i].bytes);
  free(p->members);
  if (p->handle) dlclose(p->handle);
  if (p->fd >= 0) close(p->fd);
  if (p->file.at) munmap((void *)(uintptr_t)p->file.at, p->file.bytes);
  free(p);
}

/* map_file maps a plain file. With fd the open file stays open. */
static lathe_status map_file(const char *name, const char *path, mapping *m, int *fd) {
  int f = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (f < 0 || fstat(f, &st) != 0) {
    int error = errno;
    if (f >= 0) close(f);
    return fail(LATHE_ERROR_FILE, name, "%s: %s", path, strerror(error));
  }
  void *at = NULL;
  lathe_status status = LATHE_OK;
  if (!S_ISREG(st.st_mode)) status = fail(LATHE_ERROR_FILE, name, "%s is not a plain file", path);
  else if ((uint64_t)st.st_size > SIZE_MAX / 2) status = fail(LATHE_ERROR_MEMORY, name, "%s is larger than this machine's memory can be", path);
  else if (st.st_size > 0 && (at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, f, 0)) == MAP_FAILED)
    status = fail(LATHE_ERROR_FILE, name, "%s cannot be mapped: %s", path, strerror(errno));
  if (fd && status == LATHE_OK) *fd = f;
  else close(f);
  if (status == LATHE_OK) *m = (mapping){at, (size_t)st.st_size};
  return status;
}

static void unmap(mapping *m) {
  if (m->at) munmap((void *)(uintptr_t)m->at, m->bytes);
  *m = (mapping){0};
}

/* within tells whether [off, off + n) lies in [0, size). */
static int within(uint64_t off, uint64_t n, uint64_t size) { return off <= size && n <= size - off; }

/* check_elf checks that a library is for this machine and complete; a dynamic linker may crash on one that is not. The check
 * is against truncation and wrong files, not against malice: a library is code that its user trusts. */
static lathe_status check_elf(const char *name, mapping m) {
  static const struct {
    unsigned code;
    const char *machine;
  } machines[] = {{62, "x86_64"}, {183, "aarch64"}, {243, "riscv64"}, {40, "arm"}, {3, "i386"}, {258, "loongarch64"}, {21, "powerpc64le"}};
  enum { PROGRAM_INTERPRETER = 3 }; /* PT_INTERP: libraries that are loaded have no use for one */
  const unsigned char *b = m.at;
  if (m.bytes < 52 || memcmp(b, "\177ELF", 4) != 0) return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated or not an ELF file");
  const char *machine = "another machine";
  for (int i = 0; i < COUNT(machines); i++)
    if (machines[i].code == little(b + 18, 2)) machine = machines[i].machine;
  int wide = b[4] == 2;
  if (!equal(machine, MACHINE) || (b[4] != 1 && b[4] != 2) || wide != (sizeof(void *) == 8) || b[5] != 1)
    return fail(LATHE_ERROR_TARGET, name, "compiled for %s, this program runs on %s; recompile with --target for this machine", machine, MACHINE);
  size_t header = wide ? 56 : 32;
  uint64_t table = wide ? little(b + 32, 8) : little(b + 28, 4), count = little(b + (wide ? 56 : 44), 2);
  if (little(b + 16, 2) != 3) return fail(LATHE_ERROR_PACKAGE, name, "the library is an ELF file, but not a shared library");
  if (m.bytes < (wide ? 64u : 52u) || little(b + (wide ? 54 : 42), 2) != header || !within(table, header * count, m.bytes))
    return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated or damaged");
  for (uint64_t i = 0; i < count; i++) {
    const unsigned char *h = b + table + i * header;
    if (little(h, 4) == PROGRAM_INTERPRETER) return fail(LATHE_ERROR_PACKAGE, name, "is a program, not a package");
    uint64_t off = wide ? little(h + 8, 8) : little(h + 4, 4), bytes = wide ? little(h + 32, 8) : little(h + 16, 4);
    if (little(h, 4) == 1 && !within(off, bytes, m.bytes))
      return fail(LATHE_ERROR_PACKAGE, name, "the library is truncated: a segment ends beyond the file; copy it again");
  }
  return LATHE_OK;
}

/* check_described checks that a library is for this machine and has a descriptor. */
static lathe_status check_described(const char *name, mapping m) {
  lathe_status status = check_elf(name, m);
  if (status != LATHE_OK) return status;
  const unsigned char *b = m.at;
  static const char symbol[] = "\0lathe_library";
  for (size_t i = 0; i + sizeof symbol <= m.bytes; i++) {
    const unsigned char *zero = memchr(b + i, 0, m.bytes - sizeof symbol + 1 - i);
    if (!zero) break;
    i = (size_t)(zero - b);
    if (memcmp(zero, symbol, sizeof symbol) == 0) return LATHE_OK;
  }
  return fail(LATHE_ERROR_PACKAGE, name, "the library is not one of lathe compile (no lathe_library inside): recompile the model");
}

/* check_seal compares a library with the digest at the end of its file, if there is one: that of all bytes before its last four
 * but the weights, [from, to). */
static lathe_status check_seal(package *p, mapping m) {
  static const char magic[] = "lathe\0\rc";
  enum { SEAL = 32, MAGIC = 8 };
  if (m.bytes < SEAL || memcmp(m.at + m.bytes - SEAL, magic, MAGIC) != 0) return LATHE_OK;
  const unsigned char *seal = m.at + m.bytes - SEAL;
  uint64_t end = m.bytes - 4, from = little(seal + 8, 8), to = little(seal + 16, 8);
  if (from <= to && to <= end && crc32c(crc32c(0, m.at, (size_t)from), m.at + to, (size_t)(end - to)) == little(seal + 28, 4)) {
    p->sealed = 1;
    return LATHE_OK;
  }
  return fail(LATHE_ERROR_PACKAGE, p->name,
              "the library is damaged: its bytes do not have the digest that was written with them; copy the package again, or recompile the model");
}

static int write_all(int fd, const unsigned char *at, size_t bytes) {
  while (bytes > 0) {
    ssize_t n = write(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    at += n;
    bytes -= (size_t)n;
  }
  return 1;
}

/* load_temporary is for systems without memory files or /proc. The file has no name any more once it is loaded. */
static void *load_temporary(mapping m) {
  char path[512];
  const char *folder = getenv("TMPDIR");
  int n = snprintf(path, sizeof path, "%s/lathe-XXXXXX", folder && *folder ? folder : "/tmp");
  int fd = n > 0 && (size_t)n < sizeof path ? mkstemp(path) : -1;
  if (fd < 0) return NULL;
  void *handle = write_all(fd, m.at, m.bytes) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  close(fd);
  unlink(path);
  return handle;
}

/* load_library hands a library to the dynamic linker, by the number of an open file: *fd, its own file, or one in memory where that is
 * -1. The linker takes a path it knows for the library it knows: the file stays open as long as the code is loaded, so that no other
 * gets the same number. NULL where that fails, with the cause. No code runs yet. */
static void *load_library(mapping m, int *fd, const char **cause) {
  int ready = *fd >= 0;
  void *handle = NULL;
#ifdef SYS_memfd_create
  if (!ready) {
    *fd = (int)syscall(SYS_memfd_create, "lathe-library", 1u /* close on exec */);
    ready = *fd >= 0 && write_all(*fd, m.at, m.bytes);
  }
#endif
  if (ready) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle) handle = load_temporary(m);
  if (!handle && !(*cause = dlerror())) *cause = "no folder for temporary files";
  return handle;
}

/* load_code loads a complete library, once it has its digest. */
static lathe_status load_code(package *p, mapping m) {
  const char *cause = NULL;
  lathe_status status = check_seal(p, m);
  if (status != LATHE_OK) return status;
  p->handle = load_library(m, &p->fd, &cause);
  if (!p->handle) return fail(LATHE_ERROR_FILE, p->name, "the library cannot be loaded: %s", cause);
  p->library = dlsym(p->handle, "lathe_library");
  if (!p->library) return fail(LATHE_ERROR_PACKAGE, p->name, "the library is not one of lathe compile (no lathe_library inside): recompile the model");
  status = check_library(p->name, p->library);
  if (status == LATHE_OK && flags_of(p->library) & LATHE_SEALED && !p->sealed)
    return fail(LATHE_ERROR_PACKAGE, p->name, "the library has lost the digest at its end: it is truncated, or another program rewrote it; copy it again");
  return status == LATHE_OK ? check_cpu(p->name, p->library) : status;
}

/* needs_params tells whether a loaded library's weights are elsewhere. */
static int needs_params(const lathe_library *l) { return !l->weights && l->param_count > 0; }

enum { BLOCK = 512, MOST_MEMBERS = 4096 };

/* tar_number reads a number of a tar header: octal digits, or eight big-endian bytes after one with the highest bit. */
static uint64_t tar_number(const unsigned char *field, int n) {
  uint64_t v = 0;
  if (field[0] & 0x80) {
    if (field[0] != 0x80) return UINT64_MAX;
    for (int i = 1; i < n; i++) {
      if (v >> 55) return UINT64_MAX;
      v = v << 8 | field[i];
    }
    return v;
  }
  int i = 0;
  while (i < n && field[i] == ' ') i++;
  for (; i < n && field[i] >= '0' && field[i] <= '7'; i++) v = v * 8 + (uint64_t)(field[i] - '0');
  return i < n && field[i] && field[i] != ' ' ? UINT64_MAX : v;
}

/* tar_checksum is the sum of a header's bytes with blanks for the sum itself. */
static uint64_t tar_checksum(const unsigned char *h) {
  uint64_t sum = 0;
  for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : h[i];
  return sum;
}

/* tar_member is a part of a package in a tar. */
typedef struct tar_member {
  const char *name;
  mapping content; /* at is NULL when the tar has none */
} tar_member;

/* read_tar finds members. They lie in the mapped file. */
static lathe_status read_tar(const char *name, mapping m, tar_member *wanted, int count) {
  size_t at = 0;
  int ended = 0; /* blocks of zeros end a tar */
  for (int members = 0; m.bytes - at >= BLOCK && !ended; members++) {
    const unsigned char *h = m.at + at;
    if ((ended = !h[0])) break;
    if (members == MOST_MEMBERS) return fail(LATHE_ERROR_PACKAGE, name, "a tar with more than %d members is not a package", MOST_MEMBERS);
    if (memcmp(h + 257, "ustar", 5) != 0 || tar_number(h + 148, 8) != tar_checksum(h))
      return fail(LATHE_ERROR_PACKAGE, name, "damaged tar archive: a header is wrong");
    uint64_t size = tar_number(h + 124, 12);
    at += BLOCK;
    char type = (char)h[156];
    const char *part = (const char *)h;
    size_t n = strnlen(part, 100);
    int prefixed = memcmp(h + 257, "ustar\0", 6) == 0 && h[345];
    if (n >= 2 && part[0] == '.' && part[1] == '/') part += 2, n -= 2; /* of a folder that was packed again */
    tar_member *found = NULL;
    for (int i = 0; i < count && !prefixed; i++)
      if (length(wanted[i].name) == n && memcmp(wanted[i].name, part, n) == 0) found = &wanted[i];
    if (type == '5' || type == '1' || type == '2') size = 0; /* folders and links have no content */
    if (size > m.bytes - at)
      return fail(LATHE_ERROR_PACKAGE, name, "truncated tar archive: %n should have %l bytes, %z are there; copy it again",
                  part, n, (int64_t)size, m.bytes - at);
    if (found && type != '0' && type != 0) return fail(LATHE_ERROR_PACKAGE, name, "the tar holds %s, but not as a plain file", found->name);
    if (found && found->content.at) return fail(LATHE_ERROR_PACKAGE, name, "the tar holds %s twice", found->name);
    if (found) found->content = (mapping){m.at + at, (size_t)size};
    size_t rest = m.bytes - at; /* the padding of the last part may be missing */
    size_t step = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
    at += step < rest ? step : rest;
  }
  for (int i = 0; i < count && !ended; i++)
    if (!wanted[i].content.at)
      return fail(LATHE_ERROR_PACKAGE, name, "truncated tar archive: %s is not in its %b; copy it again", wanted[i].name, m.bytes);
  return LATHE_OK;
}

/* A path is built in a buffer of this size; longer ones the system does not take either. */
enum { PATH_BYTES = 4096 + 128 };

static int exists(const char *path) {
  struct stat st;
  return stat(path, &st) == 0;
}

#ifdef LATHE_NO_EXTERNAL

static lathe_status tar_regions(package *p) {
  (void)p;
  return LATHE_OK;
}

static lathe_status file_regions(package *p, const char *prefix, size_t n, int beside) {
  (void)p, (void)prefix, (void)n, (void)beside;
  return LATHE_OK;
}

#else

/* tar_regions finds the members of regions in a tar. One that is not there leaves its region to the package's own steps. */
static lathe_status tar_regions(package *p) {
  int32_t count = region_count(p->library);
  if (count == 0) return LATHE_OK;
  tar_member *wanted = calloc((size_t)count, sizeof *wanted);
  p->members = calloc((size_t)count, sizeof *p->members);
  lathe_status status = LATHE_OK;
  if (!wanted || !p->members) status = fail(LATHE_ERROR_MEMORY, p->name, "no memory for its parts");
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) wanted[i].name = p->library->regions[i].member;
  if (status == LATHE_OK) status = read_tar(p->name, p->file, wanted, count);
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) p->members[i] = wanted[i].content;
  free(wanted);
  return status;
}

/* file_regions maps the members of regions whose files begin with the first n bytes of prefix: those of a folder, or, with beside,
 * NAME.000_dnnl.bin where the library is NAME.so. */
static lathe_status file_regions(package *p, const char *prefix, size_t n, int beside) {
  int32_t count = region_count(p->library);
  lathe_status status = LATHE_OK;
  if (count == 0) return LATHE_OK;
  p->mapped = 1;
  if (!(p->members = calloc((size_t)count, sizeof *p->members))) return fail(LATHE_ERROR_MEMORY, p->name, "no memory for its parts");
  for (int32_t i = 0; status == LATHE_OK && i < count; i++) {
    const char *file = p->library->regions[i].member, *slash = strrchr(file, '/');
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.*s%s%s", (int)n, prefix, beside ? "." : "/", beside && slash ? slash + 1 : file);
    if (exists(path)) status = map_file(p->name, path, &p->members[i], NULL);
  }
  return status;
}

#endif

/* open_tar maps a tar and loads its library. */
static lathe_status open_tar(package *p) {
  tar_member members[] = {{"mod.so", {0}}, {"mod.params", {0}}, {"lathe.json", {0}}};
  lathe_status status = read_tar(p->name, p->file, members, COUNT(members));
  if (status != LATHE_OK) return status;
  if (!members[2].content.at)
    return fail(LATHE_ERROR_PACKAGE, p->name, "no lathe.json inside: this is no package of lathe compile; one of Apache TVM needs TVM's runtime");
  if (!members[0].content.at) return fail(LATHE_ERROR_PACKAGE, p->name, "mod.so is missing in the tar");
  status = check_described(p->name, members[0].content);
  if (status == LATHE_OK) status = load_code(p, members[0].content);
  if (status != LATHE_OK) return status;
  p->params = members[1].content;
  if (needs_params(p->library) && !p->params.at) return fail(LATHE_ERROR_PACKAGE, p->name, "mod.params is missing in the tar");
  return tar_regions(p);
}

/* open_library loads a library from its own file and maps what it needs beside it: the parameters, and the members of regions. */
static lathe_status open_library(package *p, const char *path, const char *params, const char *prefix, size_t n, int beside) {
  mapping m;
  lathe_status status = map_file(p->name, path, &m, &p->fd);
  if (status != LATHE_OK) return status;
  status = check_described(p->name, m);
  if (status == LATHE_OK) status = load_code(p, m);
  unmap(&m);
  if (status == LATHE_OK) status = file_regions(p, prefix, n, beside);
  if (status != LATHE_OK || !needs_params(p->library)) return status;
  if (!exists(params)) return fail(LATHE_ERROR_FILE, p->name, "%s is missing: it holds the weights", params);
  status = map_file(p->name, params, &p->file, NULL);
  p->params = p->file;
  return status;
}

/* open_stem opens STEM.so, where stem is the first n bytes of path. */
static lathe_status open_stem(package *p, const char *path, size_t n) {
  char library[PATH_BYTES], params[PATH_BYTES];
  snprintf(library, sizeof library, "%.*s.so", (int)n, path);
  snprintf(params, sizeof params, "%.*s.params", (int)n, path);
  return open_library(p, library, params, path, n, 1);
}

/* stem_of removes a suffix; 0 when path ends in another way. */
static size_t stem_of(const char *path, const char *suffix) {
  size_t n = length(path), k = length(suffix);
  return n > k && equal(path + n - k, suffix) ? n - k : 0;
}

/* identify says what a file is that is no package. */
static const char *identify(const char *path, mapping m) {
  static const struct {
    const char *prefix, *what;
  } kinds[] = {
      {"version https://git-lfs", "is a Git LFS pointer, not the file itself: run git lfs pull"},
      {"\x1f\x8b", "is compressed with gzip; packages are read in place: decompress it with gunzip first"},
      {"\x28\xb5\x2f\xfd", "is compressed with zstd; packages are read in place: decompress it first"},
      {"\xfd" "7zXZ", "is compressed with xz; packages are read in place: decompress it first"},
      {"BZh", "is compressed with bzip2; packages are read in place: decompress it first"},
      {"PK\x03\x04", "is a zip archive, not a package"},
      {"<!DOCTYPE", "is an HTML page, probably saved instead of a download"},
      {"<html", "is an HTML page, probably saved instead of a download"},
  };
  static const char *const models[] = {".onnx", ".tflite", ".pb", ".h5", ".keras", ".pth", ".pt", ".pdmodel", ".relay"};
  if (m.bytes == 0) return "is empty";
  for (int i = 0; i < COUNT(kinds); i++)
    if (is_prefix(kinds[i].prefix, m.at, m.bytes)) return kinds[i].what;
  for (int i = 0; i < COUNT(models); i++)
    if (stem_of(path, models[i])) return "is a model, not a package: compile it first with lathe compile";
  return "is not a package: neither a tar archive nor a shared library";
}

/* open_package finds out what the path is and opens it. */
static lathe_status open_package(package *p) {
  static const char *const beside[] = {".lathe.json", ".json", ".params"};
  const char *path = p->name;
  char other[PATH_BYTES], params[PATH_BYTES];
  struct stat st;
  if (length(path) > PATH_BYTES - 128) return fail(LATHE_ERROR_FILE, NULL, "the path has %b: it is too long", length(path));
  if (stat(path, &st) != 0) {
    int error = errno;
    snprintf(other, sizeof other, "%s.so", path);
    if (error == ENOENT && exists(other)) return open_stem(p, path, length(path));
    return fail(LATHE_ERROR_FILE, path, "%s", error == ENOENT ? "no such file" : strerror(error));
  }
  if (S_ISDIR(st.st_mode)) {
    snprintf(other, sizeof other, "%s/mod.so", path);
    snprintf(params, sizeof params, "%s/mod.params", path);
    if (!exists(other)) return fail(LATHE_ERROR_FILE, path, "the folder has no mod.so: it is not an unpacked package");
    return open_library(p, other, params, path, length(path), 0);
  }
  for (int i = 0; i < COUNT(beside); i++) {
    size_t n = stem_of(path, beside[i]);
    snprintf(other, sizeof other, "%.*s.so", (int)n, path);
    if (n > 0 && exists(other)) return open_stem(p, path, n);
  }
  lathe_status status = map_file(NULL, path, &p->file, NULL);
  if (status != LATHE_OK) return status;
  if (p->file.bytes >= BLOCK && memcmp(p->file.at + 257, "ustar", 5) == 0) return open_tar(p);
  if (!is_prefix("\177ELF", p->file.at, p->file.bytes)) return fail(LATHE_ERROR_PACKAGE, path, "%s", identify(path, p->file));
  unmap(&p->file);
  size_t n = stem_of(path, ".so");
  snprintf(other, sizeof other, "%s.so", path);
  if (n == 0 && exists(other)) return open_stem(p, path, length(path)); /* a program may be called as its model is */
  if (n == 0) n = length(path);
  snprintf(params, sizeof params, "%.*s.params", (int)n, path);
  return open_library(p, path, params, path, n, 1);
}

/* Weights up to this size are compared with their digest on opening, which otherwise does not read them. */
enum { CHECKED_AT_ONCE = 4 << 20 };

lathe_status lathe_open(const char *path, const lathe_options *options, lathe_model **model) {
  if (!model) return fail(LATHE_ERROR_ARGUMENT, path, "lathe_open: no place for the model");
  *model = NULL;
  if (!path) return fail(LATHE_ERROR_ARGUMENT, NULL, "lathe_open: no path");
  package *p = calloc(1, sizeof *p + length(path) + 1);
  if (!p) return fail(LATHE_ERROR_MEMORY, path, "no memory for its name");
  memcpy(p->name, path, length(path) + 1);
  p->users = 1;
  p->fd = -1;
  lathe_status status = open_package(p);
  if (status == LATHE_OK)
    status = make_model(p->library, p->name, p, p->params.at, p->params.bytes, options ? options : &default_options, model);
  if (status != LATHE_OK) {
    release(p);
    return status;
  }
  const lathe_library *l = p->library;
  if ((l->weights ? l->weights_size : p->params.bytes) <= CHECKED_AT_ONCE) status = check_weights(p->name, l, p->params.at, p->params.bytes);
  if (status == LATHE_OK) return status;
  lathe_close(*model);
  *model = NULL;
  return status;
}

#endif

/* ---- Regions of external code generators ------------------------------------------------------------------------- */

int32_t lathe_region_count(const lathe_model *model) { return model ? region_count(model->library) : 0; }

#ifdef LATHE_NO_EXTERNAL

static lathe_status open_regions(lathe_model *m) {
  (void)m;
  return LATHE_OK;
}

static void close_regions(lathe_model *m) { (void)m; }

static struct open_region *next_region(lathe_model *m, struct open_region *r) {
  (void)m, (void)r;
  return NULL;
}

static const lathe_region *region_of(const struct open_region *r) {
  (void)r;
  return NULL;
}

static lathe_status run_region(lathe_model *m, struct open_region *r) {
  (void)m, (void)r;
  return LATHE_OK;
}

const char *lathe_region_note(const lathe_model *model, int32_t index) {
  return index >= 0 && index < lathe_region_count(model) ? "this build of the runtime opens no modules of external code generators" : NULL;
}

#else

/* What the run-time module of a generator exports; NATIVE is machine code without them. */
static const char native[] = "native";

typedef void native_function(const void *const *in, void *const *out, int32_t worker, int32_t workers);

typedef struct external_calls {
  uint32_t (*abi)(void);
  void (*open)(const lathe_external_info *info, lathe_external **module);
  int32_t (*run)(lathe_external *module, const lathe_external_tensor *inputs, const lathe_external_tensor *outputs, int32_t workers);
  void (*close)(lathe_external *module);
  const char *(*last_error)(void);
} external_calls;

/* A region of a model. Neither code nor module: the package's own steps compute it, for the reason in note. */
typedef struct open_region {
  const lathe_region *region;
  external_calls calls;
  lathe_external *module;
  native_function *code;
  void *handle; /* of code, and the open file it lies in */
  int fd;
  lathe_external_info info;
  lathe_external_tensor *tensors; /* of a run: inputs, then outputs */
  lathe_external_tensor *bare;    /* the same without data */
  void **data;                    /* their addresses */
  char *note;
} open_region;

static const lathe_region *region_of(const open_region *r) { return r->region; }

/* next_region returns the region behind r, or behind none the first, that a module computes; NULL: there is none. */
static open_region *next_region(lathe_model *m, open_region *r) {
  if (!m->regions) return NULL;
  for (r = r ? r + 1 : m->regions; r < m->regions + region_count(m->library); r++)
    if (r->module || r->code) return r;
  return NULL;
}

const char *lathe_region_note(const lathe_model *model, int32_t index) {
  if (index < 0 || index >= lathe_region_count(model)) return NULL;
  return model->regions ? model->regions[index].note : "the library was opened without the package around it";
}

static void *operand_data(const lathe_model *m, const lathe_operand *o) {
  switch (o->memory) {
    case LATHE_IN_INPUT: return m->ctx.inputs[o->index];
    case LATHE_IN_OUTPUT: return m->ctx.outputs[o->index];
    case LATHE_IN_PARAM: return m->ctx.params[o->index];
    case LATHE_IN_SYMBOLS: return &m->ctx.symbols[o->index];
    default: return (char *)m->ctx.workspace + o->offset;
  }
}

/* say fails with a message that names the region; the cause is of other programs, and becomes one line. */
static lathe_status say(lathe_status status, const lathe_model *m, const lathe_region *g, const char *cause) {
  char line[256];
  size_t n = 0;
  for (const char *s = cause ? cause : "the module does not say why"; *s && n < sizeof line - 1; s++) line[n++] = (unsigned char)*s < ' ' ? ' ' : *s;
  line[n] = 0;
  return fail(status, m->name, "external region %s (%s): %s", g->symbol, g->runtime, line);
}

static lathe_status run_region(lathe_model *m, open_region *r) {
  const lathe_region *g = r->region;
  int32_t count = g->input_count + g->output_count;
  for (int32_t i = 0; i < count; i++)
    r->data[i] = r->tensors[i].data = operand_data(m, i < g->input_count ? &g->inputs[i] : &g->outputs[i - g->input_count]);
  if (r->code) {
    r->code((const void *const *)r->data, r->data + g->input_count, 0, 1);
    return LATHE_OK;
  }
  int32_t status = r->calls.run(r->module, r->tensors, r->tensors + g->input_count, m->workers);
  if (status == 0) return LATHE_OK;
  char cause[256];
  const char *why = r->calls.last_error();
  snprintf(cause, sizeof cause, "status %d: %s", (int)status, why ? why : "the module does not say why");
  return say(LATHE_ERROR_RUN, m, g, cause);
}

/* symbol_of is dlsym for functions, whose addresses C does not convert. */
static int symbol_of(void *handle, const char *name, void *function) {
  void *at = dlsym(handle, name);
  memcpy(function, &at, sizeof at);
  return at != NULL;
}

/* open_native loads machine code. */
static lathe_status open_native(lathe_model *m, open_region *r, mapping blob) {
  const char *cause = NULL;
  lathe_status status = check_elf(m->name, blob);
  if (status != LATHE_OK) return status;
  if (!(r->handle = load_library(blob, &r->fd, &cause))) return say(LATHE_ERROR_PACKAGE, m, r->region, cause);
  if (!symbol_of(r->handle, r->region->symbol, &r->code)) return say(LATHE_ERROR_PACKAGE, m, r->region, "its code does not export the region");
  return LATHE_OK;
}

/* find_calls loads the library of a run-time module from a folder of LATHE_EXTERNAL_PATH, and from nowhere else. It stays loaded as long
 * as the process lives. */
static lathe_status find_calls(lathe_model *m, open_region *r) {
  const char *folders = getenv("LATHE_EXTERNAL_PATH"), *runtime = r->region->runtime;
  char path[PATH_BYTES], cause[256];
  void *handle = NULL;
  for (const char *p = folders; p && *p && !handle; p += *p == ':') {
    size_t n = strcspn(p, ":");
    int k = snprintf(path, sizeof path, "%.*s/liblathe_ext_%s.so", (int)n, p, runtime);
    if (n > 0 && *p == '/' && !strchr(runtime, '/') && k > 0 && (size_t)k < sizeof path && exists(path) &&
        !(handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
      return say(LATHE_ERROR_FILE, m, r->region, dlerror());
    p += n;
  }
  if (!handle) {
    snprintf(cause, sizeof cause, "there is no liblathe_ext_%s.so in %s (LATHE_EXTERNAL_PATH)", runtime, folders && *folders ? folders : "any folder");
    return say(LATHE_ERROR_FILE, m, r->region, cause);
  }
  const struct {
    const char *name;
    void *function;
  } exports[] = {
      {"lathe_external_abi", &r->calls.abi},
      {"lathe_external_open", &r->calls.open},
      {"lathe_external_run", &r->calls.run},
      {"lathe_external_close", &r->calls.close},
      {"lathe_external_last_error", &r->calls.last_error},
  };
  for (int i = 0; i < COUNT(exports); i++) {
    if (symbol_of(handle, exports[i].name, exports[i].function)) continue;
    snprintf(cause, sizeof cause, "%.180s does not export %s", path, exports[i].name);
    return say(LATHE_ERROR_FILE, m, r->region, cause);
  }
  if (r->calls.abi() == LATHE_EXTERNAL_ABI) return LATHE_OK;
  snprintf(cause, sizeof cause, "%.160s is made for version %u of lathe_external.h, and this runtime calls version %d", path, (unsigned)r->calls.abi(), LATHE_EXTERNAL_ABI);
  return say(LATHE_ERROR_VERSION, m, r->region, cause);
}

static lathe_status open_module(lathe_model *m, open_region *r, mapping blob) {
  const lathe_region *g = r->region;
  if (g->abi != LATHE_EXTERNAL_ABI) return say(LATHE_ERROR_VERSION, m, g, "compiled for another version of lathe_external.h: recompile the model");
  if (!blob.at) return say(LATHE_ERROR_FILE, m, g, "its file is missing in the package, or beside the library");
  size_t count = (size_t)g->input_count + (size_t)g->output_count;
  r->tensors = calloc(count, sizeof *r->tensors);
  r->bare = calloc(count, sizeof *r->bare);
  r->data = calloc(count, sizeof *r->data);
  if (!r->tensors || !r->bare || !r->data) return fail(LATHE_ERROR_MEMORY, m->name, "no memory for external region %s", g->symbol);
  for (size_t i = 0; i < count; i++) {
    const lathe_operand *o = i < (size_t)g->input_count ? &g->inputs[i] : &g->outputs[i - (size_t)g->input_count];
    r->bare[i] = r->tensors[i] = (lathe_external_tensor){.shape = o->shape, .bytes = o->bytes, .dtype = lathe_dtype_name(o->dtype), .rank = o->rank};
  }
  if (equal(g->runtime, native)) return open_native(m, r, blob);
  lathe_status status = find_calls(m, r);
  if (status != LATHE_OK) return status;
  r->info = (lathe_external_info){
      .size = sizeof r->info,
      .workers = m->workers,
      .blob = blob.at,
      .bytes = blob.bytes,
      .symbol = g->symbol,
      .inputs = r->bare,
      .outputs = r->bare + g->input_count,
      .num_inputs = g->input_count,
      .num_outputs = g->output_count,
  };
  r->calls.open(&r->info, &r->module);
  return r->module ? LATHE_OK : say(LATHE_ERROR_PACKAGE, m, g, r->calls.last_error());
}

static void close_module(open_region *r) {
  if (r->module) r->calls.close(r->module);
  if (r->handle) dlclose(r->handle);
  if (r->fd >= 0) close(r->fd);
  r->module = NULL, r->code = NULL, r->handle = NULL, r->fd = -1;
}

/* race says in an error that the package's own steps compute a region in less time than its module does, on the zeros of fresh
 * memory. Each way is timed some times, after a run that is not counted. */
static lathe_status race(lathe_model *m, open_region *r) {
  enum { RACES = 3 };
  uint64_t best[2] = {UINT64_MAX, UINT64_MAX};
  lathe_status status = LATHE_OK;
  for (int i = 0; i <= RACES; i++)
    for (int way = 0; way < 2 && status == LATHE_OK; way++) {
      uint64_t start = now(), took;
      status = way == 0 ? run_region(m, r) : run_library(m, r->region->first, r->region->last);
      took = now() - start;
      if (i > 0 && took < best[way]) best[way] = took;
    }
  memset(m->ctx.workspace, 0, m->library->workspace);
  m->ctx.status = 0;
  if (status != LATHE_OK || best[0] <= best[1]) return status;
  char cause[128];
  snprintf(cause, sizeof cause, "it takes %llu us, and the package's own steps %llu us", (unsigned long long)best[0] / 1000, (unsigned long long)best[1] / 1000);
  return say(LATHE_ERROR_STATE, m, r->region, cause);
}

/* lend gives a model whose inputs and outputs are the caller's memory for them, until take_back; NULL: there is none. */
static char *lend(lathe_model *m) {
  const lathe_library *l = m->library;
  plan p = {0};
  for (int32_t i = 0; i < l->input_count; i++) place(&p, l->inputs[i].bytes);
  for (int32_t i = 0; i < l->output_count; i++) place(&p, l->outputs[i].bytes);
  char *base = p.overflow ? NULL : calloc(1, p.total + 1);
  p.total = 0;
  for (int32_t i = 0; base && i < l->input_count; i++) m->ctx.inputs[i] = base + place(&p, l->inputs[i].bytes);
  for (int32_t i = 0; base && i < l->output_count; i++) m->ctx.outputs[i] = base + place(&p, l->outputs[i].bytes);
  return base;
}

static void take_back(lathe_model *m, char *lent) {
  for (int32_t i = 0; lent && i < m->library->input_count; i++) m->ctx.inputs[i] = NULL;
  for (int32_t i = 0; lent && i < m->library->output_count; i++) m->ctx.outputs[i] = NULL;
  free(lent);
}

static lathe_status open_regions(lathe_model *m) {
  const char *mode = getenv("LATHE_EXTERNAL");
  int off = mode && equal(mode, "off"), require = mode && equal(mode, "require");
  if (mode && *mode && !off && !require && !equal(mode, "auto"))
    return fail(LATHE_ERROR_ARGUMENT, m->name, "environment variable LATHE_EXTERNAL=%q: must be off, require or auto", mode);
  const package *p = m->package;
  int32_t count = region_count(m->library);
  char before[sizeof last_error];
  memcpy(before, last_error, sizeof before);
  lathe_status status = LATHE_OK;
  if (!(m->regions = calloc((size_t)count, sizeof *m->regions))) return fail(LATHE_ERROR_MEMORY, m->name, "no memory for external regions");
  for (int32_t i = 0; i < count; i++) m->regions[i].region = &m->library->regions[i], m->regions[i].fd = -1;
  for (int32_t i = 0; i < count && status == LATHE_OK; i++) {
    open_region *r = &m->regions[i];
    mapping blob = p->members[i];
    if (blob.at && (blob.bytes != r->region->bytes || crc32c(0, blob.at, blob.bytes) != r->region->digest))
      return fail(LATHE_ERROR_PACKAGE, m->name, "%s is damaged: its bytes do not have the digest that was written with them; copy the package again", r->region->member);
    if (off) {
      r->note = strdup("LATHE_EXTERNAL=off");
      continue;
    }
    status = open_module(m, r, blob);
    if (status == LATHE_OK && !require && r->region->flags & LATHE_WHEN_FASTER) {
      char *lent = m->options.flags & LATHE_NO_BUFFERS ? lend(m) : NULL;
      status = race(m, r);
      take_back(m, lent);
    }
    if (status == LATHE_OK) continue;
    close_module(r);
    if (require || !(r->note = strdup(last_error))) break;
    status = LATHE_OK;
  }
  if (status == LATHE_OK) memcpy(last_error, before, sizeof before);
  return status;
}

static void close_regions(lathe_model *m) {
  for (int32_t i = 0; m->regions && i < region_count(m->library); i++) {
    open_region *r = &m->regions[i];
    close_module(r);
    free(r->tensors), free(r->bare), free(r->data), free(r->note);
  }
  free(m->regions);
  m->regions = NULL;
}

#endif
