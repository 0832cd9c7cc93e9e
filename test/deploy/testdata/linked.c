/* linked INPUT OUTPUT OUTPUT: runs both models that are linked in. */
#include "bare.h"

#include "lathe_first.h"
#include "lathe_second.h"

#if LATHE_FIRST_INPUTS != 1 || LATHE_FIRST_OUTPUTS != 1 || LATHE_FIRST_OUTPUT0_BYTES != 144
#error "other sizes than the demo network's"
#endif

int main(int argc, char **argv) {
  static const int64_t shape[LATHE_FIRST_INPUT0_RANK] = LATHE_FIRST_INPUT0_SHAPE;
  const lathe_tensor_info *in = lathe_first_library.inputs;
  if (argc != 4) die("usage: linked INPUT OUTPUT OUTPUT");
  if (strcmp(in->name, LATHE_FIRST_INPUT0_NAME) || in->dtype != LATHE_FIRST_INPUT0_TYPE || memcmp(in->shape, shape, sizeof shape))
    die("the header is not the library's");
  run_bare(&lathe_first_library, lathe_first_library.run, argv[1], argv[2]);
  run_bare(&lathe_second_library, lathe_second_library.run, argv[1], argv[3]);
  return 0;
}
