/* Executes the instructions of AMX on processors that lack them: each raises SIGILL, and the handler does what it says. Loading this
 * library installs the handler; other illegal instructions go to the handler that was there before. Where the processor has them, the system
 * is asked for their registers instead, and nothing is counted.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (LDTILECFG, STTILECFG, TDPB*, TDPBF16PS, TILELOADD,
 * TILELOADDT1, TILERELEASE, TILESTORED, TILEZERO). What they would refuse is refused: it stays an illegal instruction. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

typedef struct {
  uint8_t palette, start_row;
  uint8_t reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} configuration;

/* The registers of a thread. */
static __thread configuration config;
static __thread uint8_t tile[TILES][ROWS][ROW_BYTES];

/* How many instructions were executed, for tests: 0 configurations, 1 loads, 2 products, 3 stores, 4 zeros, 5 releases. */
uint64_t amx_executed[6];

/* Whether the processor executes them. */
uint64_t amx_native;

static void executed(int what) { __atomic_add_fetch(&amx_executed[what], 1, __ATOMIC_RELAXED); }

static struct sigaction before;

static const int numbers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

/* An instruction with a VEX prefix. */
typedef struct {
  int r, x, b, w, l, map, pp, v; /* of the prefix; v is the register that it names */
  int opcode, mod, reg, rm;
  int memory;       /* its operand lies there */
  uint64_t address; /* without the index */
  int64_t index;    /* of it, times its scale: the stride of a tile's rows */
  int has_sib, length;
} instruction;

static int decode(const uint8_t *p, greg_t *regs, instruction *in) {
  const uint8_t *start = p;
  memset(in, 0, sizeof *in);
  if (*p++ != 0xC4)
    return 0;
  in->r = !(*p & 0x80), in->x = !(*p & 0x40), in->b = !(*p & 0x20), in->map = *p++ & 0x1F;
  in->w = *p >> 7, in->v = ~(*p >> 3) & 15, in->l = *p >> 2 & 1, in->pp = *p++ & 3;
  in->opcode = *p++;
  in->mod = *p >> 6, in->reg = (*p >> 3 & 7) | in->r << 3, in->rm = *p++ & 7;
  if (in->map != 2 || in->l || in->w)
    return 0;
  if (in->mod == 3) {
    in->rm |= in->b << 3;
    in->length = p - start;
    return 1;
  }
  in->memory = 1;
  int displacement = in->mod == 1 ? 1 : in->mod == 2 ? 4 : 0, relative = 0;
  if (in->rm == 4) {
    int scale = *p >> 6, index = (*p >> 3 & 7) | in->x << 3, base = *p & 7;
    p++, in->has_sib = 1;
    if (index != 4)
      in->index = (int64_t)((uint64_t)regs[numbers[index]] << scale);
    if (base == 5 && in->mod == 0)
      displacement = 4;
    else
      in->address = regs[numbers[base | in->b << 3]];
  } else if (in->rm == 5 && in->mod == 0) {
    displacement = 4, relative = 1;
  } else {
    in->address = regs[numbers[in->rm | in->b << 3]];
  }
  int32_t wide = 0;
  if (displacement == 1)
    in->address += (int8_t)*p;
  if (displacement == 4) {
    memcpy(&wide, p, 4);
    in->address += wide;
  }
  p += displacement;
  in->length = p - start;
  if (relative)
    in->address += (uint64_t)p;
  return 1;
}

static int ready(int t) { return t < TILES && config.palette == 1 && config.rows[t] && config.row_bytes[t]; }

static int load_configuration(const void *from) {
  configuration c;
  memcpy(&c, from, sizeof c);
  if (c.palette > 1)
    return 0;
  for (int i = 0; i < 14; i++)
    if (c.palette && c.reserved[i])
      return 0;
  for (int i = 0; i < 16 && c.palette; i++) {
    if (i >= TILES ? c.rows[i] || c.row_bytes[i] : c.rows[i] > ROWS || c.row_bytes[i] > ROW_BYTES || !c.rows[i] != !c.row_bytes[i])
      return 0;
  }
  if (!c.palette)
    memset(&c, 0, sizeof c);
  config = c;
  memset(tile, 0, sizeof tile);
  return 1;
}

static void load(int t, const instruction *in) {
  uint8_t fresh[ROWS][ROW_BYTES] = {{0}};
  for (int m = config.start_row; m < config.rows[t]; m++)
    memcpy(fresh[m], (const void *)(in->address + m * in->index), config.row_bytes[t]);
  memcpy(tile[t], fresh, sizeof fresh);
  config.start_row = 0;
}

static void store(int t, const instruction *in) {
  for (int m = config.start_row; m < config.rows[t]; m++)
    memcpy((void *)(in->address + m * in->index), tile[t][m], config.row_bytes[t]);
  config.start_row = 0;
}

static int32_t byte(uint8_t b, int is_signed) { return is_signed ? (int8_t)b : b; }

/* The sums of denormals are zero, and they count as zero. */
static float flushed(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  if (!(bits & 0x7F800000))
    bits &= 0x80000000;
  memcpy(&x, &bits, 4);
  return x;
}

static float bfloat(const uint8_t *p) {
  uint32_t bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 24;
  float x;
  memcpy(&x, &bits, 4);
  return flushed(x);
}

/* sum_bytes adds to the rows of tile c products of bytes. It counts all columns, also those that c does not have. */
static void sum_bytes(int c, int a, int b, int signed_a, int signed_b) {
  enum { COLUMNS = ROW_BYTES / 4 };
  static __thread uint32_t wide[4 * ROWS][COLUMNS]; /* b, byte 4k+i of its columns; a compiler makes vectors of the innermost loops */
  int depth = config.row_bytes[a];
  for (int k = 0; k < depth; k++)
    for (int n = 0; n < COLUMNS; n++)
      wide[k][n] = (uint32_t)byte(tile[b][k / 4][4 * n + k % 4], signed_b);
  for (int m = 0; m < config.rows[c]; m++) {
    uint32_t sum[COLUMNS];
    memcpy(sum, tile[c][m], sizeof sum);
    for (int k = 0; k < depth; k++) {
      uint32_t x = (uint32_t)byte(tile[a][m][k], signed_a);
      for (int n = 0; n < COLUMNS; n++)
        sum[n] += x * wide[k][n];
    }
    memcpy(tile[c][m], sum, sizeof sum);
  }
}

/* sum_floats adds to tile c products of bfloat16. */
static void sum_floats(int c, int a, int b) {
  for (int m = 0; m < config.rows[c]; m++) {
    for (int n = 0; n < config.row_bytes[c] / 4; n++) {
      float even = 0, odd = 0, total;
      for (int k = 0; k < config.row_bytes[a] / 4; k++) {
        const uint8_t *x = tile[a][m] + 4 * k, *y = tile[b][k] + 4 * n;
        even = flushed(even + flushed(bfloat(x) * bfloat(y)));
        odd = flushed(odd + flushed(bfloat(x + 2) * bfloat(y + 2)));
      }
      memcpy(&total, tile[c][m] + 4 * n, 4);
      total = flushed(flushed(total) + flushed(even + odd));
      memcpy(tile[c][m] + 4 * n, &total, 4);
    }
  }
}

/* products adds to a tile those of two others. Bytes of a are signed or not, as those of b, and four of each are a product; two of bfloat16. */
static int products(const instruction *in, int signed_a, int signed_b, int is_float) {
  int c = in->reg, a = in->rm, b = in->v;
  if (!ready(c) || !ready(a) || !ready(b) || c == a || c == b || a == b)
    return 0;
  if (config.row_bytes[c] % 4 || config.row_bytes[a] % 4 || config.row_bytes[b] % 4 || config.rows[c] != config.rows[a] ||
      config.row_bytes[a] / 4 != config.rows[b] || config.row_bytes[c] != config.row_bytes[b] || config.start_row)
    return 0;
  if (is_float)
    sum_floats(c, a, b);
  else
    sum_bytes(c, a, b, signed_a, signed_b);
  for (int m = 0; m < config.rows[c]; m++)
    memset(tile[c][m] + config.row_bytes[c], 0, ROW_BYTES - config.row_bytes[c]);
  for (int m = config.rows[c]; m < ROWS; m++)
    memset(tile[c][m], 0, ROW_BYTES);
  executed(2);
  return 1;
}

enum { NP, P66, PF3, PF2 };

static int execute(const instruction *in) {
  switch (in->opcode) {
  case 0x49:
    if (in->v)
      return 0;
    if (in->memory && !in->reg && in->pp == NP)
      return executed(0), load_configuration((const void *)in->address);
    if (in->memory && !in->reg && in->pp == P66)
      return memcpy((void *)in->address, &config, sizeof config), 1;
    if (!in->memory && in->pp == NP && !in->reg && !in->rm) {
      memset(&config, 0, sizeof config);
      memset(tile, 0, sizeof tile);
      return executed(5), 1;
    }
    if (!in->memory && in->pp == PF2 && !in->rm && ready(in->reg)) {
      memset(tile[in->reg], 0, sizeof tile[0]);
      return executed(4), 1;
    }
    return 0;
  case 0x4B:
    if (!in->memory || !in->has_sib || in->v || !ready(in->reg) || config.start_row > config.rows[in->reg])
      return 0;
    switch (in->pp) {
    case PF2:
    case P66:
      return executed(1), load(in->reg, in), 1;
    case PF3:
      return executed(3), store(in->reg, in), 1;
    }
    return 0;
  case 0x5E:
    if (in->memory)
      return 0;
    return products(in, in->pp == PF2 || in->pp == PF3, in->pp == PF2 || in->pp == P66, 0);
  case 0x5C:
    return !in->memory && in->pp == PF3 && products(in, 0, 0, 1);
  }
  return 0;
}

static void handle(int number, siginfo_t *info, void *context) {
  greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
  instruction in;
  int any = 0;
  /* Those that follow at once do not have to raise a signal each. */
  while (decode((const uint8_t *)regs[REG_RIP], regs, &in) && execute(&in)) {
    regs[REG_RIP] += in.length;
    any = 1;
  }
  if (any)
    return;
  if (before.sa_flags & SA_SIGINFO && before.sa_sigaction) {
    before.sa_sigaction(number, info, context);
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(number);
    return;
  }
  signal(number, SIG_DFL); /* the instruction comes again */
}

__attribute__((constructor)) static void install(void) {
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
  if (!syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA)) {
    amx_native = 1;
    return;
  }
  struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  a.sa_sigaction = handle;
  sigfillset(&a.sa_mask);
  sigaction(SIGILL, &a, &before);
}
