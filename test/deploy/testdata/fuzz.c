// Damages a package in many ways: fuzz MODE FILE OFFSETS ROUNDS. FILE is a package, or a file of one (NAME.params beside NAME.so),
// whose content is restored in the end. Mode cut: FILE is shortened to many lengths below the first number of OFFSETS, each of which
// must be refused. Mode flip: random bytes at random ones of the OFFSETS change; the package is refused, or computes what it
// computed before.
#define _POSIX_C_SOURCE 200809L
#include <unistd.h>

#include "check.h"

static unsigned char *content;
static size_t size;
static const char *file;

static void put_back(const unsigned char *b, size_t n) {
  FILE *f = fopen(file, "wb");
  CHECK(f && fwrite(b, 1, n, f) == n && fclose(f) == 0);
}

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state % n;
}

// compute runs the package; 0 when it is refused with a message.
static int compute(float *y) {
  static const int32_t no_fault;
  float x[N];
  lathe_options o = {.workers = 1};
  lathe_model *m;
  lathe_status status = lathe_open(file, &o, &m);
  if (status != LATHE_OK) {
    CHECK(m == NULL && status <= LATHE_ERROR_MEMORY && lathe_last_error()[0] && !strchr(lathe_last_error(), '\n'));
    return 0;
  }
  fill(x, 5);
  OK(lathe_set_input(m, 0, x, sizeof x));
  OK(lathe_set_input(m, 1, &no_fault, sizeof no_fault));
  OK(lathe_run(m));
  memcpy(y, lathe_output_data(m, 0), sizeof(float) * N);
  OK(lathe_close(m));
  return 1;
}

int main(int argc, char **argv) {
  CHECK(argc == 5);
  file = argv[2];
  FILE *f = fopen(file, "rb");
  CHECK(f && fseek(f, 0, SEEK_END) == 0);
  size = (size_t)ftell(f);
  rewind(f);
  content = malloc(size);
  unsigned char *damaged = malloc(size);
  CHECK(content && damaged && fread(content, 1, size, f) == size && fclose(f) == 0);
  size_t *offsets = NULL, count = 0, offset;
  CHECK((f = fopen(argv[3], "r")) != NULL);
  while (fscanf(f, "%zu", &offset) == 1) {
    if ((count & (count - 1)) == 0) CHECK((offsets = realloc(offsets, (2 * count + 1) * sizeof *offsets)) != NULL);
    CHECK(offset <= size);
    offsets[count++] = offset;
  }
  fclose(f);
  CHECK(count > 0);
  float want[N], got[N];
  CHECK(compute(want));
  long refused = 0, rounds = atol(argv[4]);
  for (long i = 0; i < rounds; i++) {
    if (strcmp(argv[1], "cut") == 0) {
      size_t n = (size_t)((double)offsets[0] * (double)i / (double)rounds);
      put_back(content, n);
      CHECK(!compute(got));
      continue;
    }
    memcpy(damaged, content, size);
    for (uint64_t k = 1 + draw(3); k > 0; k--) damaged[offsets[draw(count)]] = (unsigned char)draw(256);
    put_back(damaged, size);
    if (!compute(got)) refused++;
    else CHECK(memcmp(want, got, sizeof want) == 0);
  }
  put_back(content, size);
  CHECK(compute(got) && memcmp(want, got, sizeof want) == 0);
  printf("%ld rounds, %ld refused\n", rounds, refused);
  free(content), free(damaged), free(offsets);
  return 0;
}
