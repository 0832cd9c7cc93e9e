/* loaded INPUT {LIBRARY MODULE OUTPUT}...: loads all libraries, then runs each. */
#include "bare.h"

#include <dlfcn.h>

int main(int argc, char **argv) {
  void *handles[8] = {0};
  for (int i = 2; i + 2 < argc; i += 3)
    if (!(handles[i / 3] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL))) die(dlerror());
  for (int i = 2; i + 2 < argc; i += 3) {
    char name[300];
    snprintf(name, sizeof name, "lathe_%s_run", argv[i + 1]);
    void *run = dlsym(handles[i / 3], name);
    const lathe_library *library = dlsym(handles[i / 3], "lathe_library");
    if (!run || !library) die(dlerror());
    lathe_run_function f;
    memcpy(&f, &run, sizeof f);
    run_bare(library, f, argv[1], argv[i + 2]);
  }
  return 0;
}
