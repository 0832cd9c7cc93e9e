// Arithmetic on addresses, in front of the loops in which it does not change.

#include "hoist.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace {

// cheap reports whether an instruction costs next to nothing and cannot fault, wherever it stands.
bool cheap(const Instruction &i) {
  if (!i.getType()->isIntegerTy() && !i.getType()->isPointerTy())
    return false;
  if (isa<GetElementPtrInst>(i) || isa<CastInst>(i))
    return !i.getOperand(0)->getType()->isFPOrFPVectorTy() && !i.getOperand(0)->getType()->isVectorTy();
  switch (i.getOpcode()) {
  case Instruction::Add:
  case Instruction::Sub:
  case Instruction::Mul:
  case Instruction::Shl:
  case Instruction::LShr:
  case Instruction::AShr:
  case Instruction::And:
  case Instruction::Or:
  case Instruction::Xor:
    return true;
  }
  return false;
}

void hoist_from(Loop &loop, DominatorTree &dominators, LoopInfo &loops) {
  BasicBlock *latch = loop.getLoopLatch();
  if (!latch)
    return;
  SmallVector<Instruction *, 32> moved;
  SmallPtrSet<Instruction *, 32> outside;
  LoopBlocksRPO order(&loop);
  order.perform(&loops);
  for (BasicBlock *block : order) {
    if (!dominators.dominates(block, latch))
      continue;
    for (Instruction &i : *block) {
      auto fixed = [&](Value *v) {
        auto *from = dyn_cast<Instruction>(v);
        return !from || !loop.contains(from) || outside.contains(from);
      };
      if (cheap(i) && all_of(i.operands(), fixed)) {
        moved.push_back(&i);
        outside.insert(&i);
      }
    }
  }
  if (moved.empty())
    return;
  BasicBlock *before = loop.getLoopPreheader();
  if (!before)
    before = InsertPreheaderForLoop(&loop, &dominators, &loops, nullptr, false);
  if (!before)
    return;
  for (Instruction *i : moved)
    i->moveBefore(before->getTerminator()->getIterator());
}

} // namespace

void hoist(Module &module) {
  for (Function &f : module) {
    if (f.isDeclaration())
      continue;
    DominatorTree dominators(f);
    LoopInfo loops(dominators);
    auto order = loops.getLoopsInPreorder();
    for (Loop *loop : reverse(order))
      hoist_from(*loop, dominators, loops);
  }
}
