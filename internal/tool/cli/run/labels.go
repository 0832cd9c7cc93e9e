package run

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/readjson"
	"lathe/internal/tool/spelling"
	"lathe/runtime"
)

// maxLabels bounds the ids a file of names may use.
const maxLabels = 1 << 20

var (
	synset      = regexp.MustCompile(`^n[0-9]{8}\s+`)
	pythonEntry = regexp.MustCompile(`^\s*\{?\s*(\d+)\s*:\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\s*[,}]*\s*$`)
	escaped     = regexp.MustCompile(`\\(.)`)
)

// ReadLabels reads the names of classes; the id of a name is its line, or the key in a dictionary. Identifiers of
// WordNet in front of names are left out. Without a path there are none.
func ReadLabels(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	labels, err := parseLabels(string(b))
	if err != nil {
		return nil, fmt.Errorf("labels %s: %w", path, err)
	}
	return labels, nil
}

// fit refuses labels that are not of this network, before it runs.
func (c *command) fit(labels []string, m *runtime.Module) error {
	outputs := m.Outputs()
	if len(outputs) == 0 || slices.ContainsFunc(outputs[0].Symbols, func(s int) bool { return s >= 0 }) {
		return nil // the run tells
	}
	return fitLabels(c.labels, labels, classes(outputs[0].Shape))
}

// fitLabels refuses a list of names that is longer or shorter than the list of classes: it is another network's.
func fitLabels(path string, labels []string, classes int) error {
	if labels == nil || len(labels) == classes {
		return nil
	}
	return fmt.Errorf("labels: %s has %s, the output has %s (name the list of this network)", path, spelling.Count(len(labels), "name"), spelling.Count(classes, "class"))
}

func parseLabels(text string) ([]string, error) {
	if strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("is not a text file in UTF-8")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil, fmt.Errorf("is empty")
	}
	if strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, `{"`) {
		return jsonLabels([]byte(trimmed))
	}
	if strings.HasPrefix(trimmed, "{") {
		return pythonLabels(trimmed)
	}
	var labels []string
	for line := range strings.Lines(strings.TrimRight(text, "\r\n \t")) {
		labels = append(labels, synset.ReplaceAllString(strings.TrimSpace(line), ""))
	}
	return labels, nil
}

func jsonLabels(b []byte) ([]string, error) {
	var list []string
	if err := json.Unmarshal(b, &list); err == nil {
		return list, nil
	}
	var byID map[string]json.RawMessage
	if err := json.Unmarshal(b, &byID); err != nil {
		return nil, fmt.Errorf("JSON is neither a list of names nor a dictionary from ids to names: %w", readjson.Words(err))
	}
	entries := make(map[int]string)
	for key, raw := range byID {
		id, err := strconv.Atoi(key)
		if err != nil {
			return nil, fmt.Errorf("JSON: %q is not an id", key)
		}
		var name string
		var pair []string
		switch {
		case json.Unmarshal(raw, &name) == nil:
		case json.Unmarshal(raw, &pair) == nil && len(pair) > 0:
			name = pair[len(pair)-1] // ["n02123045", "tabby"]
		default:
			return nil, fmt.Errorf("JSON: the name of %s is not a string", key)
		}
		entries[id] = name
	}
	return fromEntries(entries)
}

func pythonLabels(text string) ([]string, error) {
	entries := make(map[int]string)
	number := 0
	for line := range strings.Lines(text) {
		number++
		if strings.Trim(line, " \t\r\n{}") == "" {
			continue
		}
		m := pythonEntry.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return nil, fmt.Errorf("line %d is not of the form 7: 'name',", number)
		}
		id, err := strconv.Atoi(m[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		entries[id] = escaped.ReplaceAllString(m[2]+m[3], "$1")
	}
	return fromEntries(entries)
}

func fromEntries(entries map[int]string) ([]string, error) {
	n := 0
	for id := range entries {
		if id < 0 || id >= maxLabels {
			return nil, fmt.Errorf("id %d is outside 0..%d", id, maxLabels-1)
		}
		n = max(n, id+1)
	}
	labels := make([]string, n)
	for i := range labels {
		name, ok := entries[i]
		if !ok {
			name = fmt.Sprintf("class %d", i)
		}
		labels[i] = name
	}
	return labels, nil
}
