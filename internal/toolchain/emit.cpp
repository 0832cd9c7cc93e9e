// Code generation by the passes of LLVM's code generator, with what they made of each loop.

#include "emit.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSchedule.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>

using namespace llvm;

namespace {

// Pressure is what the instructions of a loop take of a core, as LLVM's model of it says.
class Pressure {
  const TargetSchedModel &model;
  SmallVector<unsigned, 64> cycles; // by resource
  unsigned operations = 0;

public:
  explicit Pressure(const TargetSchedModel &m) : model(m) {
    if (m.hasInstrSchedModel())
      cycles.resize(m.getNumProcResourceKinds());
  }

  void add(const MachineInstr &i) {
    operations += model.getNumMicroOps(&i);
    if (cycles.empty())
      return;
    const MCSchedClassDesc *c = model.resolveSchedClass(&i);
    if (!c->isValid())
      return;
    for (auto r = model.getWriteProcResBegin(c); r != model.getWriteProcResEnd(c); ++r)
      cycles[r->ProcResourceIdx] += r->ReleaseAtCycle - r->AcquireAtCycle;
  }

  // bound is the time in cycles that the busiest resource needs.
  double bound() const {
    double most = double(operations) / std::max(1u, model.getIssueWidth());
    for (unsigned k = 1; k < cycles.size(); k++)
      most = std::max(most, double(cycles[k]) / std::max(1u, model.getProcResource(k)->NumUnits));
    return most;
  }
};

// The number that a block's name ends in behind "_x", as package codegen/llvm writes it into the first block of a loop.
double trips_of(const MachineLoop &loop) {
  const double unknown = 8;
  const BasicBlock *head = loop.getHeader()->getBasicBlock();
  if (!head)
    return unknown;
  StringRef name = head->getName();
  size_t at = name.rfind("_x");
  unsigned long long n;
  if (at == StringRef::npos || name.substr(at + 2).consumeInteger(10, n))
    return unknown;
  return double(n);
}

// Survey reads a function when all of its code is settled.
class Survey : public MachineFunctionPass {
  std::vector<lathe_loop> &found;

  static void instruction(const MachineInstr &i, const TargetInstrInfo &target, lathe_loop &loop, Pressure &pressure) {
    if (i.isMetaInstruction() || i.isPosition())
      return;
    loop.instructions++;
    loop.spills += i.getSpillSize(&target) || i.getFoldedSpillSize(&target);
    loop.reloads += i.getRestoreSize(&target) || i.getFoldedRestoreSize(&target);
    pressure.add(i);
  }

public:
  static char ID;
  explicit Survey(std::vector<lathe_loop> &to) : MachineFunctionPass(ID), found(to) {}

  StringRef getPassName() const override { return "Lathe's survey of loops"; }

  void getAnalysisUsage(AnalysisUsage &use) const override {
    use.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(use);
  }

  bool runOnMachineFunction(MachineFunction &f) override {
    const TargetInstrInfo &target = *f.getSubtarget().getInstrInfo();
    TargetSchedModel model;
    model.init(&f.getSubtarget());
    MachineDominatorTree dominators(f);
    MachineLoopInfo loops(dominators);
    for (const MachineLoop *l : loops.getLoopsInPreorder()) {
      lathe_loop loop = {1, 0, 0, 0, 0, l->isInnermost()};
      for (const MachineLoop *around = l; around; around = around->getParentLoop())
        loop.iterations *= trips_of(*around);
      Pressure pressure(model);
      for (const MachineBasicBlock *b : l->blocks())
        if (loops.getLoopFor(b) == l)
          for (const MachineInstr &i : b->instrs())
            instruction(i, target, loop, pressure);
      loop.cycles = pressure.bound();
      found.push_back(loop);
    }
    return false;
  }
};

char Survey::ID;

// Manager takes the passes that LLVM adds for a target, leaves one out or adds its own.
class Manager : public legacy::PassManager {
  const bool as_written, reassociates;
  std::vector<lathe_loop> &loops;

  // left_out tells of the scheduler, where instructions stay as written, and of the pass that makes short chains of long sums of integers.
  // An accumulator of a tile is such a chain in each of a loop's steps: products of several steps would be added to each other first, and
  // wait for that in registers that other accumulators have. Other architectures make multiply-adds by that pass.
  bool left_out(const Pass &p) const {
    return (as_written && p.getPassID() == &MachineSchedulerID) || (reassociates && p.getPassID() == &MachineCombinerID);
  }

public:
  Manager(bool as_written, const Triple &of, std::vector<lathe_loop> &loops)
      : as_written(as_written), reassociates(of.isX86()), loops(loops) {}

  void add(Pass *p) override {
    if (left_out(*p)) {
      delete p;
      return;
    }
    if (p->getPassName() == "Free MachineFunction") // behind the last pass that reads it
      legacy::PassManager::add(new Survey(loops));
    legacy::PassManager::add(p);
  }
};

} // namespace

bool generate(Module &module, TargetMachine &machine, bool object, bool as_written, SmallVectorImpl<char> &code,
              std::vector<lathe_loop> &loops) {
  Manager passes(as_written, machine.getTargetTriple(), loops);
  raw_svector_ostream out(code);
  auto kind = object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return false;
  passes.run(module);
  return true;
}
