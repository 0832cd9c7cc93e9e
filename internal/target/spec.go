package target

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/tool/spelling"
)

// Spec is a target as the user wrote it, checked against the options of its kind and not yet resolved.
type Spec struct {
	Kind    string
	Options []Option // in the order of writing
	// Generators are the external code generators before the target, in the order of writing. Their options are not checked.
	Generators []Generator
}

// Option is one -name=value of a target. Lists are joined with commas, switches are "1" or "0".
type Option struct{ Name, Value string }

// Parse reads a target: a plain string such as "llvm -mcpu=core-avx2 -mattr=+avx2,+fma", inline JSON such as
// {"kind":"llvm","mcpu":"core-avx2"}, or the name of a preset. External code generators may stand before it, separated by commas:
// "dnnl -select=all, llvm". Targets for other machines than CPUs are recognised and refused.
func Parse(text string) (*Spec, error) {
	s, err := parse(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", text, err)
	}
	return s, nil
}

func parse(text string) (*Spec, error) {
	if text == "" {
		return nil, fmt.Errorf("empty; write llvm for this machine")
	}
	if strings.ContainsAny(text[:1], `{["`) {
		return parseJSON([]byte(text))
	}
	parts, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	var specs []*Spec
	for _, words := range parts {
		s, err := parseWords(words)
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return single(specs)
}

// single makes one target of a list: the last one, with the external code generators before it.
func single(specs []*Spec) (*Spec, error) {
	var seen []string
	for _, s := range specs {
		if slices.Contains(seen, s.Kind) {
			return nil, fmt.Errorf("%s is given twice", s.Kind)
		}
		seen = append(seen, s.Kind)
		if slices.Contains(deviceKinds, s.Kind) {
			return nil, s.supported()
		}
	}
	last := specs[len(specs)-1]
	if err := last.supported(); err != nil {
		return nil, err
	}
	for _, s := range specs[:len(specs)-1] {
		if Options(s.Kind) != nil {
			return nil, fmt.Errorf("%s is no external code generator: only the last of several targets may be one that code is compiled for", s.Kind)
		}
		if !generatorName.MatchString(s.Kind) {
			return nil, fmt.Errorf("%q cannot be the name of an external code generator", s.Kind)
		}
		last.Generators = append(last.Generators, Generator{s.Kind, s.Options})
	}
	return last, nil
}

// supported refuses kinds that are unknown, or known and do not work yet.
func (s *Spec) supported() error {
	switch {
	case slices.Contains(Codegens, s.Kind):
		return fmt.Errorf("%s is an external code generator, and what it does not take needs a target: write \"%s, llvm\"", s.Kind, s.Kind)
	case slices.Contains(deviceKinds, s.Kind):
		return fmt.Errorf("target kind %s is not supported yet; use llvm", s.Kind)
	case Options(s.Kind) == nil:
		if isGPU(s.Kind) {
			return fmt.Errorf("%q is a GPU, and GPUs are not supported yet ('lathe targets' lists what is)", s.Kind)
		}
		if hint := spelling.Hint(s.Kind, slices.Concat(Kinds(), presetNames())); hint != "" {
			return fmt.Errorf("unknown target kind %q%s", s.Kind, hint)
		}
		return fmt.Errorf("unknown target kind %q ('lathe targets' lists those that have names; others are \"llvm -mtriple=... -mcpu=...\")", s.Kind)
	}
	return nil
}

// isGPU recognises TVM's names of GPUs.
func isGPU(kind string) bool {
	for _, begin := range []string{"nvidia/", "apple/m", "mali", "bifrost", "amd/", "intel_graphics", "adreno"} {
		if strings.HasPrefix(kind, begin) {
			return true
		}
	}
	return false
}

// parseWords reads a kind and its options. The options of kinds that are refused anyway are not looked at, and those of external code
// generators are not checked.
func parseWords(words []string) (*Spec, error) {
	kind := words[0]
	if p, ok := preset(kind); ok {
		parts, err := tokenize(p)
		if err != nil {
			return nil, err
		}
		words = append([]string{parts[0][0]}, overlay(parts[0][1:], words[1:])...)
		kind = words[0]
	}
	if strings.HasPrefix(kind, "-") {
		return nil, fmt.Errorf("starts with the option %s; a target starts with its kind: write \"llvm %s\"", kind, strings.Join(words, " "))
	}
	s := &Spec{Kind: kind}
	if slices.Contains(deviceKinds, kind) {
		return s, nil
	}
	for _, w := range words[1:] {
		name, value, hasValue := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !strings.HasPrefix(w, "-") {
			return nil, fmt.Errorf("stray word %q: options are written -name=value", w)
		}
		if err := s.add(name, value, hasValue); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// overlay returns a preset's options with those that follow its name: they replace options of the same name, and features
// are added to the preset's.
func overlay(own, given []string) []string {
	given = slices.Clone(given)
	own = slices.DeleteFunc(slices.Clone(own), func(option string) bool {
		name, value, _ := strings.Cut(option, "=")
		i := slices.IndexFunc(given, func(w string) bool { return strings.HasPrefix(w, name+"=") })
		if i >= 0 && name == "-mattr" {
			given[i] = name + "=" + value + "," + strings.TrimPrefix(given[i], name+"=")
		}
		return i >= 0
	})
	return append(own, given...)
}

// Set adds or replaces an option, as tvmc's --target-llvm-NAME VALUE does.
func (s *Spec) Set(name, value string) error {
	s.Options = slices.DeleteFunc(s.Options, func(o Option) bool { return o.Name == name })
	return s.add(name, value, true)
}

func (s *Spec) add(name, value string, hasValue bool) error {
	options := Options(s.Kind)
	if options == nil {
		return s.addGiven(name, value, hasValue)
	}
	return s.addChecked(options, name, value, hasValue)
}

// addChecked adds an option of a table.
func (s *Spec) addChecked(options []OptionInfo, name, value string, hasValue bool) error {
	i := slices.IndexFunc(options, func(k OptionInfo) bool { return k.Name == name })
	if i < 0 {
		if name == "march" || name == "mtune" {
			return fmt.Errorf("unknown option -%s of %s; did you mean -mcpu=%s?", name, s.Kind, value)
		}
		var names []string
		for _, o := range options {
			names = append(names, o.Name)
		}
		return fmt.Errorf("unknown option -%s of %s%s", name, s.Kind, spelling.Hint(name, names))
	}
	if s.value(name) != "" {
		return fmt.Errorf("option -%s is given twice", name)
	}
	info := options[i]
	if info.Type == Switch {
		v, ok := switchValue(value, hasValue)
		if !ok {
			return fmt.Errorf("option -%s=%s: must be 0 or 1", name, value)
		}
		if value = v; value == "0" && info.Refused != "" {
			return nil // asks for nothing
		}
	}
	if info.Refused != "" {
		return fmt.Errorf("option -%s is not supported: %s", name, info.Refused)
	}
	if value == "" {
		return fmt.Errorf("option -%s has no value: write -%s=VALUE without spaces", name, name)
	}
	if strings.ContainsAny(value, "\n\r") || strings.Contains(value, `"`) && strings.Contains(value, "'") {
		return fmt.Errorf("option -%s: %q mixes both kinds of quotes or holds a line break", name, value)
	}
	s.Options = append(s.Options, Option{name, value})
	return nil
}

func switchValue(value string, hasValue bool) (string, bool) {
	switch {
	case !hasValue, value == "1", strings.EqualFold(value, "true"):
		return "1", true
	case value == "0", strings.EqualFold(value, "false"):
		return "0", true
	}
	return "", false
}

func (s *Spec) value(name string) string {
	for _, o := range s.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

// String returns the target as a plain string that Parse reads.
func (s *Spec) String() string {
	var b strings.Builder
	for _, g := range s.Generators {
		b.WriteString(g.String() + ", ")
	}
	return b.String() + Generator{s.Kind, s.Options}.String()
}

// quote protects blanks and a comma at the end, which would separate targets.
func quote(v string) string {
	if !strings.ContainsAny(v, " \t'\"") && !strings.HasSuffix(v, ",") {
		return v
	}
	if strings.Contains(v, `"`) {
		return "'" + v + "'"
	}
	return `"` + v + `"`
}

// tokenize splits a list of targets into targets and these into words. A comma separates targets, but inside a value
// only when a blank follows: -mattr=+neon,+fp16 is one word. Quotes may enclose values.
func tokenize(text string) ([][]string, error) {
	var targets [][]string
	var words []string
	var word strings.Builder
	inValue := false
	endWord := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
		inValue = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\'' || c == '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 {
				return nil, fmt.Errorf("a %c is not closed", c)
			}
			word.WriteString(text[i+1 : i+1+n])
			i += n + 1
		case c == ' ' || c == '\t' || c == '\n':
			endWord()
		case c == ',' && (!inValue || i+1 == len(text) || text[i+1] == ' '):
			endWord()
			if len(words) == 0 {
				return nil, fmt.Errorf("an empty target before a comma")
			}
			targets, words = append(targets, words), nil
		default:
			inValue = inValue || c == '='
			word.WriteByte(c)
		}
	}
	endWord()
	if len(words) == 0 {
		return nil, fmt.Errorf("ends with a comma or holds nothing")
	}
	return append(targets, words), nil
}
