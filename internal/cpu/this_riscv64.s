#include "textflag.h"

// func vlenb() uint64
TEXT ·vlenb(SB), NOSPLIT, $0-8
	WORD $0xc2202573 // csrr a0, vlenb
	MOV  X10, ret+0(FP)
	RET
