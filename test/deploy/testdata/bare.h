/* Runs compiled models without a runtime: what a program has to do by itself for one worker. Inputs and outputs are files
 * of raw tensors, one after the other. */
#include "lathe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *aligned(size_t bytes) {
  void *p = aligned_alloc(LATHE_ALIGNMENT, (bytes + LATHE_ALIGNMENT) / LATHE_ALIGNMENT * LATHE_ALIGNMENT);
  if (!p) die("no memory");
  return p;
}

/* Memory for the tensors of a list. */
static void **tensors(const lathe_tensor_info *list, int32_t count) {
  void **table = calloc((size_t)count + 1, sizeof *table);
  for (int32_t i = 0; i < count; i++) table[i] = aligned(list[i].bytes);
  return table;
}

static void run_bare(const lathe_library *l, lathe_run_function run, const char *input, const char *output) {
  if (l->abi != LATHE_ABI || l->size != sizeof *l) die("other ABI");
  if (l->run != run) die("the descriptor has another run function");
  if (!l->weights) die("the weights are not inside");
  lathe_ctx ctx = {.abi = LATHE_ABI, .size = sizeof ctx};
  ctx.inputs = tensors(l->inputs, l->input_count);
  ctx.outputs = tensors(l->outputs, l->output_count);
  ctx.params = calloc((size_t)l->param_count + 1, sizeof *ctx.params);
  for (int32_t i = 0; i < l->param_count; i++) ctx.params[i] = (char *)(uintptr_t)l->weights + l->params[i].offset;
  ctx.workspace = aligned(l->workspace);
  ctx.scratch = aligned(l->scratch);
  ctx.symbols = calloc((size_t)l->symbol_count + 1, sizeof *ctx.symbols);

  FILE *f = fopen(input, "rb");
  if (!f) die("no input");
  for (int32_t i = 0; i < l->input_count; i++)
    if (fread(ctx.inputs[i], 1, l->inputs[i].bytes, f) != l->inputs[i].bytes) die("input is too short");
  fclose(f);
  if (run(&ctx, 0, 1, 0, l->step_count) != 0) die("the run failed");
  f = fopen(output, "wb");
  if (!f) die("no output");
  for (int32_t i = 0; i < l->output_count; i++) fwrite(ctx.outputs[i], 1, l->outputs[i].bytes, f);
  if (fclose(f)) die("writing failed");

  for (int32_t i = 0; i < l->input_count; i++) free(ctx.inputs[i]);
  for (int32_t i = 0; i < l->output_count; i++) free(ctx.outputs[i]);
  free(ctx.inputs), free(ctx.outputs), free(ctx.params), free(ctx.workspace), free(ctx.scratch), free(ctx.symbols);
}
