package arm

import "lathe/internal/isa"

// routines have the names and calling conventions of the Run-time ABI for the Arm Architecture (ARM IHI 0043), section "The
// Standard Compiler Helper Function Library". Divisors are not zero: code for a total division has tested them before.
var routines = []isa.Routine{
	// Quotient and remainder by shifting the divisor up to the dividend and subtracting it on the way down; operands that
	// fit 32 bits are divided as such.
	{Name: "divide64", Text: `
define internal { i64, i64 } @divide64(i64 %n, i64 %d) nounwind "no-builtins" {
entry:
  %both = or i64 %n, %d
  %high = lshr i64 %both, 32
  %narrow = icmp eq i64 %high, 0
  br i1 %narrow, label %short, label %long
short:
  %n32 = trunc i64 %n to i32
  %d32 = trunc i64 %d to i32
  %q32 = udiv i32 %n32, %d32
  %p32 = mul i32 %q32, %d32
  %r32 = sub i32 %n32, %p32
  %qs = zext i32 %q32 to i64
  %rs = zext i32 %r32 to i64
  br label %done
long:
  %less = icmp ult i64 %n, %d
  br i1 %less, label %done, label %align
align:
  %zn = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %zd = call i64 @llvm.ctlz.i64(i64 %d, i1 false)
  %up = sub i64 %zd, %zn
  %up.in = and i64 %up, 63
  %top = shl i64 %d, %up.in
  %steps = trunc i64 %up.in to i32
  br label %step
step:
  %k = phi i32 [ %steps, %align ], [ %k.next, %step ]
  %s = phi i64 [ %top, %align ], [ %s.next, %step ]
  %q = phi i64 [ 0, %align ], [ %q.next, %step ]
  %r = phi i64 [ %n, %align ], [ %r.next, %step ]
  %fits = icmp uge i64 %r, %s
  %less.r = sub i64 %r, %s
  %r.next = select i1 %fits, i64 %less.r, i64 %r
  %bit = zext i1 %fits to i64
  %q2 = shl i64 %q, 1
  %q.next = or i64 %q2, %bit
  %s.next = lshr i64 %s, 1
  %k.next = sub i32 %k, 1
  %last = icmp eq i32 %k, 0
  br i1 %last, label %done, label %step
done:
  %quot = phi i64 [ %qs, %short ], [ 0, %long ], [ %q.next, %step ]
  %rem = phi i64 [ %rs, %short ], [ %n, %long ], [ %r.next, %step ]
  %a = insertvalue { i64, i64 } poison, i64 %quot, 0
  %b = insertvalue { i64, i64 } %a, i64 %rem, 1
  ret { i64, i64 } %b
}
declare i64 @llvm.ctlz.i64(i64, i1)`},
	{Name: "__aeabi_uldivmod", Uses: "divide64", Text: `
define weak hidden arm_aapcscc { i64, i64 } @__aeabi_uldivmod(i64 %n, i64 %d) nounwind "no-builtins" {
  %b = call { i64, i64 } @divide64(i64 %n, i64 %d)
  ret { i64, i64 } %b
}`},
	{Name: "__aeabi_ldivmod", Uses: "divide64", Text: `
define weak hidden arm_aapcscc { i64, i64 } @__aeabi_ldivmod(i64 %n, i64 %d) nounwind "no-builtins" {
  %sn = ashr i64 %n, 63
  %sd = ashr i64 %d, 63
  %xn = xor i64 %n, %sn
  %xd = xor i64 %d, %sd
  %an = sub i64 %xn, %sn
  %ad = sub i64 %xd, %sd
  %u = call { i64, i64 } @divide64(i64 %an, i64 %ad)
  %uq = extractvalue { i64, i64 } %u, 0
  %ur = extractvalue { i64, i64 } %u, 1
  %sq = xor i64 %sn, %sd
  %xq = xor i64 %uq, %sq
  %q = sub i64 %xq, %sq
  %xr = xor i64 %ur, %sn
  %r = sub i64 %xr, %sn
  %a = insertvalue { i64, i64 } poison, i64 %q, 0
  %b = insertvalue { i64, i64 } %a, i64 %r, 1
  ret { i64, i64 } %b
}`},
	{Name: "divide32", Text: `
define internal { i32, i32 } @divide32(i32 %n, i32 %d) nounwind "no-builtins" {
entry:
  %less = icmp ult i32 %n, %d
  br i1 %less, label %done, label %align
align:
  %zn = call i32 @llvm.ctlz.i32(i32 %n, i1 false)
  %zd = call i32 @llvm.ctlz.i32(i32 %d, i1 false)
  %up = sub i32 %zd, %zn
  %steps = and i32 %up, 31
  %top = shl i32 %d, %steps
  br label %step
step:
  %k = phi i32 [ %steps, %align ], [ %k.next, %step ]
  %s = phi i32 [ %top, %align ], [ %s.next, %step ]
  %q = phi i32 [ 0, %align ], [ %q.next, %step ]
  %r = phi i32 [ %n, %align ], [ %r.next, %step ]
  %fits = icmp uge i32 %r, %s
  %less.r = sub i32 %r, %s
  %r.next = select i1 %fits, i32 %less.r, i32 %r
  %bit = zext i1 %fits to i32
  %q2 = shl i32 %q, 1
  %q.next = or i32 %q2, %bit
  %s.next = lshr i32 %s, 1
  %k.next = sub i32 %k, 1
  %last = icmp eq i32 %k, 0
  br i1 %last, label %done, label %step
done:
  %quot = phi i32 [ 0, %entry ], [ %q.next, %step ]
  %rem = phi i32 [ %n, %entry ], [ %r.next, %step ]
  %a = insertvalue { i32, i32 } poison, i32 %quot, 0
  %b = insertvalue { i32, i32 } %a, i32 %rem, 1
  ret { i32, i32 } %b
}
declare i32 @llvm.ctlz.i32(i32, i1)`},
	{Name: "__aeabi_uidivmod", Uses: "divide32", Text: `
define weak hidden arm_aapcscc { i32, i32 } @__aeabi_uidivmod(i32 %n, i32 %d) nounwind "no-builtins" {
  %b = call { i32, i32 } @divide32(i32 %n, i32 %d)
  ret { i32, i32 } %b
}`},
	{Name: "__aeabi_uidiv", Uses: "divide32", Text: `
define weak hidden arm_aapcscc i32 @__aeabi_uidiv(i32 %n, i32 %d) nounwind "no-builtins" {
  %b = call { i32, i32 } @divide32(i32 %n, i32 %d)
  %q = extractvalue { i32, i32 } %b, 0
  ret i32 %q
}`},
	{Name: "signed32", Uses: "divide32", Text: `
define internal { i32, i32 } @signed32(i32 %n, i32 %d) nounwind "no-builtins" {
  %sn = ashr i32 %n, 31
  %sd = ashr i32 %d, 31
  %xn = xor i32 %n, %sn
  %xd = xor i32 %d, %sd
  %an = sub i32 %xn, %sn
  %ad = sub i32 %xd, %sd
  %u = call { i32, i32 } @divide32(i32 %an, i32 %ad)
  %uq = extractvalue { i32, i32 } %u, 0
  %ur = extractvalue { i32, i32 } %u, 1
  %sq = xor i32 %sn, %sd
  %xq = xor i32 %uq, %sq
  %q = sub i32 %xq, %sq
  %xr = xor i32 %ur, %sn
  %r = sub i32 %xr, %sn
  %a = insertvalue { i32, i32 } poison, i32 %q, 0
  %b = insertvalue { i32, i32 } %a, i32 %r, 1
  ret { i32, i32 } %b
}`},
	{Name: "__aeabi_idivmod", Uses: "signed32", Text: `
define weak hidden arm_aapcscc { i32, i32 } @__aeabi_idivmod(i32 %n, i32 %d) nounwind "no-builtins" {
  %b = call { i32, i32 } @signed32(i32 %n, i32 %d)
  ret { i32, i32 } %b
}`},
	{Name: "__aeabi_idiv", Uses: "signed32", Text: `
define weak hidden arm_aapcscc i32 @__aeabi_idiv(i32 %n, i32 %d) nounwind "no-builtins" {
  %b = call { i32, i32 } @signed32(i32 %n, i32 %d)
  %q = extractvalue { i32, i32 } %b, 0
  ret i32 %q
}`},

	// Integers to floats: both halves are exact in float64, so that their sum rounds once.
	{Name: "__aeabi_ul2d", Text: `
define weak hidden arm_aapcscc double @__aeabi_ul2d(i64 %x) nounwind "no-builtins" {
  %low = trunc i64 %x to i32
  %up = lshr i64 %x, 32
  %high = trunc i64 %up to i32
  %l = uitofp i32 %low to double
  %h = uitofp i32 %high to double
  %scaled = fmul double %h, 0x41F0000000000000
  %r = fadd double %scaled, %l
  ret double %r
}`},
	{Name: "__aeabi_l2d", Text: `
define weak hidden arm_aapcscc double @__aeabi_l2d(i64 %x) nounwind "no-builtins" {
  %low = trunc i64 %x to i32
  %up = lshr i64 %x, 32
  %high = trunc i64 %up to i32
  %l = uitofp i32 %low to double
  %h = sitofp i32 %high to double
  %scaled = fmul double %h, 0x41F0000000000000
  %r = fadd double %scaled, %l
  ret double %r
}`},
	// To float32 by way of a float64 that must be exact: of numbers from 2^53 on, the 11 lowest bits, which are far below
	// the half of a unit in the last place, are replaced by one that says whether any of them is set.
	{Name: "exact_float", Text: `
define internal float @exact_float(i64 %x) nounwind "no-builtins" {
  %tail = and i64 %x, 2047
  %inexact = icmp ne i64 %tail, 0
  %large = icmp uge i64 %x, 9007199254740992
  %sticky = and i1 %inexact, %large
  %cleared = and i64 %x, -2048
  %marked = or i64 %cleared, 2048
  %y = select i1 %sticky, i64 %marked, i64 %x
  %low = trunc i64 %y to i32
  %up = lshr i64 %y, 32
  %high = trunc i64 %up to i32
  %l = uitofp i32 %low to double
  %h = uitofp i32 %high to double
  %scaled = fmul double %h, 0x41F0000000000000
  %d = fadd double %scaled, %l
  %r = fptrunc double %d to float
  ret float %r
}`},
	{Name: "__aeabi_ul2f", Uses: "exact_float", Text: `
define weak hidden arm_aapcscc float @__aeabi_ul2f(i64 %x) nounwind "no-builtins" {
  %r = call float @exact_float(i64 %x)
  ret float %r
}`},
	{Name: "__aeabi_l2f", Uses: "exact_float", Text: `
define weak hidden arm_aapcscc float @__aeabi_l2f(i64 %x) nounwind "no-builtins" {
  %s = ashr i64 %x, 63
  %f = xor i64 %x, %s
  %size = sub i64 %f, %s
  %r = call float @exact_float(i64 %size)
  %minus = fneg float %r
  %negative = icmp slt i64 %x, 0
  %y = select i1 %negative, float %minus, float %r
  ret float %y
}`},

	// Floats to integers, towards zero: the high half is what a division by 2^32 leaves before the point, the low half the
	// exact rest. What does not fit gives anything.
	{Name: "whole", Text: `
define internal i64 @whole(double %x) nounwind "no-builtins" {
  %down = fmul double %x, 0x3DF0000000000000
  %high = fptoui double %down to i32
  %back = uitofp i32 %high to double
  %above = fmul double %back, 0x41F0000000000000
  %rest = fsub double %x, %above
  %low = fptoui double %rest to i32
  %h = zext i32 %high to i64
  %l = zext i32 %low to i64
  %up = shl i64 %h, 32
  %r = or i64 %up, %l
  ret i64 %r
}`},
	{Name: "signed_whole", Uses: "whole", Text: `
define internal i64 @signed_whole(double %x) nounwind "no-builtins" {
  %size = call double @llvm.fabs.f64(double %x)
  %u = call i64 @whole(double %size)
  %minus = sub i64 0, %u
  %negative = fcmp olt double %x, 0.0
  %r = select i1 %negative, i64 %minus, i64 %u
  ret i64 %r
}
declare double @llvm.fabs.f64(double)`},
	{Name: "__aeabi_d2ulz", Uses: "whole", Text: `
define weak hidden arm_aapcscc i64 @__aeabi_d2ulz(double %x) nounwind "no-builtins" {
  %r = call i64 @whole(double %x)
  ret i64 %r
}`},
	{Name: "__aeabi_d2lz", Uses: "signed_whole", Text: `
define weak hidden arm_aapcscc i64 @__aeabi_d2lz(double %x) nounwind "no-builtins" {
  %r = call i64 @signed_whole(double %x)
  ret i64 %r
}`},
	{Name: "__aeabi_f2ulz", Uses: "whole", Text: `
define weak hidden arm_aapcscc i64 @__aeabi_f2ulz(float %x) nounwind "no-builtins" {
  %d = fpext float %x to double
  %r = call i64 @whole(double %d)
  ret i64 %r
}`},
	{Name: "__aeabi_f2lz", Uses: "signed_whole", Text: `
define weak hidden arm_aapcscc i64 @__aeabi_f2lz(float %x) nounwind "no-builtins" {
  %d = fpext float %x to double
  %r = call i64 @signed_whole(double %d)
  ret i64 %r
}`},
}
