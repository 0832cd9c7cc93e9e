// Damages a file of a package and opens the package: damage PACKAGE FILE FROM TO STEP open|check. One bit of every STEP-th byte
// of [FROM, TO), then a hole of 100 zeros. Opening, or lathe_check after it, must refuse each. With "sound" in place of the
// last word the package must open, and with "none" hold no digests.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

static int refused(const char *package, int check) {
  lathe_model *m;
  lathe_status status = lathe_open(package, NULL, &m);
  if (status == LATHE_OK && check) status = lathe_check(m);
  if (status == LATHE_OK) printf("%s is not refused\n", package);
  if (m) OK(lathe_close(m));
  if (status == LATHE_OK) return 0;
  CHECK(status == LATHE_ERROR_PACKAGE || status == LATHE_ERROR_TARGET || status == LATHE_ERROR_VERSION);
  CHECK(strncmp(lathe_last_error(), "lathe: ", 7) == 0 && !strchr(lathe_last_error(), '\n'));
  return 1;
}

int main(int argc, char **argv) {
  CHECK(argc == 7);
  const char *package = argv[1], *how = argv[6];
  long from = atol(argv[3]), to = atol(argv[4]), step = atol(argv[5]);
  lathe_model *m;
  OK(lathe_open(package, NULL, &m));
  if (strcmp(how, "none") == 0) FAILS(lathe_check(m), LATHE_ERROR_VERSION, "holds no digest");
  else OK(lathe_check(m));
  OK(lathe_close(m));
  int file = open(argv[2], O_RDWR), check = strcmp(how, "check") == 0;
  CHECK(file >= 0);
  for (long at = from; at < to && (check || strcmp(how, "open") == 0); at += step) {
    unsigned char was[100], bad[100] = {0};
    size_t n = to - at < 100 ? (size_t)(to - at) : 100;
    CHECK(pread(file, was, n, at) == (ssize_t)n);
    bad[0] = was[0] ^ (unsigned char)(1 << at % 8);
    CHECK(pwrite(file, bad, 1, at) == 1);
    CHECK(refused(package, check));
    bad[0] = 0;
    if (memcmp(was, bad, n) != 0) {
      CHECK(pwrite(file, bad, n, at) == (ssize_t)n);
      CHECK(refused(package, check));
    }
    CHECK(pwrite(file, was, n, at) == (ssize_t)n);
  }
  OK(lathe_open(package, NULL, &m));
  OK(lathe_close(m));
  return 0;
}
