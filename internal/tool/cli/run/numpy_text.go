package run

import (
	"math"
	"strconv"
	"strings"
)

// array is what tvmc prints for --print-top: numpy's text of a 2xN array, places above values:
// of float64, or of int64 when the output is whole numbers.
func (s *scores) array(n int) string {
	best := s.top(n)
	var all []float64
	for _, i := range best {
		all = append(all, float64(i))
	}
	for _, i := range best {
		all = append(all, s.values[i])
	}
	words := numpyWords(all, s.integer)
	return "[" + numpyRow(words[:len(best)]) + "\n " + numpyRow(words[len(best):]) + "]"
}

// numpyRow joins words at numpy's line width of 75, inside two brackets.
func numpyRow(words []string) string {
	const width, indent = 73, "  "
	var b strings.Builder
	line := indent
	for i, w := range words {
		if len(line)+len(w) > width && len(line) > len(indent) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = indent
		}
		line += w
		if i+1 < len(words) {
			line += " "
		}
	}
	b.WriteString(line)
	return "[" + strings.TrimPrefix(b.String(), indent) + "]"
}

// numpyWords formats values of one array as numpy does by default: at most 8 decimals, points aligned, with exponents
// when the values are very large, very small or far apart.
func numpyWords(values []float64, integer bool) []string {
	if integer {
		return aligned(values, func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) })
	}
	least, greatest := math.Inf(1), 0.0
	for _, v := range values {
		if a := math.Abs(v); a > 0 && !math.IsInf(a, 0) && !math.IsNaN(a) {
			least, greatest = min(least, a), max(greatest, a)
		}
	}
	if greatest > 0 && (greatest >= 1e8 || least < 1e-4 || greatest/least > 1000) {
		return scientific(values)
	}
	return positional(values)
}

const numpyPrecision = 8

func positional(values []float64) []string {
	texts := make([]string, len(values))
	left, right := 0, 0
	for i, v := range values {
		t := strconv.FormatFloat(v, 'f', -1, 64)
		if whole, frac, ok := strings.Cut(t, "."); ok && len(frac) > numpyPrecision {
			t = strings.TrimRight(strconv.FormatFloat(v, 'f', numpyPrecision, 64), "0")
		} else if !ok && whole != "" && !math.IsNaN(v) && !math.IsInf(v, 0) {
			t += "."
		}
		texts[i] = numpySpecial(v, t)
		whole, frac, _ := strings.Cut(texts[i], ".")
		left, right = max(left, len(whole)), max(right, len(frac))
	}
	for i, t := range texts {
		whole, frac, ok := strings.Cut(t, ".")
		if !ok {
			texts[i] = strings.Repeat(" ", max(0, left+1+right-len(t))) + t
			continue
		}
		texts[i] = strings.Repeat(" ", left-len(whole)) + whole + "." + frac + strings.Repeat(" ", right-len(frac))
	}
	return texts
}

func scientific(values []float64) []string {
	precision := 0
	for _, v := range values {
		mantissa, _, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
		_, frac, _ := strings.Cut(mantissa, ".")
		if len(frac) > numpyPrecision {
			mantissa, _, _ = strings.Cut(strconv.FormatFloat(v, 'e', numpyPrecision, 64), "e")
			_, frac, _ = strings.Cut(strings.TrimRight(mantissa, "0"), ".")
		}
		precision = max(precision, len(frac))
	}
	return aligned(values, func(v float64) string {
		t := strconv.FormatFloat(v, 'e', precision, 64)
		if precision == 0 {
			t = strings.Replace(t, "e", ".e", 1)
		}
		return numpySpecial(v, t)
	})
}

// aligned pads the texts of values on the left.
func aligned(values []float64, format func(float64) string) []string {
	texts := make([]string, len(values))
	width := 0
	for i, v := range values {
		texts[i] = format(v)
		width = max(width, len(texts[i]))
	}
	for i, t := range texts {
		texts[i] = strings.Repeat(" ", width-len(t)) + t
	}
	return texts
}

func numpySpecial(v float64, text string) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return text
}
