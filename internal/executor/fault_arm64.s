#include "textflag.h"

// func faultHandlerAddress() uintptr
TEXT ·faultHandlerAddress(SB), NOSPLIT, $0-8
	MOVD	$faultHandler<>(SB), R0
	MOVD	R0, ret+0(FP)
	RET

// void faultHandler(int signal R0, siginfo_t *R1, ucontext_t *R2)
TEXT faultHandler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVD	·faultCalls(SB), R9
	CBZ	R9, next
	MOVD	440(R2), R10 // uc_mcontext.pc
	MOVD	·faultTextLo(SB), R11
	CMP	R11, R10
	BLO	ours
	MOVD	·faultTextHi(SB), R11
	CMP	R11, R10
	BLO	next
ours:
	SUB	$32, RSP, R1
	MOVD	R0, 0(R1)
	MOVD	R10, 8(R1)
	MOVD	·faultPipe(SB), R0
	MOVD	$16, R2
	MOVD	$64, R8 // write
	SVC
block:
	MOVD	$0, R0
	MOVD	$0, R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$73, R8 // ppoll
	SVC
	B	block
next:
	MOVD	$·faultNext(SB), R9
	MOVD	(R9)(R0<<3), R9
	JMP	(R9)
