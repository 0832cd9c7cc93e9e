package llvm

import (
	"fmt"

	"lathe/internal/target"
)

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

// Denormals tells whether code for an architecture can take denormals as zero, and whether it can compute with them.
func Denormals(arch target.Arch) (flush, keep bool) {
	f := floatControls[arch]
	if f == nil {
		return false, true
	}
	return f.flush != 0, !f.always
}

// floatEntry and floatExit are around what the run function does; with a register they need @lathe_float_control. The caller's
// rounding and traps do not change what a model computes, and are his again when it returns or calls back.
func (r *Run) floatEntry() string {
	if f := floatControls[r.Target.Arch]; f != nil {
		return fmt.Sprintf("  %%float = call i64 @lathe_float_control(i64 %d)\n", r.floatMode())
	}
	return ""
}

func (r *Run) floatExit() string {
	if floatControls[r.Target.Arch] == nil {
		return ""
	}
	return "  call i64 @lathe_float_control(i64 %float)\n"
}

// floatValue is the caller's mode where the run function hands it on.
func (r *Run) floatValue() string {
	if floatControls[r.Target.Arch] == nil {
		return "0"
	}
	return "%float"
}

// floatMode is the register's value while kernels run.
func (r *Run) floatMode() uint64 {
	f := floatControls[r.Target.Arch]
	if r.FlushDenormals {
		return f.flush
	}
	return f.keep
}

// floatFunction defines @lathe_float_control.
func (r *Run) floatFunction() string {
	f := floatControls[r.Target.Arch]
	if f == nil {
		return ""
	}
	return fmt.Sprintf("define internal i64 @lathe_float_control(i64 %%new) noinline nounwind {\n%s\n}\n%s", f.exchange, f.declare)
}
