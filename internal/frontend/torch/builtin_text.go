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
		"find": with(func(s, t string) value { return int64(strings.Index(s, t)) }),
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
