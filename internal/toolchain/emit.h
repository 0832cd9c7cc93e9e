#ifndef LATHE_TOOLCHAIN_EMIT_H
#define LATHE_TOOLCHAIN_EMIT_H

#include "shim.h"

#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

// generate writes the machine code of a module, an object or assembly, and appends its loops. as_written leaves the instructions of a
// block in their order. It is false if the target has no code of that kind.
bool generate(llvm::Module &module, llvm::TargetMachine &machine, bool object, bool as_written, llvm::SmallVectorImpl<char> &code,
              std::vector<lathe_loop> &loops);

#endif
