// The back ends in use, by LLVM's names: the same whether LLVM is linked dynamically, where Debian's has 22, or statically.
#define LATHE_TARGETS_WITH_PARSER(X) X(X86) X(AArch64) X(ARM) X(RISCV) X(WebAssembly) X(AMDGPU)
#define LATHE_TARGETS(X) LATHE_TARGETS_WITH_PARSER(X) X(NVPTX) X(SPIRV)
