/* lathe_external.h - run-time modules of external code generators.
 *
 * A region of a network that an external code generator has compiled lies in the package as bytes that a run-time module
 * loads. The module of the name NAME is the shared object liblathe_ext_NAME.so in a folder of the environment variable
 * LATHE_EXTERNAL_PATH; it exports the five functions below. Where it is missing, the steps of the package's own compute the
 * region.
 *
 * Functions may be called from any thread. No two calls for one module are made at once; different modules may run at once.
 */
#ifndef LATHE_EXTERNAL_H
#define LATHE_EXTERNAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_EXTERNAL_ABI 1

/* An operand, dense and in row-major order. */
typedef struct {
	void *data;           /* aligned to the elements; NULL in lathe_external_info */
	const int64_t *shape; /* rank extents: of this call, or the greatest there will be */
	uint64_t bytes;       /* of data */
	const char *dtype;    /* numpy's name of the elements: "float32", "int8" ... */
	int32_t rank;
	int32_t reserved;
} lathe_external_tensor;

/* What a region is opened with. All of it lasts until lathe_external_close. */
typedef struct {
	uint32_t size;    /* of this struct, which grows at its end */
	int32_t workers;  /* threads of a run */
	const void *blob; /* what the generator wrote; it must not be written */
	uint64_t bytes;   /* of blob */
	const char *symbol;
	const lathe_external_tensor *inputs, *outputs;
	int32_t num_inputs, num_outputs;
} lathe_external_info;

typedef struct lathe_external lathe_external;

/* The version of this interface that the module is made for: LATHE_EXTERNAL_ABI. */
uint32_t lathe_external_abi(void);

/* Opens a region. *module is NULL where that fails. A package may have been made by anybody: whatever the blob holds must end
 * with an error. */
void lathe_external_open(const lathe_external_info *info, lathe_external **module);

/* Computes the outputs from the inputs with so many threads. The inputs must not be written; outputs overlap nothing. Returns
 * 0, or a status of the module's own. */
int32_t lathe_external_run(lathe_external *module, const lathe_external_tensor *inputs, const lathe_external_tensor *outputs, int32_t workers);

void lathe_external_close(lathe_external *module);

/* Why the last call in this thread failed: one line, which lasts until the next call. */
const char *lathe_external_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
