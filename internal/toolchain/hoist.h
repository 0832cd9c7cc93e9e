#ifndef LATHE_TOOLCHAIN_HOIST_H
#define LATHE_TOOLCHAIN_HOIST_H

namespace llvm {
class Module;
}

// hoist moves integer arithmetic, conversions and addresses whose operands do not change in a loop in front of it, from blocks that
// every iteration runs. Loads stay, and so do vectors: LLVM's own pass takes these along, and with them registers that a tile needs.
void hoist(llvm::Module &module);

#endif
