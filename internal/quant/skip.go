package quant

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/tool/spelling"
)

// skip makes layers stay float that the user names: by a node of the model, as op=NAME by their operator, or as first and last.
func skip(list []*layer, wanted []string) error {
	var able []*layer
	for _, l := range list {
		if l.why == "" {
			able = append(able, l)
		}
	}
	if len(able) == 0 {
		return nil // of which the caller says why
	}
	for _, name := range wanted {
		fits := func(l *layer) bool { return slices.Contains(l.node.Origin, name) || l.node.Out[0].Name == name }
		switch operator, byOperator := strings.CutPrefix(name, "op="); {
		case byOperator:
			fits = func(l *layer) bool { return l.node.Op.Name == operator }
		case name == "first":
			fits = func(l *layer) bool { return l == able[0] }
		case name == "last":
			fits = func(l *layer) bool { return l == able[len(able)-1] }
		}
		found := false
		for _, l := range able {
			if fits(l) {
				l.why, found = "it was asked to stay float", true
			}
		}
		if !found {
			var names []string
			for _, l := range able {
				names = append(names, l.name(), "op="+l.node.Op.Name)
			}
			return fmt.Errorf("no layer to skip is %q (name a node of the model, op=OPERATOR, first or last)%s", name, spelling.Hint(name, names))
		}
	}
	return nil
}

// skipKinds makes convolutions of certain numbers stay float, and all dense layers and products where dense says so.
func skipKinds(list []*layer, convolutions []int, dense bool) {
	n := 0
	for _, l := range list {
		skipped := dense
		if isConv(l.node) {
			skipped = slices.Contains(convolutions, n)
			n++
		}
		if skipped && l.why == "" {
			l.why = "it was asked to stay float"
		}
	}
}
