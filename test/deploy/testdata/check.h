// What the C programs of these tests share: checks that name the line, and the fixture's definition.
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lathe.h"

#define CHECK(condition)                                                                         \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      fprintf(stderr, "%s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, lathe_last_error()); \
      exit(1);                                                                                   \
    }                                                                                            \
  } while (0)

// OK checks that a call succeeds; FAILS that it gives the status and a message with the text.
#define OK(call) CHECK((call) == LATHE_OK)
#define FAILS(call, status, text) failed(__LINE__, #call, (call), (status), (text))

static inline void failed(int line, const char *call, lathe_status got, lathe_status want, const char *text) {
  if (got == want && strstr(lathe_last_error(), text) && strncmp(lathe_last_error(), "lathe: ", 7) == 0 && !strchr(lathe_last_error(), '\n')) return;
  fprintf(stderr, "line %d: %s: status %d (%s), want %d: %s; want a message about: %s\n", line, call, got, lathe_status_text(got), want, lathe_last_error(), text);
  exit(1);
}

enum { N = 1024 };

// fill makes an input that depends on seed.
static inline void fill(float *x, int seed) {
  for (int i = 0; i < N; i++) x[i] = (float)((i * 31 + seed) % 101) / 8 - 6;
}

// check_fixture compares the fixture's outputs with its definition; extra is what the library adds.
static inline void check_fixture(lathe_model *m, const float *x, float extra) {
  const float *y = lathe_output_data(m, 0);
  const int64_t *positive = lathe_output_data(m, 1);
  int64_t n = 0, shape[2] = {0, 0};
  size_t bytes = 0;
  CHECK(y && positive);
  for (int i = 0; i < N; i++) {
    int j = N - 1 - i;
    CHECK(y[i] == x[j] * (float)(j % 7 - 3) + 0.5f + extra);
    if (y[i] > 0) CHECK(positive[n++] == i);
  }
  OK(lathe_output_shape(m, 0, shape));
  CHECK(shape[0] == 1 && shape[1] == N);
  OK(lathe_output_shape(m, 1, shape));
  CHECK(shape[0] == n);
  OK(lathe_output_bytes(m, 1, &bytes));
  CHECK(bytes == 8 * (size_t)n);
}

#endif
