// The C face of LLVM and lld. Every char * that is returned or stored in an answer was allocated with malloc and is the
// caller's. All functions may be called from several threads at once, but lathe_link must be alone: lld's state is
// global, and it registers targets and resets LLVM's command line options each time.
#ifndef LATHE_TOOLCHAIN_SHIM_H
#define LATHE_TOOLCHAIN_SHIM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a compilation produces.
enum { LATHE_OBJECT, LATHE_ASSEMBLY };

// Where a compilation ended. FATAL: LLVM would have ended the process.
enum { LATHE_OK, LATHE_PARSE, LATHE_VERIFY, LATHE_PASSES, LATHE_EMIT, LATHE_FATAL };

// What lathe_list lists.
enum { LATHE_CPUS, LATHE_FEATURES };

typedef struct {
  const char *triple, *cpu, *features; // features: "+a,-b", names known to the target
  int level;                           // LLVMCodeGenOptLevel
  const char *ir;                      // terminated by a zero byte that ir_size does not count
  size_t ir_size;
  const char *passes;
  int kind;
  int as_written; // the machine scheduler does not reorder instructions
} lathe_job;

// A loop of machine code, without what lies in loops inside it.
typedef struct {
  double iterations;    // of it in a run of its function, as far as names of blocks tell
  double cycles;        // that an iteration takes at least, by the busiest resource of LLVM's model of the CPU
  int instructions;
  int spills, reloads;  // instructions that store to or load from slots of the register allocator
  int innermost;
} lathe_loop;

typedef struct {
  int stage;
  char *message; // unless stage is LATHE_OK
  char *data;    // if stage is LATHE_OK
  size_t size;
  lathe_loop *loops;
  size_t loop_count;
} lathe_answer;

// Registers the targets and installs the crash guard; once, before any function below that names a target.
void lathe_start(void);

void lathe_compile(const lathe_job *job, lathe_answer *answer);

void lathe_version(unsigned *major, unsigned *minor, unsigned *patch);
char *lathe_host_triple(void);

// Why code cannot be generated for the triple, or the empty string.
char *lathe_check_triple(const char *triple);

// Names separated by newlines, sorted; empty for an unknown triple.
char *lathe_list(const char *triple, int what);

// The names of the features that cpu with the changes "+a,-b" has, without those that tune or name the mode.
char *lathe_enabled(const char *triple, const char *cpu, const char *changes);

// Runs lld's linker of ELF, if argv[0] is "ld.lld", or of WebAssembly, if it is "wasm-ld". Returns its exit code; *message is what it printed.
int lathe_link(int argc, const char *const *argv, char **message);

#ifdef __cplusplus
}
#endif
#endif
