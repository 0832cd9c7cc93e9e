/* liblathe_ext_arith.so: the run-time module of lathe-codegen-arith, for regions that -form=program makes; program.go says what is in one.
 *
 *   cc -std=c11 -O2 -shared -fPIC -I include -o build/liblathe_ext_arith.so examples/codegen/module/arith.c
 */
#include <stdlib.h>
#include <string.h>

#include "lathe_external.h"

/* A value is an operand of a run, a constant in the program, or memory of the module's own. */
typedef struct value {
  float *data;
  uint32_t elements;
} value;

struct lathe_external {
  const uint32_t *operations; /* four words each */
  uint32_t inputs, constants, count, outputs;
  const uint32_t *results; /* of the outputs: which value */
  value *values;
};

static _Thread_local const char *error = "";

uint32_t lathe_external_abi(void) { return LATHE_EXTERNAL_ABI; }

const char *lathe_external_last_error(void) { return error; }

void lathe_external_close(lathe_external *m) {
  if (!m) return;
  for (uint32_t i = m->inputs + m->constants; m->values && i < m->inputs + m->constants + m->count; i++) free(m->values[i].data);
  free(m->values);
  free(m);
}

static int is_float32(const lathe_external_tensor *t) { return strcmp(t->dtype, "float32") == 0 && t->bytes / 4 <= UINT32_MAX; }

/* read_program returns what is wrong, or NULL. A program may have been written by anybody: it believes nothing that it has not compared. */
static const char *read_program(lathe_external *m, const lathe_external_info *info) {
  const uint32_t *at = info->blob, *end = at + info->bytes / 4;
  if (info->size < sizeof *info || info->bytes < 20 || info->bytes % 4 || (uintptr_t)at % 4 || memcmp(at, "ARI1", 4) != 0) return "it is no program of lathe-codegen-arith";
  uint32_t constants = at[2], count = at[3], words = (uint32_t)(end - at);
  if (at[1] != (uint32_t)info->num_inputs || at[4] != (uint32_t)info->num_outputs || constants > words || count > words) return "the program has other operands than the region";
  m->inputs = at[1], m->constants = constants, m->outputs = at[4];
  at += 5;
  size_t all = (size_t)m->inputs + constants + count, known = m->inputs;
  m->values = calloc(all ? all : 1, sizeof *m->values);
  if (!m->values) return "no memory";
  for (uint32_t i = 0; i < m->inputs; i++) {
    if (!is_float32(&info->inputs[i])) return "an input is not of float32";
    m->values[i].elements = (uint32_t)(info->inputs[i].bytes / 4);
  }
  for (uint32_t i = 0; i < constants; i++, known++) {
    if (at == end || *at > (size_t)(end - at) - 1) return "the program ends in a constant";
    m->values[known].elements = *at;
    m->values[known].data = (float *)(uintptr_t)(at + 1); /* which is only read */
    at += 1 + *at;
  }
  if ((size_t)(end - at) != 4 * (size_t)count + m->outputs) return "the program has another length than it says";
  m->operations = at, m->results = at + 4 * (size_t)count;
  for (; m->count < count; m->count++, known++, at += 4) {
    if (at[0] > 3 || at[1] >= known || at[2] >= known) return "an operation on values that there are not";
    for (int i = 1; i < 3; i++)
      if (m->values[at[i]].elements != at[3] && m->values[at[i]].elements != 1) return "an operation on values of other sizes";
    m->values[known].elements = at[3];
    m->values[known].data = calloc(at[3] ? at[3] : 1, 4);
    if (!m->values[known].data) return "no memory";
  }
  for (uint32_t i = 0; i < m->outputs; i++) {
    if (m->results[i] < m->inputs + constants || m->results[i] >= known) return "an output that no operation computes";
    if (!is_float32(&info->outputs[i]) || info->outputs[i].bytes / 4 != m->values[m->results[i]].elements) return "an output of another size";
  }
  return NULL;
}

void lathe_external_open(const lathe_external_info *info, lathe_external **module) {
  lathe_external *m = calloc(1, sizeof *m);
  const char *wrong = m ? read_program(m, info) : "no memory";
  *module = NULL;
  if (wrong) {
    error = wrong;
    lathe_external_close(m);
    return;
  }
  *module = m;
}

static float compute(uint32_t what, float x, float y) {
  switch (what) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    default: return x / y;
  }
}

int32_t lathe_external_run(lathe_external *m, const lathe_external_tensor *inputs, const lathe_external_tensor *outputs, int32_t workers) {
  (void)workers;
  for (uint32_t i = 0; i < m->inputs; i++) m->values[i].data = inputs[i].data;
  for (uint32_t k = 0; k < m->count; k++) {
    const uint32_t *o = m->operations + 4 * (size_t)k;
    const value *x = &m->values[o[1]], *y = &m->values[o[2]];
    float *to = m->values[m->inputs + m->constants + k].data;
    for (uint32_t i = 0; i < o[3]; i++) to[i] = compute(o[0], x->data[x->elements == 1 ? 0 : i], y->data[y->elements == 1 ? 0 : i]);
  }
  for (uint32_t i = 0; i < m->outputs; i++) memcpy(outputs[i].data, m->values[m->results[i]].data, outputs[i].bytes);
  return 0;
}
