/* SPDX-License-Identifier: Apache-2.0
 *
 * lathe.h: runs models that lathe compile wrote, from C. The implementation is the one file lathe.c; lathe.hpp wraps
 * both for C++.
 *
 *   lathe_model *model;
 *   if (lathe_open("net.tar", NULL, &model) != LATHE_OK) { fprintf(stderr, "%s\n", lathe_last_error()); ... }
 *   lathe_set_input(model, 0, picture, sizeof picture);
 *   lathe_run(model);
 *   const float *scores = lathe_output_data(model, 0);
 *   lathe_close(model);
 *
 * A model has memory for one run at a time. Different models, clones among them, may be used by different threads at
 * once; calls that meet another call on the same model in progress return LATHE_ERROR_BUSY. A package holds machine code
 * that runs with the caller's rights: open only packages you trust.
 *
 * The first part of this file is the interface of compiled code (the ABI, which other languages may fill in by
 * themselves); the second part is the runtime's. */
#ifndef LATHE_H
#define LATHE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The interface of compiled code ------------------------------------------------------------------------------ */

/* Version of everything in this part. Code of another version is refused with LATHE_ERROR_VERSION. */
#define LATHE_ABI 2

/* Alignment in bytes of weights, work space and scratch. */
#define LATHE_ALIGNMENT 64

/* Element types: DLPack's type code times 256, plus the width in bits. An element takes (bits + 7) / 8 bytes; two of 4 bits share one, the first
 * in the low bits. */
enum {
  LATHE_INT4 = 0x004,
  LATHE_INT8 = 0x008,
  LATHE_INT16 = 0x010,
  LATHE_INT32 = 0x020,
  LATHE_INT64 = 0x040,
  LATHE_BOOL = 0x101, /* a byte, 0 or 1 */
  LATHE_UINT4 = 0x104,
  LATHE_UINT8 = 0x108,
  LATHE_UINT16 = 0x110,
  LATHE_UINT32 = 0x120,
  LATHE_UINT64 = 0x140,
  LATHE_FLOAT16 = 0x210,
  LATHE_FLOAT32 = 0x220,
  LATHE_FLOAT64 = 0x240,
  LATHE_BFLOAT16 = 0x410,
  LATHE_FLOAT8_E4M3FN = 0xa08,
  LATHE_FLOAT8_E4M3FNUZ = 0xb08,
  LATHE_FLOAT8_E5M2 = 0xc08,
  LATHE_FLOAT8_E5M2FNUZ = 0xd08
};

/* What the workers of a model share: zeroed memory, aligned to 64 bytes, for all its runs. One worker needs none. */
typedef struct lathe_team {
  uint64_t done; /* chunks of steps that are finished, of all runs */
  uint64_t pad0[7];
  uint32_t asleep; /* odd: somebody waits on it, to be woken when a step is done */
  uint32_t pad1[15];
  uint64_t turns[64]; /* which way the last turns were that depend on data */
} lathe_team;

/* What each of them has: likewise zeroed before the first run. */
typedef struct lathe_part {
  uint64_t claim; /* what of the worker's part of a step is claimed */
  uint64_t pad0[7];
  uint64_t base; /* before a run: set by the caller to what done was when it began */
  uint64_t seen;
  uint64_t mine;
  uint64_t turn;
  uint64_t pad1[4];
} lathe_part;

/* What a run works on. The caller fills it; docs/ARCHITECTURE.md has the table of offsets. */
typedef struct lathe_ctx {
  uint32_t abi;  /* LATHE_ABI */
  uint32_t size; /* sizeof(lathe_ctx) */
  void **inputs;  /* aligned to their elements */
  void **outputs; /* likewise */
  void **params;  /* constants, aligned to LATHE_ALIGNMENT */
  void *workspace;
  void *scratch;         /* worker w has the bytes from scratch + w * scratch_stride on */
  size_t scratch_stride; /* a multiple of LATHE_ALIGNMENT */
  lathe_team *team;  /* NULL for one worker */
  lathe_part *parts; /* of the workers, in order */
  int64_t *symbols; /* actual extents of the outputs' axes that depend on data; a run writes them */
  int32_t status;   /* 0; a run sets it when it meets an index or a size out of range, and to 2 where a loop would run more often than its bound */
  uint32_t spin;    /* pauses before a step until which wait is not called */
  void (*wait)(void *user, uint32_t *addr, uint32_t seen); /* returns when *addr != seen, or earlier; NULL: spin on */
  void (*wake)(void *user, uint32_t *addr);                /* wakes all that wait on addr */
  int32_t (*external)(void *user, int32_t step, int32_t worker, int32_t workers); /* reserved: NULL */
  void *user;
} lathe_ctx;

/* Runs the steps [first, last) and returns ctx->status. Workers call it together, with worker from 0 to workers - 1, and take
 * what is to be done piece by piece. The call of worker 0 returns when all is done. Their number may be another in the next
 * run. Of the others some may come late or not at all: one that calls when others have done the work, even for a run that is
 * over while the next one is in progress, finds nothing to do. It computes with rounding and denormals of its own; the
 * caller's mode is back when it returns, and while it calls wait or wake. */
typedef int32_t (*lathe_run_function)(lathe_ctx *ctx, int32_t worker, int32_t workers, int32_t first, int32_t last);

/* An input or output: dense, row-major, in the machine's byte order. */
typedef struct lathe_tensor_info {
  const char *name;       /* UTF-8 */
  const int64_t *shape;   /* rank extents; the greatest one where symbols names a symbol */
  const int32_t *symbols; /* per axis the index of the symbol that holds the actual extent, or -1; NULL: none */
  size_t bytes;           /* of the tensor at its largest */
  int32_t rank;
  int32_t dtype; /* one of LATHE_FLOAT32 ... */
} lathe_tensor_info;

/* A constant; lathe_param_name tells its name. */
typedef struct lathe_param_info {
  uint32_t name; /* where it begins in the library's strings */
  size_t bytes;
  size_t offset; /* where it lies in the library's weights */
} lathe_param_info;

/* A step of a run: one kernel. lathe_step_name and lathe_step_nodes tell its strings. */
typedef struct lathe_step_info {
  uint32_t name;  /* where they begin in the library's strings */
  uint32_t nodes;
} lathe_step_info;

/* Where an operand of a region lies, dense and in row-major order. */
typedef struct lathe_operand {
  const int64_t *shape; /* rank extents */
  size_t bytes;
  size_t offset;  /* in the work space */
  int32_t memory; /* LATHE_IN_WORKSPACE ... */
  int32_t index;  /* of the input, output, constant or symbol */
  int32_t rank;
  int32_t dtype;
} lathe_operand;

/* Values of lathe_operand.memory. */
enum { LATHE_IN_WORKSPACE, LATHE_IN_INPUT, LATHE_IN_OUTPUT, LATHE_IN_PARAM, LATHE_IN_SYMBOLS };

/* A region of the network that an external code generator has compiled: a member of the package that a run-time module loads
 * (lathe_external.h), and the steps that compute the same without it. */
typedef struct lathe_region {
  const char *symbol;  /* its name, unique in the package */
  const char *runtime; /* the run-time module: "native" is a library with one function of the region's name */
  const char *member;  /* of the package: ext/000_NAME.bin; beside NAME.so NAME.000_NAME.bin */
  const lathe_operand *inputs, *outputs;
  size_t bytes;    /* of the member */
  uint32_t digest; /* CRC-32C of the member */
  uint32_t flags;  /* LATHE_WHEN_FASTER, LATHE_NO_FALLBACK */
  int32_t abi;     /* LATHE_EXTERNAL_ABI of the module */
  int32_t input_count, output_count;
  int32_t first, last; /* the steps [first, last) */
} lathe_region;

/* The module runs only where it takes less time than the steps, which is found out when the package is opened. The steps compute nothing:
 * they were left out. */
#define LATHE_WHEN_FASTER 1u
#define LATHE_NO_FALLBACK 2u

/* The descriptor: all that a caller has to know about a compiled model. Every library defines one, in read-only memory, as
 * lathe_MODULE_library; a shared object has it as lathe_library too, so that dlsym finds it. */
typedef struct lathe_library {
  uint32_t abi;         /* LATHE_ABI: look at it before all else */
  uint32_t size;        /* sizeof(lathe_library) */
  const char *module;   /* --module-name */
  const char *compiler; /* name and version of the compiler */
  const char *source;   /* name of the model's file */
  const char *target;   /* what it was compiled for */
  const char *features; /* instruction sets that the code uses, by LLVM's names, separated by blanks */
  const lathe_tensor_info *inputs;
  const lathe_tensor_info *outputs;
  const lathe_param_info *params; /* in the order of lathe_ctx.params */
  const lathe_step_info *steps;
  const char *strings; /* of constants and steps: offsets into one table spare a relocation for each */
  int32_t input_count;
  int32_t output_count;
  int32_t param_count;
  int32_t step_count;
  int32_t symbol_count;
  int32_t max_workers; /* more gain nothing; 0: any number */
  size_t workspace;    /* bytes */
  size_t scratch;      /* bytes per worker */
  const void *weights; /* the constants, when they are linked in: aligned to LATHE_ALIGNMENT; else NULL */
  size_t weights_size; /* the bytes that the constants take there */
  lathe_run_function run;
  /* What follows is there when size says so: older compilers wrote less. */
  uint32_t flags;         /* LATHE_SEALED, LATHE_PARAMS_DIGEST */
  uint32_t params_digest; /* CRC-32C of mod.params, beside the library or linked in */
  const lathe_region *regions; /* in the order of their steps */
  int32_t region_count;
  int32_t reserved;
} lathe_library;

/* Flags of a descriptor: the file of the library ends with a digest of it; params_digest is one. */
#define LATHE_SEALED 1u
#define LATHE_PARAMS_DIGEST 2u

/* The name of a constant; NULL for an index out of range. */
static inline const char *lathe_param_name(const lathe_library *library, int32_t index) {
  return index >= 0 && index < library->param_count ? library->strings + library->params[index].name : NULL;
}

/* The name of a step, and the model's nodes that it computes, separated by '\n'; NULL for an index out of range. */
static inline const char *lathe_step_name(const lathe_library *library, int32_t index) {
  return index >= 0 && index < library->step_count ? library->strings + library->steps[index].name : NULL;
}
static inline const char *lathe_step_nodes(const lathe_library *library, int32_t index) {
  return index >= 0 && index < library->step_count ? library->strings + library->steps[index].nodes : NULL;
}

/* ---- The runtime ------------------------------------------------------------------------------------------------- */

typedef enum lathe_status {
  LATHE_OK = 0,
  LATHE_ERROR_ARGUMENT = 1, /* a wrong name, index, type, shape or size, or a wrong option */
  LATHE_ERROR_FILE = 2,     /* a file is missing or cannot be read */
  LATHE_ERROR_PACKAGE = 3,  /* a file is damaged, truncated or no package, or its parts do not belong together */
  LATHE_ERROR_VERSION = 4,  /* the package was made for another version of this interface */
  LATHE_ERROR_TARGET = 5,   /* the package was made for another architecture or a CPU with more instruction sets */
  LATHE_ERROR_MEMORY = 6,   /* not enough memory, or no thread */
  LATHE_ERROR_BUSY = 7,     /* another thread is using the model */
  LATHE_ERROR_STATE = 8,    /* too early: an input was never set, or the model has not run */
  LATHE_ERROR_RUN = 9       /* the model computed an index or a size that is out of range */
} lathe_status;

/* A model that is ready to run. */
typedef struct lathe_model lathe_model;

/* How to set up a model. NULL, or all zero, is the default everywhere. */
typedef struct lathe_options {
  /* Threads of a run, the caller's among them: 1 to 1024. 0: LATHE_NUM_THREADS, TVM_NUM_THREADS or what the process may
   * use, at most the physical cores. A small model uses one whatever is asked for. Results do not depend on it. */
  int32_t workers;
  uint32_t flags; /* LATHE_NO_BUFFERS or 0 */
  /* Memory for the model instead of the system's: memory_bytes bytes, as many as lathe_memory_needed says, aligned to
   * LATHE_ALIGNMENT, until lathe_close. A clone never uses it. */
  void *memory;
  size_t memory_bytes;
} lathe_options;

/* The model has no memory for inputs and outputs: the caller gives all of them (lathe_set_input, lathe_bind_output). */
#define LATHE_NO_BUFFERS 1u

/* Opens a package: NAME.tar, an unpacked directory, or a library NAME.so with NAME.params beside it or with its weights
 * inside; NAME alone stands for NAME.so. Files are mapped: weights are used where they lie, and processes that open one
 * package share them. On failure *model is NULL. */
lathe_status lathe_open(const char *path, const lathe_options *options, lathe_model **model);

/* Opens a library that is linked into the program, such as &lathe_default_library. params is the content of mod.params,
 * params_bytes long: it must stay where it is until the model and all its clones are closed, and may be in read-only
 * memory; at an address that is a multiple of LATHE_ALIGNMENT it is used in place, else copied. For a library with weights
 * inside params is NULL. */
lathe_status lathe_open_library(const lathe_library *library, const void *params, size_t params_bytes,
                                const lathe_options *options, lathe_model **model);

/* Compares all weights of a model with the digest that was written with them: LATHE_ERROR_PACKAGE says that they are damaged,
 * LATHE_ERROR_VERSION that an older compiler wrote no digest. lathe_open does so for weights of up to 4 MiB; the code it
 * always compares. A gigabyte takes about half a second, and is read from the disk. */
lathe_status lathe_check(lathe_model *model);

/* Makes a model with the code and the weights of another one and with its own inputs, outputs, work space and threads, to
 * run from another thread. Each is closed by itself, in any order. */
lathe_status lathe_clone(lathe_model *model, lathe_model **clone);

/* Ends the model's threads and releases its memory. NULL is allowed. Closing a model that is running fails. */
lathe_status lathe_close(lathe_model *model);

/* The bytes of lathe_options.memory for a model of this library with these options. params as in lathe_open_library: where
 * they have to be copied, their bytes are counted. 0: an argument is wrong, lathe_last_error() tells which. */
size_t lathe_memory_needed(const lathe_library *library, const void *params, size_t params_bytes, const lathe_options *options);

/* The descriptor: names, target, steps. It lives as long as the model or a clone of it. */
const lathe_library *lathe_model_library(const lathe_model *model);

/* The threads of a run. */
int32_t lathe_workers(const lathe_model *model);

/* The number of regions of external code generators (lathe_model_library(model)->regions), and why the package's own steps compute one
 * of them, in one line; NULL: its run-time module does. The environment variable LATHE_EXTERNAL says off for no modules, and require
 * for an error where one cannot be opened. */
int32_t lathe_region_count(const lathe_model *model);
const char *lathe_region_note(const lathe_model *model, int32_t index);

/* Inputs and outputs have indices from 0 on, in the model's order. */
int32_t lathe_input_count(const lathe_model *model);
int32_t lathe_output_count(const lathe_model *model);

/* The description of an input or output; NULL for an index out of range. */
const lathe_tensor_info *lathe_input_info(const lathe_model *model, int32_t index);
const lathe_tensor_info *lathe_output_info(const lathe_model *model, int32_t index);

/* The index of a name; -1 if there is none, and lathe_last_error() lists the names there are. */
int32_t lathe_input_index(const lathe_model *model, const char *name);
int32_t lathe_output_index(const lathe_model *model, const char *name);

/* Lets runs read an input from data, without copying: data stays the caller's and must stay in place until the input is
 * set again or the model closed. bytes must be the tensor's, and data aligned to its elements. */
lathe_status lathe_set_input(lathe_model *model, int32_t index, const void *data, size_t bytes);
lathe_status lathe_set_input_by_name(lathe_model *model, const char *name, const void *data, size_t bytes);

/* lathe_set_input for callers that know what they hold: it compares the element type and the shape as well. */
lathe_status lathe_set_input_tensor(lathe_model *model, int32_t index, const void *data, int32_t dtype, const int64_t *shape, int32_t rank);

/* Copies data into the model's own memory for an input; data need not be aligned. */
lathe_status lathe_copy_input(lathe_model *model, int32_t index, const void *data, size_t bytes);

/* The model's own memory for an input, to be filled in place before a run; the input counts as set and keeps its content
 * over runs. NULL: the index is out of range, the model is running, or has LATHE_NO_BUFFERS. */
void *lathe_input_data(lathe_model *model, int32_t index);

/* Lets runs write an output to data, without copying, under the same conditions as lathe_set_input. data NULL: to the
 * model's own memory again. */
lathe_status lathe_bind_output(lathe_model *model, int32_t index, void *data, size_t bytes);

/* What the last run wrote: the bound memory, or the model's own, which the next run overwrites. NULL before the first run,
 * while the model is running, or for an index out of range. */
const void *lathe_output_data(lathe_model *model, int32_t index);

/* The shape of an output after the last run: rank extents, with the actual ones where they depend on data; the tensor is
 * dense with these extents. */
lathe_status lathe_output_shape(lathe_model *model, int32_t index, int64_t *shape);

/* The bytes of an output after the last run; *bytes is what the shape takes. */
lathe_status lathe_output_bytes(lathe_model *model, int32_t index, size_t *bytes);

/* Computes the outputs from the inputs, all of which must have been set. After LATHE_ERROR_RUN the outputs hold anything. */
lathe_status lathe_run(lathe_model *model);

/* Runs the steps [first, last) only. A step reads what earlier ones left, so this is meaningful after a run, in order. */
lathe_status lathe_run_steps(lathe_model *model, int32_t first, int32_t last);

/* Runs the model and writes the nanoseconds of each step, lathe_model_library(model)->step_count numbers. Each step begins
 * when the one before is done, which is not so in lathe_run: the sum is that of a run, and the time until workers have come to each. Not without a clock (a freestanding build): LATHE_ERROR_STATE. */
lathe_status lathe_profile(lathe_model *model, uint64_t *nanoseconds);

/* A few words for a status, such as "out of memory". */
const char *lathe_status_text(lathe_status status);

/* The message of this thread's last call that failed, in one line: "lathe: net.tar: input "data": 4 bytes given, 602112
 * wanted". Valid until the thread's next failing call; "" before the first. */
const char *lathe_last_error(void);

/* The name of an element type as numpy has it, such as "float32", or "unknown"; and the bytes of an element, or 0. */
const char *lathe_dtype_name(int32_t dtype);
size_t lathe_dtype_size(int32_t dtype);

#ifdef __cplusplus
}
#endif

#endif
