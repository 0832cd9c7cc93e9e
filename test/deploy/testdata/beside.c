/* beside PARAMS INPUT OUTPUT: runs the linked model with the weights of a file. */
#include <stdio.h>
#include <stdlib.h>

#include "lathe_beside.h"

static void *read_file(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) exit(1);
  *bytes = (size_t)ftell(f);
  rewind(f);
  void *data = aligned_alloc(LATHE_ALIGNMENT, *bytes / LATHE_ALIGNMENT * LATHE_ALIGNMENT + LATHE_ALIGNMENT);
  if (!data || fread(data, 1, *bytes, f) != *bytes) exit(1);
  fclose(f);
  return data;
}

static void check(lathe_status status) {
  if (status == LATHE_OK) return;
  fprintf(stderr, "%s\n", lathe_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 4) return 1;
  size_t params_bytes, input_bytes;
  void *params = read_file(argv[1], &params_bytes), *input = read_file(argv[2], &input_bytes);
  lathe_model *model;
  if (lathe_open_library(&lathe_beside_library, NULL, 0, NULL, &model) == LATHE_OK) return 1;
  check(lathe_open_library(&lathe_beside_library, params, params_bytes, NULL, &model));
  check(lathe_set_input(model, 0, input, input_bytes));
  check(lathe_run(model));
  check(lathe_check(model));
  ((char *)params)[params_bytes / 2] ^= 1;
  if (lathe_check(model) != LATHE_ERROR_PACKAGE) return 1;
  ((char *)params)[params_bytes / 2] ^= 1;
  FILE *f = fopen(argv[3], "wb");
  if (!f || fwrite(lathe_output_data(model, 0), 1, LATHE_BESIDE_OUTPUT0_BYTES, f) != LATHE_BESIDE_OUTPUT0_BYTES || fclose(f)) return 1;
  check(lathe_close(model));
  free(params);
  free(input);
  return 0;
}
