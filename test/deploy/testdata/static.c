// Links two libraries into one program, which opens no file: fixture with its weights inside, and other, which gets them here.
#include "check.h"

extern const lathe_library lathe_fixture_library, lathe_other_library;

// blob writes TVM's parameter blob, as mod.params has it, for scale and bias.
static size_t blob(unsigned char *b) {
  size_t at = 0;
  float scale[N], bias = 0.5f;
  for (int i = 0; i < N; i++) scale[i] = (float)(i % 7) - 3;
#define PUT(value, bytes)                                                      \
  do {                                                                         \
    uint64_t v = (value);                                                      \
    for (int k_ = 0; k_ < (bytes); k_++) b[at++] = (unsigned char)(v >> 8 * k_); \
  } while (0)
#define TEXT(s) \
  do {          \
    PUT(sizeof(s) - 1, 8); \
    for (size_t k_ = 0; k_ < sizeof(s) - 1; k_++) b[at++] = (unsigned char)(s)[k_]; \
  } while (0)
#define TENSOR(code, rank) PUT(0xDD5E40F096B4A13Fu, 8); PUT(0, 8); PUT(1, 8); PUT(rank, 4); PUT(code, 4)
  PUT(0xF7E58D4F05049CB7u, 8);
  PUT(0, 8);
  PUT(4, 8);
  TEXT("__pad.0");
  TEXT("scale");
  TEXT("__pad.1");
  TEXT("bias");
  PUT(4, 8);
  size_t pad = 64 - (at + 48 + 48) % 64; // what follows the padding starts at a multiple of 64
  TENSOR(0x10801, 1);
  PUT(pad, 8);
  PUT(pad, 8);
  for (size_t i = 0; i < pad; i++) PUT(0, 1);
  TENSOR(0x12002, 1);
  PUT(N, 8);
  PUT(sizeof scale, 8);
  memcpy(b + at, scale, sizeof scale);
  at += sizeof scale;
  pad = 64 - (at + 48 + 40) % 64;
  TENSOR(0x10801, 1);
  PUT(pad, 8);
  PUT(pad, 8);
  for (size_t i = 0; i < pad; i++) PUT(0, 1);
  TENSOR(0x12002, 0);
  PUT(sizeof bias, 8);
  memcpy(b + at, &bias, sizeof bias);
  return at + sizeof bias;
}

static void run(lathe_model *m, float extra) {
  static const int32_t no_fault;
  float x[N];
  fill(x, 77);
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input(m, 1, &no_fault, sizeof no_fault));
  OK(lathe_run(m));
  check_fixture(m, x, extra);
}

int main(void) {
  static _Alignas(64) unsigned char memory[1 << 16], params[1 << 14];
  lathe_model *a, *b;
  lathe_options o = {.workers = 1, .memory = memory, .memory_bytes = sizeof memory};
  size_t bytes = blob(params);
  CHECK(lathe_memory_needed(&lathe_fixture_library, NULL, 0, &o) <= sizeof memory);
  OK(lathe_open_library(&lathe_fixture_library, NULL, 0, &o, &a));
  OK(lathe_open_library(&lathe_other_library, params, bytes, NULL, &b));
  for (int i = 0; i < 2; i++) {
    run(a, 0);
    run(b, 7);
  }
  OK(lathe_close(a));
  OK(lathe_close(b));
#ifdef LATHE_NO_FILES
  FAILS(lathe_open("net.tar", NULL, &a), LATHE_ERROR_FILE, "net.tar: this build of the runtime opens no files");
#endif
  puts("ok");
  return 0;
}
