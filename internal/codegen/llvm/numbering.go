package llvm

import "strings"

// A numbering holds what the current basic block has computed, so that no instruction is written twice: unrolled copies of a tile share
// most of their addresses and operands, and LLVM takes as long to read a text as to compile it.
type numbering struct {
	results map[string]string // the text of an instruction without side effects → its result
	loads   map[string]string // the same of loads, as long as nothing is stored
	slots   map[string]string // a stack slot → the value in it
}

// pure are the instructions whose result depends on nothing but their operands.
var pure = map[string]bool{
	"add": true, "sub": true, "mul": true, "udiv": true, "sdiv": true, "urem": true, "srem": true,
	"and": true, "or": true, "xor": true, "shl": true, "lshr": true, "ashr": true,
	"fadd": true, "fsub": true, "fmul": true, "fdiv": true, "fneg": true,
	"icmp": true, "fcmp": true, "select": true, "getelementptr": true,
	"insertelement": true, "extractelement": true, "shufflevector": true,
	"bitcast": true, "trunc": true, "zext": true, "sext": true, "fptrunc": true, "fpext": true,
	"fptosi": true, "fptoui": true, "sitofp": true, "uitofp": true,
}

// of is the table that an instruction's result belongs to; nil: none.
func (n *numbering) of(text string) map[string]string {
	op, _, _ := strings.Cut(text, " ")
	switch {
	case pure[op]:
		return n.results
	case op == "load":
		return n.loads
	}
	return nil
}

// begin forgets all: a block begins, which others than the one before it may lead to.
func (n *numbering) begin() {
	renew(&n.results)
	renew(&n.slots)
	n.stored()
}

// stored forgets what was loaded: memory may hold something else.
func (n *numbering) stored() { renew(&n.loads) }

// renew makes a table empty. One that is empty stays: most blocks and stores have nothing behind them.
func renew(table *map[string]string) {
	if *table == nil || len(*table) > 0 {
		*table = map[string]string{}
	}
}
