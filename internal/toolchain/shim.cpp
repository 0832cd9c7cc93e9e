// Starting LLVM, guarding it, and one guarded compilation.

#include "emit.h"
#include "shim.h"
#include "targets.h"

#include "llvm-c/Analysis.h"
#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/ErrorHandling.h"
#include "llvm-c/IRReader.h"
#include "llvm-c/Target.h"
#include "llvm-c/TargetMachine.h"
#include "llvm-c/Transforms/PassBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/Signals.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace {

thread_local char *fatal_message;

// LLVM calls this, on the thread at fault, before it ends the process. Inside guarded() it does not return.
void on_fatal(const char *reason) {
  free(fatal_message);
  fatal_message = strdup(reason);
  if (auto *context = llvm::CrashRecoveryContext::GetCurrent())
    context->HandleExit(70);
}

// Set while this thread is in guarded(). The handler reads it before anything that could allocate.
thread_local bool inside_guard;

// A fault of LLVM's own (an abort, an access out of range, a stack that has run out) ends like its fatal errors.
const int faults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
thread_local int fault_signal;
struct sigaction before[NSIG]; // Go's handlers, which all other signals are handed on to

void on_fault(int signal, siginfo_t *info, void *where) {
  auto *context = inside_guard ? llvm::CrashRecoveryContext::GetCurrent() : nullptr;
  if (!context)
    return before[signal].sa_sigaction(signal, info, where);
  fault_signal = signal;
  pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t *>(where)->uc_sigmask, nullptr);
  context->HandleExit(70);
}

void install_fault_handler() {
  for (int signal : faults) {
    if (sigaction(signal, nullptr, &before[signal]) || !(before[signal].sa_flags & SA_SIGINFO))
      continue; // the default, or ignored: the program's choice
    struct sigaction action = before[signal];
    action.sa_sigaction = on_fault;
    sigaction(signal, &action, nullptr);
  }
}

// take_reason returns why guarded work did not come to its end.
char *take_reason() {
  char *reason = fatal_message;
  fatal_message = nullptr;
  if (!reason && fault_signal)
    reason = strdup((std::string("a fault of LLVM itself, signal ") + strsignal(fault_signal)).c_str());
  fault_signal = 0;
  return reason ? reason : strdup("LLVM stopped without a message");
}

// guarded runs f and reports whether it came to its end. If it did not, everything f built is lost (nothing is
// destroyed on the way out, for it may be half made) and *message says why.
bool guarded(char **message, llvm::function_ref<void()> f) {
  const void *stack = llvm::SavePrettyStackState();
  llvm::CrashRecoveryContext context;
  inside_guard = true;
  bool ended = context.RunSafely(f);
  inside_guard = false;
  if (ended)
    return true;
  llvm::RestorePrettyStackState(stack);
  *message = take_reason();
  return false;
}

template <auto F> struct Deleter {
  template <class T> void operator()(T *p) const { F(p); }
};
using Context = std::unique_ptr<LLVMOpaqueContext, Deleter<LLVMContextDispose>>;
using Module = std::unique_ptr<LLVMOpaqueModule, Deleter<LLVMDisposeModule>>;
using Machine = std::unique_ptr<LLVMOpaqueTargetMachine, Deleter<LLVMDisposeTargetMachine>>;
using Layout = std::unique_ptr<LLVMOpaqueTargetData, Deleter<LLVMDisposeTargetData>>;
using PassOptions = std::unique_ptr<LLVMOpaquePassBuilderOptions, Deleter<LLVMDisposePassBuilderOptions>>;

// Without a handler LLVM prints a back end's errors and exits.
void collect_error(LLVMDiagnosticInfoRef info, void *to) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  auto *errors = static_cast<std::string *>(to);
  char *text = LLVMGetDiagInfoDescription(info);
  if (!errors->empty())
    *errors += '\n';
  *errors += text;
  LLVMDisposeMessage(text);
}

void fail(lathe_answer *out, int stage, const char *message) {
  out->stage = stage;
  out->message = strdup(message && *message ? message : "no reason given");
}

void answer(lathe_answer *out, const char *data, size_t size) {
  out->stage = LATHE_OK;
  out->data = static_cast<char *>(malloc(size ? size : 1));
  out->size = size;
  memcpy(out->data, data, size);
}

// normalized fills in the parts that a triple leaves out: LLVM takes "linux" in armv7-linux-gnueabihf for the vendor
// otherwise, and knows neither the system nor the float ABI.
std::string normalized(const char *triple) { return llvm::Triple::normalize(triple); }

Machine open_machine(const lathe_job &job, char **message) {
  std::string triple = normalized(job.triple);
  LLVMTargetRef target;
  if (LLVMGetTargetFromTriple(triple.c_str(), &target, message))
    return nullptr;
  Machine machine(LLVMCreateTargetMachine(target, triple.c_str(), job.cpu, job.features, LLVMCodeGenOptLevel(job.level),
                                          LLVMRelocPIC, LLVMCodeModelDefault));
  if (machine) // comments need analyses, which take time for nothing where no text is written
    LLVMSetTargetMachineAsmVerbosity(machine.get(), job.kind == LATHE_ASSEMBLY);
  return machine;
}

void emit(LLVMModuleRef module, LLVMTargetMachineRef machine, const lathe_job &job, const std::string &errors, lathe_answer *out) {
  llvm::SmallString<0> code;
  std::vector<lathe_loop> loops;
  auto &target = *reinterpret_cast<llvm::TargetMachine *>(machine);
  if (!generate(*llvm::unwrap(module), target, job.kind == LATHE_OBJECT, job.as_written, code, loops))
    return fail(out, LATHE_EMIT, "the target has no code of this kind");
  if (!errors.empty())
    return fail(out, LATHE_EMIT, errors.c_str());
  answer(out, code.data(), code.size());
  out->loop_count = loops.size();
  out->loops = static_cast<lathe_loop *>(malloc(std::max<size_t>(1, loops.size() * sizeof(lathe_loop))));
  std::copy(loops.begin(), loops.end(), out->loops);
}

void compile(const lathe_job &job, lathe_answer *out) {
  char *message = nullptr;
  std::string errors;
  Context context(LLVMContextCreate());
  LLVMContextSetDiagnosticHandler(context.get(), collect_error, &errors);
  Machine machine = open_machine(job, &message);
  if (!machine) {
    fail(out, LATHE_EMIT, message ? message : "no target machine");
    LLVMDisposeMessage(message);
    return;
  }

  LLVMModuleRef raw;
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRange(job.ir, job.ir_size, "ir", true);
  if (LLVMParseIRInContext(context.get(), text, &raw, &message)) { // takes text
    fail(out, LATHE_PARSE, message);
    LLVMDisposeMessage(message);
    return;
  }
  Module module(raw);
  LLVMSetTarget(raw, normalized(job.triple).c_str());
  Layout layout(LLVMCreateTargetDataLayout(machine.get()));
  LLVMSetModuleDataLayout(raw, layout.get());

  bool broken = LLVMVerifyModule(raw, LLVMReturnStatusAction, &message);
  if (broken)
    fail(out, LATHE_VERIFY, message);
  LLVMDisposeMessage(message);
  if (broken)
    return;

  PassOptions options(LLVMCreatePassBuilderOptions());
  if (LLVMErrorRef error = LLVMRunPasses(raw, job.passes, machine.get(), options.get())) {
    char *reason = LLVMGetErrorMessage(error);
    fail(out, LATHE_PASSES, reason);
    LLVMDisposeErrorMessage(reason);
    return;
  }
  emit(raw, machine.get(), job, errors, out);
}

// A default of LLVM's is set as the default, which stays when lld resets options.
void set_default(const char *name, bool value) {
  auto &options = llvm::cl::getRegisteredOptions();
  auto option = options.find(name);
  if (option != options.end())
    static_cast<llvm::cl::opt<bool> *>(option->second)->setInitialValue(value);
}

// The machine scheduler puts loads of neighbouring addresses next to each other by default, on AArch64 and RISC-V. All
// loads of an unrolled tile are neighbours: they come before its arithmetic then, and do not fit the registers.
void keep_loads_apart() { set_default("misched-cluster", false); }

// What a kernel keeps in memory while a loop runs lies there because registers hold something else: the totals of a tile whose sum has
// parts. In registers all the same, they go to the stack and back, and are stored where they were, too.
void keep_totals_in_memory() { set_default("disable-licm-promotion", true); }

} // namespace

extern "C" void lathe_start(void) {
#define START(T)                                                                                                       \
  LLVMInitialize##T##TargetInfo();                                                                                     \
  LLVMInitialize##T##Target();                                                                                         \
  LLVMInitialize##T##TargetMC();                                                                                       \
  LLVMInitialize##T##AsmPrinter();
  LATHE_TARGETS(START)
#define START_PARSER(T) LLVMInitialize##T##AsmParser();
  LATHE_TARGETS_WITH_PARSER(START_PARSER)

  keep_loads_apart();
  keep_totals_in_memory();

  // Signals belong to Go's runtime, but two things in LLVM take them over, once in a process: crash recovery, and the
  // removal of temporary files, which lld's output starts. Let both do it now and give the signals back.
  struct sigaction old[NSIG];
  for (int i = 1; i < NSIG; i++)
    sigaction(i, nullptr, &old[i]);
  llvm::CrashRecoveryContext::Enable();
  llvm::sys::RemoveFileOnSignal("");
  llvm::sys::DontRemoveFileOnSignal("");
  for (int i = 1; i < NSIG; i++)
    if (i != SIGKILL && i != SIGSTOP)
      sigaction(i, &old[i], nullptr);
  install_fault_handler();
  LLVMInstallFatalErrorHandler(on_fatal);
}

extern "C" void lathe_compile(const lathe_job *job, lathe_answer *out) {
  *out = {};
  char *message = nullptr;
  if (!guarded(&message, [&] { compile(*job, out); }))
    *out = {LATHE_FATAL, message, nullptr, 0, nullptr, 0};
}
