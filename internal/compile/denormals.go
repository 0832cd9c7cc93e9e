package compile

import (
	"fmt"
	"math"
	"strings"

	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Denormals says what generated code does with floats that are smaller than the smallest normal number of their type, 2^-126
// for float32, of which most processors compute a hundred times as slowly.
type Denormals string

// Ways to compute with denormals.
const (
	DenormalsByTarget Denormals = ""      // flush where the target can
	DenormalsFlush    Denormals = "flush" // operands are taken as zero, and results become zero; the sign stays
	DenormalsKeep     Denormals = "keep"  // IEEE 754
)

// DenormalModes are the values that a user may name.
var DenormalModes = []string{string(DenormalsFlush), string(DenormalsKeep)}

// A floatControl is a register that says how a thread computes with floats.
type floatControl struct {
	// exchange is the body of i64 @lathe_float_control(i64 %new), which writes the register and returns what it was.
	exchange string
	declare  string
	flush    uint64 // its values: rounding to nearest, no traps, and denormals as the name says
	keep     uint64
	always   bool // keep is impossible
}

// floatControls are the registers by architecture. RISC-V has no mode for denormals, only one for rounding; WebAssembly and C
// source have neither.
var floatControls = map[target.Arch]*floatControl{
	target.X86: { // MXCSR: flush to zero, and denormals are zero
		exchange: `  %p = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %p)
  %was = load i32, ptr %p
  %low = trunc i64 %new to i32
  store i32 %low, ptr %p
  call void @llvm.x86.sse.ldmxcsr(ptr %p)
  %old = zext i32 %was to i64
  ret i64 %old`,
		declare: "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
		flush:   0x9fc0, keep: 0x1f80,
	},
	target.AArch64: { // FPCR: FZ, which leaves float16 alone
		exchange: `  %old = call i64 @llvm.aarch64.get.fpcr()
  call void @llvm.aarch64.set.fpcr(i64 %new)
  ret i64 %old`,
		declare: "declare i64 @llvm.aarch64.get.fpcr()\ndeclare void @llvm.aarch64.set.fpcr(i64)\n",
		flush:   1 << 24,
	},
	target.ARM: { // FPSCR: FZ, for scalars; NEON always flushes
		exchange: `  %was = call i32 asm sideeffect "vmrs $0, fpscr", "=r"()
  %low = trunc i64 %new to i32
  call void asm sideeffect "vmsr fpscr, $0", "r,~{cc}"(i32 %low)
  %old = zext i32 %was to i64
  ret i64 %old`,
		flush: 1 << 24, always: true,
	},
	target.RISCV64: { // fcsr
		exchange: `  %old = call i64 asm sideeffect "csrrw $0, fcsr, $1", "=r,r"(i64 %new)
  ret i64 %old`,
	},
}

// resolveDenormals refuses what the target cannot do, and chooses where nothing is asked for.
func (o *Options) resolveDenormals() error {
	f := floatControls[o.Target.Arch]
	can := f != nil && f.flush != 0
	switch {
	case o.Denormals == DenormalsByTarget && can:
		o.Denormals = DenormalsFlush
	case o.Denormals == DenormalsByTarget:
		o.Denormals = DenormalsKeep
	case o.Denormals == DenormalsFlush && !can:
		return fmt.Errorf("--denormals=flush: target %s computes with denormals as IEEE 754 says, and has no other mode (leave the flag out)", o.Target.Arch)
	case o.Denormals == DenormalsKeep && can && f.always:
		return fmt.Errorf("--denormals=keep: vectors of target %s take denormals as zero, and have no other mode (leave the flag out)", o.Target.Arch)
	case o.Denormals != DenormalsFlush && o.Denormals != DenormalsKeep:
		return fmt.Errorf("unknown way %q to compute with denormals (choose from %s)", o.Denormals, strings.Join(DenormalModes, ", "))
	}
	return nil
}

const denormalNote = "numbers below the smallest normal one occur, which the code takes as zero: --denormals=keep computes with them"

// leastNormal is the smallest normal number of what computes with a type, below which flushing makes zero of it. float16 is
// computed in float32, of which its own denormals are normal numbers.
func leastNormal(d types.DType) float64 {
	switch d {
	case types.F32, types.BF16:
		return 0x1p-126
	case types.F64:
		return 0x1p-1022
	}
	return 0
}

// hasDenormal reports whether an element would be flushed.
func hasDenormal(t *tensor.Tensor) bool {
	least := leastNormal(t.DType)
	for i := range t.Len() {
		if least == 0 {
			break
		}
		if v := math.Abs(t.Float(i)); v > 0 && v < least {
			return true
		}
	}
	return false
}

// floatEntry and floatExit are around what the run function does; with a register they need @lathe_float_control. The caller's
// rounding and traps do not change what a model computes, and are his again when it returns or calls back.
func (c *compiler) floatEntry() string {
	if f := floatControls[c.Target.Arch]; f != nil {
		return fmt.Sprintf("  %%float = call i64 @lathe_float_control(i64 %d)\n", c.floatMode())
	}
	return ""
}

func (c *compiler) floatExit() string {
	if floatControls[c.Target.Arch] == nil {
		return ""
	}
	return "  call i64 @lathe_float_control(i64 %float)\n"
}

// floatValue is the caller's mode where the run function hands it on.
func (c *compiler) floatValue() string {
	if floatControls[c.Target.Arch] == nil {
		return "0"
	}
	return "%float"
}

// floatMode is the register's value while kernels run.
func (c *compiler) floatMode() uint64 {
	f := floatControls[c.Target.Arch]
	if c.Denormals == DenormalsFlush {
		return f.flush
	}
	return f.keep
}

// floatFunction defines @lathe_float_control.
func (c *compiler) floatFunction() string {
	f := floatControls[c.Target.Arch]
	if f == nil {
		return ""
	}
	return fmt.Sprintf("define internal i64 @lathe_float_control(i64 %%new) noinline nounwind {\n%s\n}\n%s", f.exchange, f.declare)
}
