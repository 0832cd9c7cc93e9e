#include "textflag.h"

// func crewAddresses() (work, wait, wake, pauses uintptr)
TEXT ·crewAddresses(SB), NOSPLIT, $0-32
	LEAQ	crewWork<>(SB), AX
	MOVQ	AX, work+0(FP)
	LEAQ	crewWait<>(SB), AX
	MOVQ	AX, wait+8(FP)
	LEAQ	crewWake<>(SB), AX
	MOVQ	AX, wake+16(FP)
	LEAQ	crewPauses<>(SB), AX
	MOVQ	AX, pauses+24(FP)
	RET

// void crewWork(crew *DI, int worker SI, uint64_t *base DX)
TEXT crewWork<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	PUSHQ	BX
	PUSHQ	BP
	PUSHQ	R12
	PUSHQ	R13
	PUSHQ	R14
	MOVQ	DI, BX
	MOVL	SI, R12
	MOVQ	DX, R13
	XORL	R14, R14 // the run that was seen last
look:
	MOVL	12(BX), BP // pauses
spin:
	MOVL	0(BX), AX // job
	TESTL	$1, AX
	JEQ	none
	CMPL	AX, R14
	JNE	come
none:
	TESTL	BP, BP
	JEQ	sleep
	DECL	BP
	PAUSE
	JMP	spin
sleep:
	MOVL	$1, CX
	LOCK
	XADDL	CX, 4(BX) // sleepers
nap:
	MOVL	0(BX), AX
	TESTL	$1, AX
	JEQ	lie
	CMPL	AX, R14
	JNE	rise
lie:
	MOVQ	BX, DI
	MOVL	$128, SI // FUTEX_WAIT_PRIVATE
	MOVL	AX, DX
	XORL	R10, R10
	MOVL	$202, AX // futex
	SYSCALL
	JMP	nap
rise:
	MOVL	$-1, CX
	LOCK
	XADDL	CX, 4(BX)
come:
	MOVL	8(BX), CX // stop
	TESTL	CX, CX
	JNE	leave
	MOVL	AX, R14
	MOVL	16(BX), CX // first
	MOVL	20(BX), R8 // last
	MOVQ	24(BX), R10 // base
	MOVQ	32(BX), R9 // entry
	MOVQ	40(BX), DI // context
	MOVL	48(BX), DX // workers
	MOVL	0(BX), AX
	CMPL	AX, R14
	JNE	look
	CMPL	R12, DX
	JGE	look
	MOVQ	R10, 0(R13)
	MOVL	R12, SI
	CALL	R9
	JMP	look
leave:
	POPQ	R14
	POPQ	R13
	POPQ	R12
	POPQ	BP
	POPQ	BX
	RET

// void crewWait(void *user DI, uint32_t *word SI, uint32_t seen DX)
TEXT crewWait<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ	SI, DI
	MOVL	$128, SI // FUTEX_WAIT_PRIVATE
	XORL	R10, R10
	MOVL	$202, AX // futex
	SYSCALL
	RET

// void crewWake(void *user DI, uint32_t *word SI)
TEXT crewWake<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ	SI, DI
	MOVL	$129, SI // FUTEX_WAKE_PRIVATE
	MOVL	$0x7fffffff, DX
	MOVL	$202, AX // futex
	SYSCALL
	RET

// void crewPauses(uint32_t n DI)
TEXT crewPauses<>(SB), NOSPLIT|NOFRAME, $0
again:
	TESTL	DI, DI
	JEQ	over
	DECL	DI
	PAUSE
	JMP	again
over:
	RET
