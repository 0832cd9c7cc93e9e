// lld's linkers of ELF and of WebAssembly as a function.

#include "shim.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallVector.h"

#include <string.h>

#include <string>

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

extern "C" int lathe_link(int argc, const char *const *argv, char **message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::SmallVector<const char *, 32> args(argv, argv + argc);
  lld::Result result = lld::lldMain(args, stream, stream, {{lld::Gnu, &lld::elf::link}, {lld::Wasm, &lld::wasm::link}});
  stream.flush();
  *message = strdup(text.c_str());
  return result.retCode;
}
