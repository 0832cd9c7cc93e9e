#include "textflag.h"

// func crewAddresses() (work, wait, wake, pauses uintptr)
TEXT ·crewAddresses(SB), NOSPLIT, $0-32
	MOVD	$crewWork<>(SB), R0
	MOVD	R0, work+0(FP)
	MOVD	$crewWait<>(SB), R0
	MOVD	R0, wait+8(FP)
	MOVD	$crewWake<>(SB), R0
	MOVD	R0, wake+16(FP)
	MOVD	$crewPauses<>(SB), R0
	MOVD	R0, pauses+24(FP)
	RET

// void crewWork(crew *R0, int worker R1, uint64_t *base R2)
TEXT crewWork<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	SUB	$64, RSP
	STP	(R29, R30), 0(RSP)
	STP	(R19, R20), 16(RSP)
	STP	(R21, R22), 32(RSP)
	STP	(R23, R24), 48(RSP)
	MOVD	RSP, R29
	MOVD	R0, R19
	MOVW	R1, R20
	MOVD	R2, R22
	MOVW	$0, R23 // the run that was seen last
look:
	MOVWU	12(R19), R24 // pauses
spin:
	LDARW	(R19), R9 // job
	TBZ	$0, R9, none
	CMPW	R23, R9
	BNE	come
none:
	CBZW	R24, sleep
	SUBW	$1, R24
	ISB	$15
	B	spin
sleep:
	ADD	$4, R19, R10 // sleepers
more:
	LDAXRW	(R10), R11
	ADDW	$1, R11
	STLXRW	R11, (R10), R12
	CBNZW	R12, more
	DMB	$11 // the count is there before the word is read
nap:
	LDARW	(R19), R9
	TBZ	$0, R9, lie
	CMPW	R23, R9
	BNE	rise
lie:
	MOVD	R19, R0
	MOVD	$128, R1 // FUTEX_WAIT_PRIVATE
	MOVWU	R9, R2
	MOVD	$0, R3
	MOVD	$98, R8 // futex
	SVC
	B	nap
rise:
	ADD	$4, R19, R10
fewer:
	LDAXRW	(R10), R11
	SUBW	$1, R11
	STLXRW	R11, (R10), R12
	CBNZW	R12, fewer
come:
	MOVWU	8(R19), R10 // stop
	CBNZW	R10, leave
	MOVW	R9, R23
	MOVW	16(R19), R3 // first
	MOVW	20(R19), R4 // last
	MOVD	24(R19), R11 // base
	MOVD	32(R19), R12 // entry
	MOVD	40(R19), R0 // context
	MOVW	48(R19), R2 // workers
	DMB	$9 // the numbers are read before the word again
	LDARW	(R19), R9
	CMPW	R23, R9
	BNE	look
	CMPW	R2, R20
	BGE	look
	MOVD	R11, (R22)
	MOVW	R20, R1
	CALL	(R12)
	B	look
leave:
	LDP	16(RSP), (R19, R20)
	LDP	32(RSP), (R21, R22)
	LDP	48(RSP), (R23, R24)
	LDP	0(RSP), (R29, R30)
	ADD	$64, RSP
	RET

// void crewWait(void *user R0, uint32_t *word R1, uint32_t seen R2)
TEXT crewWait<>(SB), NOSPLIT|NOFRAME, $0
	MOVD	R1, R0
	MOVD	$128, R1 // FUTEX_WAIT_PRIVATE
	MOVD	$0, R3
	MOVD	$98, R8 // futex
	SVC
	RET

// void crewWake(void *user R0, uint32_t *word R1)
TEXT crewWake<>(SB), NOSPLIT|NOFRAME, $0
	MOVD	R1, R0
	MOVD	$129, R1 // FUTEX_WAKE_PRIVATE
	MOVD	$0x7fffffff, R2
	MOVD	$98, R8 // futex
	SVC
	RET

// void crewPauses(uint32_t n R0)
TEXT crewPauses<>(SB), NOSPLIT|NOFRAME, $0
again:
	CBZW	R0, over
	SUBW	$1, R0
	ISB	$15
	B	again
over:
	RET
