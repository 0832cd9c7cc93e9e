// What LLVM knows about triples, CPUs and features.

#include "shim.h"
#include "targets.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/Triple.h"

#include <string.h>

#include <memory>
#include <string>
#include <vector>

using namespace llvm;

namespace {

// lld registers every target that its LLVM has, at the first link; what is known must not depend on that.
const Target *find(const Triple &triple) {
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
#define IS(T) || !strcmp(target->getBackendName(), #T)
  return target && (false LATHE_TARGETS(IS)) ? target : nullptr;
}

// cpu must be known to the target, or empty: LLVM prints a complaint otherwise.
std::unique_ptr<MCSubtargetInfo> subtarget(const char *triple, const char *cpu) {
  Triple t(Triple::normalize(triple));
  const Target *target = find(t);
  if (!target)
    return nullptr;
  return std::unique_ptr<MCSubtargetInfo>(target->createMCSubtargetInfo(t, cpu, ""));
}

template <class Range> char *keys(const Range &range) {
  std::string all;
  for (const auto &row : range)
    all.append(row.Key).append("\n");
  return strdup(all.c_str());
}

char *unknown(const char *what, StringRef name) { return strdup((Twine(what) + " \"" + name + "\"").str().c_str()); }

bool blank(StringRef part) { return part.empty() || part == "unknown" || part == "none" || part == "elf"; }

} // namespace

extern "C" void lathe_version(unsigned *major, unsigned *minor, unsigned *patch) { LLVMGetVersion(major, minor, patch); }
extern "C" char *lathe_host_triple(void) { return LLVMGetDefaultTargetTriple(); }

// LLVM itself accepts any words after the architecture. A word it does not know counts as the vendor, so that a vendor of
// one's own is allowed, but only beside an operating system that is known.
extern "C" char *lathe_check_triple(const char *triple) {
  Triple t(Triple::normalize(triple));
  if (t.getArch() == Triple::UnknownArch || !find(t))
    return unknown("no code generator for architecture", t.getArchName());
  bool os = t.getOS() != Triple::UnknownOS;
  if (!os && !blank(t.getOSName()))
    return unknown("unknown operating system", t.getOSName());
  if (!os && t.getVendor() == Triple::UnknownVendor && !blank(t.getVendorName()))
    return unknown("unknown operating system or vendor", t.getVendorName());
  if (t.getEnvironment() == Triple::UnknownEnvironment && !blank(t.getEnvironmentName()))
    return unknown("unknown environment", t.getEnvironmentName());
  return strdup("");
}

extern "C" char *lathe_list(const char *triple, int what) {
  auto info = subtarget(triple, "");
  if (!info)
    return strdup("");
  return what == LATHE_CPUS ? keys(info->getAllProcessorDescriptions()) : keys(info->getAllProcessorFeatures());
}

extern "C" char *lathe_enabled(const char *triple, const char *cpu, const char *changes) {
  auto info = subtarget(triple, cpu);
  if (!info)
    return strdup("");
  // The subtarget starts with what the triple demands (SSE2 on x86-64), what the CPU has, and what tunes for the CPU.
  FeatureBitset bits = info->getFeatureBits(), none;
  for (const auto &row : info->getAllProcessorDescriptions()) {
    if (info->getCPU() != row.Key)
      continue;
    info->setFeatureBits(none);
    FeatureBitset tuning = info->SetFeatureBitsTransitively(row.TuneImplies.getAsBitset());
    info->setFeatureBits(none);
    bits &= ~tuning | info->SetFeatureBitsTransitively(row.Implies.getAsBitset());
  }
  info->setFeatureBits(bits);
  SmallVector<StringRef, 16> parts;
  StringRef(changes).split(parts, ',', -1, false);
  for (StringRef part : parts)
    info->ApplyFeatureFlag(part);
  std::vector<SubtargetFeatureKV> on = info->getEnabledProcessorFeatures();
  erase_if(on, [](const SubtargetFeatureKV &row) { return StringRef(row.Key).ends_with("bit-mode"); });
  return keys(on);
}
