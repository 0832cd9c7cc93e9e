// Runs a package with the C runtime: run [-w WORKERS] [-t RUNS] PACKAGE [INPUT]... where each INPUT is a file with the bytes of
// an input, in order; missing ones are zeros. Writes every output to standard output: a line with its name, type and shape, then its
// bytes. With -t it prints the median time of that many runs instead. Why the package's own steps compute regions of external code
// generators goes to standard error.
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lathe.h"

static void check(lathe_status status) {
  if (status == LATHE_OK) return;
  fprintf(stderr, "%s\n", lathe_last_error());
  exit(1);
}

static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void measure(lathe_model *m, size_t runs) {
  uint64_t *times = calloc(runs, sizeof *times);
  if (!times) exit(1);
  for (size_t i = 0; i < runs; i++) {
    uint64_t start = now();
    check(lathe_run(m));
    times[i] = now() - start;
  }
  qsort(times, runs, sizeof *times, by_size);
  printf("%.1f us\n", (double)times[runs / 2] / 1e3);
  free(times);
}

int main(int argc, char **argv) {
  lathe_options o = {0};
  size_t runs = 0;
  for (int c; (c = getopt(argc, argv, "w:t:")) != -1;) {
    if (c == 'w') o.workers = atoi(optarg);
    else if (c == 't') runs = strtoul(optarg, NULL, 10);
    else return 2;
  }
  if (optind >= argc) return 2;
  lathe_model *m;
  check(lathe_open(argv[optind++], &o, &m));
  for (int32_t i = 0; i < lathe_region_count(m); i++)
    if (lathe_region_note(m, i)) fprintf(stderr, "note: %s\n", lathe_region_note(m, i));
  for (int32_t i = 0; i < lathe_input_count(m); i++) {
    const lathe_tensor_info *info = lathe_input_info(m, i);
    void *data = lathe_input_data(m, i);
    memset(data, 0, info->bytes);
    if (optind >= argc) continue;
    FILE *f = fopen(argv[optind++], "rb");
    if (!f || fread(data, 1, info->bytes, f) != info->bytes || fgetc(f) != EOF) {
      fprintf(stderr, "%s: not the %zu bytes of input %s\n", argv[optind - 1], info->bytes, info->name);
      return 1;
    }
    fclose(f);
  }
  check(lathe_run(m));
  if (runs > 0) measure(m, runs);
  for (int32_t i = 0; i < lathe_output_count(m) && runs == 0; i++) {
    const lathe_tensor_info *info = lathe_output_info(m, i);
    int64_t shape[64];
    size_t bytes;
    check(lathe_output_shape(m, i, shape));
    check(lathe_output_bytes(m, i, &bytes));
    printf("%s %s", info->name, lathe_dtype_name(info->dtype));
    for (int32_t k = 0; k < info->rank; k++) printf(" %" PRId64, shape[k]);
    putchar('\n');
    fwrite(lathe_output_data(m, i), 1, bytes, stdout);
  }
  check(lathe_close(m));
  return 0;
}
