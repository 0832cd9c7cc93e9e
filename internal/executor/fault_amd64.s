#include "textflag.h"

// func faultHandlerAddress() uintptr
TEXT ·faultHandlerAddress(SB), NOSPLIT, $0-8
	LEAQ	faultHandler<>(SB), AX
	MOVQ	AX, ret+0(FP)
	RET

// void faultHandler(int signal DI, siginfo_t *SI, ucontext_t *DX)
TEXT faultHandler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	CMPQ	·faultCalls(SB), $0
	JEQ	next
	MOVQ	168(DX), CX // uc_mcontext.gregs[REG_RIP]
	CMPQ	CX, ·faultTextLo(SB)
	JCS	ours
	CMPQ	CX, ·faultTextHi(SB)
	JCS	next
ours:
	SUBQ	$24, SP
	MOVQ	DI, 0(SP)
	MOVQ	CX, 8(SP)
	MOVQ	·faultPipe(SB), DI
	MOVQ	SP, SI
	MOVQ	$16, DX
	MOVQ	$1, AX // write
	SYSCALL
block:
	MOVQ	$34, AX // pause
	SYSCALL
	JMP	block
next:
	LEAQ	·faultNext(SB), AX
	MOVQ	(AX)(DI*8), AX
	JMP	AX
