// A run-time module that cannot do its work: it opens every region, or none with -DREFUSE, and every run fails. -DVERSION=2 makes it one for
// another version of the interface.
#include "lathe_external.h"

#ifndef VERSION
#define VERSION LATHE_EXTERNAL_ABI
#endif

struct lathe_external {
  int unused;
};
static struct lathe_external only;
static const char *cause = "";

uint32_t lathe_external_abi(void) { return VERSION; }

void lathe_external_open(const lathe_external_info *info, lathe_external **module) {
  *module = &only;
  if (info->size < sizeof *info || info->num_outputs < 1 || info->outputs->data != 0 || info->bytes == 0) *module = 0, cause = "not the region that was compiled";
#ifdef REFUSE
  *module = 0;
  cause = "no device\nis there";
#endif
}

int32_t lathe_external_run(lathe_external *module, const lathe_external_tensor *inputs, const lathe_external_tensor *outputs, int32_t workers) {
  (void)module;
  cause = inputs->data && outputs->data && workers > 0 ? "the device\nhas gone" : "no operands";
  return 7;
}

void lathe_external_close(lathe_external *module) { (void)module; }
const char *lathe_external_last_error(void) { return cause; }
