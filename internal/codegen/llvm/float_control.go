package llvm

import (
	"fmt"

	"lathe/internal/isa"
)

// floatControl is the register of the target that says how a thread computes with floats; nil where there is none. Where workers
// meet, the meeting hands its value on in any case: without a register that is any number.
func (r *Run) floatControl() *isa.FloatControl {
	if f := r.Target.ISA().Instructions.Float; f != nil || !r.meets() {
		return f
	}
	return &isa.FloatControl{Exchange: "  ret i64 %new"}
}

// floatEntry and floatExit are around what the run function does; with a register they need @lathe_float_control. The caller's
// rounding and traps do not change what a model computes, and are his again when it returns or calls back.
func (r *Run) floatEntry() string {
	if r.floatControl() != nil {
		return fmt.Sprintf("  %%float = call i64 @lathe_float_control(i64 %d)\n", r.floatMode())
	}
	return ""
}

func (r *Run) floatExit() string {
	if r.floatControl() == nil {
		return ""
	}
	return "  call i64 @lathe_float_control(i64 %float)\n"
}

// floatValue is the caller's mode where the run function hands it on.
func (r *Run) floatValue() string {
	if r.floatControl() == nil {
		return "0"
	}
	return "%float"
}

// floatMode is the register's value while kernels run.
func (r *Run) floatMode() uint64 {
	f := r.floatControl()
	if r.FlushDenormals {
		return f.Flush
	}
	return f.Keep
}

// floatFunction defines @lathe_float_control.
func (r *Run) floatFunction() string {
	f := r.floatControl()
	if f == nil {
		return ""
	}
	return fmt.Sprintf("define internal i64 @lathe_float_control(i64 %%new) noinline nounwind {\n%s\n}\n%s", f.Exchange, f.Declare)
}
