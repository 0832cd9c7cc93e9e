#include "textflag.h"

// func faultHandlerAddress() uintptr
TEXT ·faultHandlerAddress(SB), NOSPLIT, $0-8
	MOV	$faultHandler<>(SB), X5
	MOV	X5, ret+0(FP)
	RET

// void faultHandler(int signal X10, siginfo_t *X11, ucontext_t *X12)
TEXT faultHandler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOV	·faultCalls(SB), X5
	BEQ	X5, X0, next
	MOV	176(X12), X6 // uc_mcontext.pc
	MOV	·faultTextLo(SB), X7
	BLTU	X6, X7, ours
	MOV	·faultTextHi(SB), X7
	BLTU	X6, X7, next
ours:
	ADD	$-32, X2, X11
	MOV	X10, 0(X11)
	MOV	X6, 8(X11)
	MOV	·faultPipe(SB), X10
	MOV	$16, X12
	MOV	$64, X17 // write
	ECALL
block:
	MOV	$0, X10
	MOV	$0, X11
	MOV	$0, X12
	MOV	$0, X13
	MOV	$73, X17 // ppoll
	ECALL
	JMP	block
next:
	MOV	$·faultNext(SB), X5
	SLL	$3, X10, X6
	ADD	X6, X5, X5
	MOV	(X5), X5
	JMP	(X5)
