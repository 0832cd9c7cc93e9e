package c

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/types"
)

// A template is the text of a support function for every type that it exists for. In it T is the C type, U its unsigned
// type, W the width in bits, t the type's short name; MIN and MAX are the ends of its range.
type template struct {
	name string
	on   []types.DType
	text string
}

var (
	signedTypes   = []types.DType{types.I8, types.I16, types.I32, types.I64}
	unsignedTypes = []types.DType{types.U8, types.U16, types.U32, types.U64}
	integerTypes  = slices.Concat(signedTypes, unsignedTypes)
	floatTypes    = []types.DType{types.F32, types.F64}
)

// templates are in the order in which a file has them: a function calls earlier ones only. Functions that convert are named
// TO_of_FROM, all others NAME_TYPE.
var templates = []template{
	{"bits_of", floatTypes, `
static inline U bits_of_t(T x) {
  union { T value; U bits; } u;
  u.value = x;
  return u.bits;
}`},
	{"of_bits", floatTypes, `
static inline T t_of_bits(U bits) {
  union { T value; U bits; } u;
  u.bits = bits;
  return u.value;
}`},
	{"inf", floatTypes, `
static inline T inf_t(void) { return t_of_bits(INF); }`},
	{"nan", floatTypes, `
static inline T nan_t(void) { return t_of_bits(NAN); }`},

	// Sums and products wrap. The conversion to a signed type keeps the bits in every compiler in use.
	{"add", signedTypes, `
static inline T add_t(T a, T b) { return (T)((U)a + (U)b); }`},
	{"sub", signedTypes, `
static inline T sub_t(T a, T b) { return (T)((U)a - (U)b); }`},
	{"mul", signedTypes, `
static inline T mul_t(T a, T b) { return (T)((U)a * (U)b); }`},
	{"abs", signedTypes, `
static inline T abs_t(T x) { return x < 0 ? (T)(0u - (U)x) : x; }`},
	{"min", integerTypes, `
static inline T min_t(T a, T b) { return a < b ? a : b; }`},
	{"max", integerTypes, `
static inline T max_t(T a, T b) { return a > b ? a : b; }`},
	// x / 0 and x % 0 are 0; the quotient of the least number and -1 wraps.
	{"div", signedTypes, `
static inline T div_t(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? (T)(0u - (U)a) : (T)(a / b);
}`},
	{"mod", signedTypes, `
static inline T mod_t(T a, T b) { return b == 0 || b == -1 ? 0 : (T)(a % b); }`},
	{"div", unsignedTypes, `
static inline T div_t(T a, T b) { return b == 0 ? 0 : (T)(a / b); }`},
	{"mod", unsignedTypes, `
static inline T mod_t(T a, T b) { return b == 0 ? 0 : (T)(a % b); }`},
	// Quotients that round down, and remainders with the divisor's sign.
	{"floordiv", signedTypes, `
static inline T floordiv_t(T a, T b) {
  const T r = mod_t(a, b);
  return (T)(div_t(a, b) - (r != 0 && (r < 0) != (b < 0)));
}`},
	{"floormod", signedTypes, `
static inline T floormod_t(T a, T b) {
  const T r = mod_t(a, b);
  return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}`},
	{"floordiv", unsignedTypes, `
static inline T floordiv_t(T a, T b) { return div_t(a, b); }`},
	{"floormod", unsignedTypes, `
static inline T floormod_t(T a, T b) { return mod_t(a, b); }`},
	// Shifts by the width or more, or by negative counts, give 0.
	{"shl", signedTypes, `
static inline T shl_t(T a, T b) { return b >= 0 && b < W ? (T)((uint64_t)a << b) : 0; }`},
	{"shr", signedTypes, `
static inline T shr_t(T a, T b) { return b >= 0 && b < W ? (T)(a >> b) : 0; }`},
	{"shl", unsignedTypes, `
static inline T shl_t(T a, T b) { return b < W ? (T)((uint64_t)a << b) : 0; }`},
	{"shr", unsignedTypes, `
static inline T shr_t(T a, T b) { return b < W ? (T)(a >> b) : 0; }`},
	{"popcnt", integerTypes, `
static inline T popcnt_t(T x) {
  T n = 0;
  for (U u = (U)x; u != 0; u &= (U)(u - 1u)) n++;
  return n;
}`},
	{"clz", integerTypes, `
static inline T clz_t(T x) {
  T n = W;
  for (U u = (U)x; u != 0; u = (U)(u >> 1)) n--;
  return n;
}`},

	// NaN if either operand is NaN.
	{"min", floatTypes, `
static inline T min_t(T a, T b) { return b < a || b != b ? b : a; }`},
	{"max", floatTypes, `
static inline T max_t(T a, T b) { return b > a || b != b ? b : a; }`},
	{"greater", floatTypes, `
static inline T greater_t(T a, T b) { return b > a ? b : a; }`},
	{"abs", floatTypes, `
static inline T abs_t(T x) { return x <= 0 ? 0 - x : x; }`},
	{"copysign", floatTypes, `
static inline T copysign_t(T size, T x) { return bits_of_t(x) >> (W - 1) ? -size : size; }`},
	{"isnan", floatTypes, `
static inline _Bool isnan_t(T x) { return x != x; }`},
	{"isinf", floatTypes, `
static inline _Bool isinf_t(T x) { return abs_t(x) == inf_t(); }`},
	// The last bit of a sum with LARGE counts units, so that it rounds to nearest even.
	{"round", floatTypes, `
static inline T round_t(T x) {
  const T size = abs_t(x);
  if (!(size < LARGE)) return x;
  const T sum = size + LARGE;
  return copysign_t(sum - LARGE, x);
}`},
	{"trunc", floatTypes, `
static inline T trunc_t(T x) {
  const T size = abs_t(x);
  const T near = abs_t(round_t(x));
  return size < LARGE ? copysign_t(near > size ? near - 1 : near, x) : x;
}`},
	{"floor", floatTypes, `
static inline T floor_t(T x) {
  const T near = round_t(x);
  return copysign_t(abs_t(near > x ? near - 1 : near), x);
}`},
	{"ceil", floatTypes, `
static inline T ceil_t(T x) {
  const T near = round_t(x);
  return copysign_t(abs_t(near < x ? near + 1 : near), x);
}`},
	// The correctly rounded square root, digit by digit of the root's mantissa and one more, which rounds it.
	{"sqrt", floatTypes, `
static inline T sqrt_t(T x) {
  if (!(x > 0)) return x == 0 || x != x ? x : nan_t();
  U m = bits_of_t(x);
  int32_t exponent = (int32_t)(m >> MANT);
  if (exponent == 2 * BIAS + 1) return x;
  m &= HIDDEN - 1u;
  if (exponent == 0) {
    for (exponent = 1; m < HIDDEN; exponent--) m <<= 1;
  } else {
    m |= HIDDEN;
  }
  exponent -= BIAS;
  if (exponent % 2 != 0) {
    m <<= 1;
    exponent--;
  }
  U root = 0, tried = 0;
  for (U digit = HIDDEN << 1; digit != 0; digit >>= 1) {
    m <<= 1;
    if (tried + digit <= m) {
      m -= tried + digit;
      tried += digit << 1;
      root += digit;
    }
  }
  if (m != 0) root += root & 1u;
  return t_of_bits((root >> 1) + ((U)(exponent / 2 + BIAS - 1) << MANT));
}`},

	// float16 and bfloat16, as their bits.
	{"f32_of_f16", nil, `
static inline float f32_of_f16(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u;
  const uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0) {
    const float size = (float)mantissa * 5.9604645e-08f;
    return sign != 0 ? -size : size;
  }
  return f32_of_bits(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13);
}`},
	{"f16_of_f32", nil, `
static inline uint16_t f16_of_f32(float x) {
  const uint32_t sign = bits_of_f32(x) >> 16 & 0x8000u;
  const uint32_t size = bits_of_f32(x) & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x47800000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u) { /* the sum has steps of 2^-24, as the result has */
    const float sum = f32_of_bits(size) + 0.5f;
    return (uint16_t)(sign | (bits_of_f32(sum) - 0x3f000000u));
  }
  return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}`},
	{"f32_of_bf16", nil, `
static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }`},
	{"bf16_of_f32", nil, `
static inline uint16_t bf16_of_f32(float x) {
  const uint32_t bits = bits_of_f32(x);
  if (x != x) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}`},
}

// saturations convert a float to an integer type: to the nearest that it has, NaN to 0.
const (
	saturateSigned = `
static inline T t_of_f(F x) {
  if (x != x) return 0;
  if (x < LEAST) return MIN;
  return x >= BOUND ? MAX : (T)x;
}`
	saturateUnsigned = `
static inline T t_of_f(F x) {
  if (!(x > 0)) return 0;
  return x >= BOUND ? MAX : (T)x;
}`
)

// A support is a function of the file.
type support struct {
	name, text string
	needs      []string
}

// supports lists the functions that the templates make, in order; those that package intrin defines come behind them.
var supports = instances()

func instances() []support {
	var list []support
	for _, t := range templates {
		if t.on == nil {
			list = append(list, support{name: t.name, text: t.text})
		}
		for _, d := range t.on {
			name := t.name + "_" + short[d]
			if t.name == "of_bits" {
				name = short[d] + "_of_bits"
			}
			list = append(list, support{name: name, text: t.of(d)})
		}
	}
	for _, from := range floatTypes {
		for _, to := range integerTypes {
			list = append(list, support{name: short[to] + "_of_" + short[from], text: saturation(to, from)})
		}
	}
	for i, s := range list {
		for _, earlier := range list[:i] {
			if strings.Contains(s.text, earlier.name+"(") {
				list[i].needs = append(list[i].needs, earlier.name)
			}
		}
	}
	return list
}

// of is the template's text for a type.
func (t template) of(d types.DType) string {
	w := map[string]string{"T": typeNames[d], "W": strconv.Itoa(d.Bits())}
	if d.IsFloat() {
		mant, bias, u, zeros := 23, 127, types.U32, "u"
		if d == types.F64 {
			mant, bias, u, zeros = 52, 1023, types.U64, "ull"
		}
		large := string(appendFloat(nil, float64(int64(1)<<mant), 64))
		if d == types.F32 {
			large = "8388608.0f"
		}
		w["U"], w["MANT"], w["BIAS"], w["LARGE"] = typeNames[u], strconv.Itoa(mant), strconv.Itoa(bias), large
		w["HIDDEN"] = fmt.Sprintf("0x%x%s", int64(1)<<mant, zeros)
		w["INF"] = fmt.Sprintf("0x%x%s", int64(2*bias+1)<<mant, zeros)
		w["NAN"] = fmt.Sprintf("0x%x%s", int64(4*bias+3)<<(mant-1), zeros)
	} else {
		w["U"] = unsigned(d)
		if d.Bits() < 32 { // C computes these in int, which may have 16 bits
			if t.name != "popcnt" && t.name != "clz" {
				w["U"] = "uint32_t"
			}
		}
	}
	return expand(t.text, short[d], w)
}

// saturation is the text of the conversion from a float to an integer type.
func saturation(to, from types.DType) string {
	suffix := map[types.DType]string{types.F32: "f"}[from]
	power := func(n int) string { return strconv.FormatFloat(float64(uint64(1)<<n), 'f', 1, 64) + suffix }
	w := map[string]string{"T": typeNames[to], "F": typeNames[from]}
	text := saturateUnsigned
	n := to.Bits()
	if to.IsSigned() {
		text = saturateSigned
		w["LEAST"], n = "-"+power(to.Bits()-1), n-1
		w["MIN"] = "INT" + strconv.Itoa(to.Bits()) + "_MIN"
		w["MAX"] = "INT" + strconv.Itoa(to.Bits()) + "_MAX"
	} else {
		w["MAX"] = "UINT" + strconv.Itoa(to.Bits()) + "_MAX"
	}
	w["BOUND"] = power(n)
	if n == 64 {
		w["BOUND"] = "18446744073709551616.0" + suffix
	}
	return strings.Replace(expand(text, short[to], w), "_of_f(", "_of_"+short[from]+"(", 1)
}

var (
	placeholder = regexp.MustCompile(`\b(T|U|W|F|MANT|BIAS|LARGE|HIDDEN|INF|NAN|MIN|MAX|LEAST|BOUND)\b`)
	shortName   = regexp.MustCompile(`(\w_)t\(|\bt_of_`)
)

func expand(text, short string, w map[string]string) string {
	text = shortName.ReplaceAllStringFunc(text, func(s string) string {
		if s == "t_of_" {
			return short + "_of_"
		}
		return strings.TrimSuffix(s, "t(") + short + "("
	})
	return placeholder.ReplaceAllStringFunc(text, func(s string) string {
		if r, ok := w[s]; ok {
			return r
		}
		return s
	})
}
