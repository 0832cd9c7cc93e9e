package expr

// An Op is a binary operator. Both operands have one type, which is also the result's, except that comparisons give Bool.
type Op uint8

const (
	OpAdd      Op = iota // integers wrap
	OpSub                // integers wrap
	OpMul                // integers wrap
	OpDiv                // floats: IEEE; integers: truncation, x/0 = 0, least/-1 wraps
	OpMod                // sign of the dividend (C fmod and %); integers: x%0 = 0
	OpFloorDiv           // integers only: rounds down, x/0 = 0
	OpFloorMod           // integers and floats: sign of the divisor, x mod 0 = 0 for integers
	OpMin                // NaN if either operand is
	OpMax                // NaN if either operand is
	OpGreater            // floats only: as OpMax, but either operand where one is NaN; for where that shows anyhow
	OpPow                // floats only
	OpAtan2              // floats only
	OpAnd                // bits of integers, logical on Bool; on Bool B is evaluated only where A holds
	OpOr
	OpXor
	OpShl // integers; a shift by the width or more, or by a negative count, gives 0
	OpShr // arithmetic for signed types (wide shifts of negative numbers give 0 too)
	OpEQ
	OpNE
	OpLT
	OpLE
	OpGT
	OpGE
)

var opNames = [...]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpFloorDiv: "floordiv", OpFloorMod: "floormod",
	OpMin: "min", OpMax: "max", OpGreater: "greater", OpPow: "pow", OpAtan2: "atan2", OpAnd: "&", OpOr: "|", OpXor: "^", OpShl: "<<", OpShr: ">>",
	OpEQ: "==", OpNE: "!=", OpLT: "<", OpLE: "<=", OpGT: ">", OpGE: ">=",
}

func (o Op) String() string { return opNames[o] }

// Compares reports whether the result is Bool.
func (o Op) Compares() bool { return o >= OpEQ }

// Named reports whether the operator prints as a call, min(a, b), rather than infix.
func (o Op) Named() bool { return o >= OpFloorDiv && o <= OpAtan2 }

// Ops lists all binary operators.
func Ops() []Op {
	all := make([]Op, len(opNames))
	for i := range all {
		all[i] = Op(i)
	}
	return all
}

// A Fn is a function of one argument. Unless noted it is for floats and NaN gives NaN.
type Fn uint8

const (
	FnNeg     Fn = iota // integers wrap
	FnAbs               // integers: |least| wraps
	FnNot               // complement of bits; logical on Bool
	FnSqrt              // correctly rounded
	FnRsqrt             // 1/sqrt(x)
	FnExp               // error bounds: package intrin
	FnExpNeg            // exp(x) of x <= 0, as that of a difference from a greatest element; of others any number
	FnLog               // log 0 = -Inf, log of negatives NaN
	FnLog1p             // log(1+x)
	FnExpm1             // exp(x)-1
	FnTanh              //
	FnSigmoid           // 1/(1+exp(-x))
	FnErf               //
	FnSin               //
	FnCos               //
	FnTan               //
	FnAsin              //
	FnAcos              //
	FnAtan              //
	FnSinh              //
	FnCosh              //
	FnAsinh             //
	FnAcosh             //
	FnAtanh             //
	FnFloor             //
	FnCeil              //
	FnTrunc             //
	FnRound             // to nearest, ties to even
	FnIsNaN             // Bool
	FnIsInf             // Bool; either sign
	FnPopcnt            // integers: number of one bits
	FnClz               // integers: leading zeros, width for 0
)

var fnNames = [...]string{
	FnNeg: "neg", FnAbs: "abs", FnNot: "not", FnSqrt: "sqrt", FnRsqrt: "rsqrt", FnExp: "exp", FnExpNeg: "expneg", FnLog: "log", FnLog1p: "log1p",
	FnExpm1: "expm1", FnTanh: "tanh", FnSigmoid: "sigmoid", FnErf: "erf", FnSin: "sin", FnCos: "cos", FnTan: "tan", FnAsin: "asin", FnAcos: "acos",
	FnAtan: "atan", FnSinh: "sinh", FnCosh: "cosh", FnAsinh: "asinh", FnAcosh: "acosh", FnAtanh: "atanh", FnFloor: "floor",
	FnCeil: "ceil", FnTrunc: "trunc", FnRound: "round", FnIsNaN: "isnan", FnIsInf: "isinf", FnPopcnt: "popcnt", FnClz: "clz",
}

func (f Fn) String() string { return fnNames[f] }

// Predicate reports whether the result is Bool.
func (f Fn) Predicate() bool { return f == FnIsNaN || f == FnIsInf }

// Fns lists all functions.
func Fns() []Fn {
	all := make([]Fn, len(fnNames))
	for i := range all {
		all[i] = Fn(i)
	}
	return all
}
