//go:build llvmstatic

// Definitions that a static link needs and LLVM's archives for a few targets lack.

#include "llvm/Plugins/PassPlugin.h"

// Debian's libLLVMExtensions refers to Polly, whose archive is in no package.
llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }

// lld starts every target its LLVM was built with. Those that are not in targets.h start to nothing.
#define STUB(T, PART) extern "C" void LLVMInitialize##T##PART(void) {}
#define STUBS_WITHOUT_PARSER(T) STUB(T, TargetInfo) STUB(T, Target) STUB(T, TargetMC) STUB(T, AsmPrinter)
#define STUBS(T) STUBS_WITHOUT_PARSER(T) STUB(T, AsmParser)
STUBS(AVR)
STUBS(BPF)
STUBS(Hexagon)
STUBS(Lanai)
STUBS(LoongArch)
STUBS(M68k)
STUBS(MSP430)
STUBS(Mips)
STUBS(PowerPC)
STUBS(Sparc)
STUBS(SystemZ)
STUBS(VE)
STUBS_WITHOUT_PARSER(XCore)
STUBS(Xtensa)
