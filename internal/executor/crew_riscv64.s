#include "textflag.h"

// func crewAddresses() (work, wait, wake, pauses uintptr)
TEXT ·crewAddresses(SB), NOSPLIT, $0-32
	MOV	$crewWork<>(SB), X5
	MOV	X5, work+0(FP)
	MOV	$crewWait<>(SB), X5
	MOV	X5, wait+8(FP)
	MOV	$crewWake<>(SB), X5
	MOV	X5, wake+16(FP)
	MOV	$crewPauses<>(SB), X5
	MOV	X5, pauses+24(FP)
	RET

#define PAUSE WORD $0x0100000f

// void crewWork(crew *X10, int worker X11, uint64_t *base X12)
TEXT crewWork<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	ADD	$-48, X2
	MOV	X1, 0(X2)
	MOV	X8, 8(X2)
	MOV	X18, 16(X2)
	MOV	X20, 24(X2)
	MOV	X21, 32(X2)
	MOV	X22, 40(X2)
	MOV	X10, X8
	MOV	X11, X18
	MOV	X12, X20
	MOV	$0, X21 // the run that was seen last
look:
	MOVWU	12(X8), X22 // pauses
spin:
	MOVWU	(X8), X5 // job
	FENCE
	AND	$1, X5, X6
	BEQ	X6, X0, none
	BNE	X5, X21, come
none:
	BEQ	X22, X0, sleep
	ADD	$-1, X22
	PAUSE
	JMP	spin
sleep:
	ADD	$4, X8, X6 // sleepers
	MOV	$1, X7
	AMOADDW	X7, (X6), X0
	FENCE
nap:
	MOVWU	(X8), X5
	FENCE
	AND	$1, X5, X6
	BEQ	X6, X0, lie
	BNE	X5, X21, rise
lie:
	MOV	X8, X10
	MOV	$128, X11 // FUTEX_WAIT_PRIVATE
	MOV	X5, X12
	MOV	$0, X13
	MOV	$98, X17 // futex
	ECALL
	JMP	nap
rise:
	ADD	$4, X8, X6
	MOV	$-1, X7
	AMOADDW	X7, (X6), X0
come:
	MOVWU	8(X8), X6 // stop
	BNE	X6, X0, leave
	MOV	X5, X21
	MOVW	16(X8), X13 // first
	MOVW	20(X8), X14 // last
	MOV	24(X8), X6 // base
	MOV	32(X8), X7 // entry
	MOV	40(X8), X10 // context
	MOVW	48(X8), X12 // workers
	FENCE
	MOVWU	(X8), X5
	BNE	X5, X21, look
	BGE	X18, X12, look
	MOV	X6, (X20)
	MOV	X18, X11
	CALL	X7
	JMP	look
leave:
	MOV	0(X2), X1
	MOV	8(X2), X8
	MOV	16(X2), X18
	MOV	24(X2), X20
	MOV	32(X2), X21
	MOV	40(X2), X22
	ADD	$48, X2
	RET

// void crewWait(void *user X10, uint32_t *word X11, uint32_t seen X12)
TEXT crewWait<>(SB), NOSPLIT|NOFRAME, $0
	MOV	X11, X10
	MOV	$128, X11 // FUTEX_WAIT_PRIVATE
	MOV	$0, X13
	MOV	$98, X17 // futex
	ECALL
	RET

// void crewWake(void *user X10, uint32_t *word X11)
TEXT crewWake<>(SB), NOSPLIT|NOFRAME, $0
	MOV	X11, X10
	MOV	$129, X11 // FUTEX_WAKE_PRIVATE
	MOV	$0x7fffffff, X12
	MOV	$98, X17 // futex
	ECALL
	RET

// void crewPauses(uint32_t n X10)
TEXT crewPauses<>(SB), NOSPLIT|NOFRAME, $0
again:
	BEQ	X10, X0, over
	ADD	$-1, X10
	PAUSE
	JMP	again
over:
	RET
