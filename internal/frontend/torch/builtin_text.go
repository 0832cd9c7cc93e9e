package torch

import (
	"strconv"
	"strings"

	"lathe/internal/types"
)

// parseNumber is a text as a number.
func parseNumber(s string, d types.DType) value {
	if d == types.I64 {
		if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
			return n
		}
	} else if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
		return f
	}
	fail("%s is no number", quoted(s))
	return nil
}

// textFunctions are those of texts.
func textFunctions() map[string]builtinFunc {
	of := func(f func(s string) value) builtinFunc {
		return func(_ *machine, args []value) (value, bool) {
			s, ok := args[0].(string)
			if !ok || len(args) != 1 {
				return nil, false
			}
			return f(s), true
		}
	}
	with := func(f func(s, t string) value) builtinFunc {
		return func(_ *machine, args []value) (value, bool) {
			if len(args) != 2 {
				return nil, false
			}
			s, ok1 := args[0].(string)
			t, ok2 := args[1].(string)
			if !ok1 || !ok2 {
				return nil, false
			}
			return f(s, t), true
		}
	}
	return map[string]builtinFunc{
		"format": func(_ *machine, args []value) (value, bool) {
			s, ok := args[0].(string)
			for _, a := range args[1:] {
				s = strings.Replace(s, "{}", text(a, 4), 1)
			}
			return s, ok && len(s) < 1<<20
		},
		"lower": of(func(s string) value { return strings.ToLower(s) }), "upper": of(func(s string) value { return strings.ToUpper(s) }),
		"startswith": with(func(s, t string) value { return strings.HasPrefix(s, t) }), "endswith": with(func(s, t string) value { return strings.HasSuffix(s, t) }),
		"find": func(_ *machine, args []value) (value, bool) { // in [start, end), which may be left out
			if len(args) < 2 || len(args) > 4 {
				return nil, false
			}
			s, ok1 := args[0].(string)
			t, ok2 := args[1].(string)
			bounds := [2]int64{0, int64(len(s))}
			for i, v := range args[2:] {
				n, ok := v.(int64)
				if !ok {
					return nil, false
				}
				if n < 0 {
					n += int64(len(s))
				}
				bounds[i] = min(max(n, 0), int64(len(s)))
			}
			at := int64(-1)
			if bounds[0] <= bounds[1] {
				at = int64(strings.Index(s[bounds[0]:bounds[1]], t))
			}
			if at >= 0 {
				at += bounds[0]
			}
			return at, ok1 && ok2
		},
		"join": func(_ *machine, args []value) (value, bool) {
			sep, ok := args[0].(string)
			if !ok || len(args) != 2 {
				return nil, false
			}
			parts, _ := items(args[1])
			var all []string
			for _, p := range parts {
				all = append(all, text(p, 2))
			}
			return strings.Join(all, sep), true
		},
		"prim.RaiseException": func(_ *machine, args []value) (value, bool) {
			message := ""
			if len(args) > 0 {
				message = text(args[0], 3)
			}
			panicRaised(message)
			return nil, true
		},
	}
}
