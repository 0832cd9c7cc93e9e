package target

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/tool/readjson"
)

// parseJSON reads a target as TVM exports it: an object with "kind" (or "tag", a preset) and options, a string with a
// plain target, or a list of either.
func parseJSON(text []byte) (*Spec, error) {
	var v any
	if err := readjson.Strict(text, &v); err != nil {
		return nil, fmt.Errorf("JSON: %w", err)
	}
	switch v := v.(type) {
	case string:
		return parsePlain(v)
	case map[string]any:
		s, err := fromObject(v)
		if err != nil {
			return nil, err
		}
		return single([]*Spec{s})
	case []any:
		return fromList(v)
	}
	return nil, fmt.Errorf("JSON: want an object with \"kind\"")
}

// parsePlain keeps a JSON string from holding JSON again.
func parsePlain(text string) (*Spec, error) {
	if strings.ContainsAny(text, "{[\"") {
		return nil, fmt.Errorf("JSON: the string %q is not a plain target", text)
	}
	return parse(strings.TrimSpace(text))
}

func fromList(list []any) (*Spec, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("JSON: an empty list")
	}
	var specs []*Spec
	for _, e := range list {
		var s *Spec
		var err error
		switch e := e.(type) {
		case string:
			s, err = parsePlain(e)
		case map[string]any:
			s, err = fromObject(e)
		default:
			err = fmt.Errorf("JSON: want objects or strings in the list")
		}
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return single(specs)
}

// fromObject ignores what is null or empty, as in exported targets.
func fromObject(m map[string]any) (*Spec, error) {
	s := &Spec{}
	if tag, _ := m["tag"].(string); tag != "" {
		p, ok := preset(tag)
		if !ok {
			return nil, unknownPreset(tag)
		}
		var err error
		if s, err = parse(p); err != nil {
			return nil, err
		}
	}
	kind, _ := m["kind"].(string)
	switch {
	case kind != "" && s.Kind != "" && kind != s.Kind:
		return nil, fmt.Errorf("JSON: kind %q, and the tag is of kind %q", kind, s.Kind)
	case kind != "":
		s.Kind = kind
	case s.Kind == "":
		return nil, fmt.Errorf("JSON: no \"kind\" (such as \"llvm\")")
	}
	if slices.Contains(deviceKinds, s.Kind) {
		return s, nil
	}
	for _, key := range sortedKeys(m) {
		if key == "kind" || key == "tag" {
			continue
		}
		value, err := optionText(key, m[key])
		if err != nil {
			return nil, err
		}
		if value == "" {
			continue
		}
		if err := s.Set(key, value); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// optionText is a JSON value in the form of a plain target.
func optionText(key string, v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case []any:
		var parts []string
		for _, e := range v {
			t, ok := e.(string)
			if !ok {
				return "", fmt.Errorf("JSON: %q holds something else than strings", key)
			}
			parts = append(parts, t)
		}
		return strings.Join(parts, ","), nil
	}
	if key == "host" {
		return "", fmt.Errorf("JSON: a \"host\" beside the target is not supported: the target is its own host")
	}
	return "", fmt.Errorf("JSON: %q is not a string, number, list or switch", key)
}
