package paddle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"lathe/internal/frontend"
)

func pirAttributes(text json.RawMessage) (frontend.Values, error) {
	values := frontend.Values{}
	if len(text) == 0 {
		return values, nil
	}
	var list []pirAttr
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	for _, a := range list {
		v, err := a.Type.value()
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		values[a.Name] = v
	}
	return values, nil
}

// value is a number, a truth value, text, or a list of these.
func (a pirAny) value() (any, error) {
	_, kind, _ := strings.Cut(a.ID, ".")
	if a.Void != "" {
		return infinite(a.Void)
	}
	if len(a.Data) == 0 {
		return nil, nil
	}
	switch kind {
	case "a_array":
		var items []pirAny
		if err := json.Unmarshal(a.Data, &items); err != nil {
			return nil, err
		}
		list := []any{}
		for _, item := range items {
			if strings.HasSuffix(item.ID, "a_array") {
				return nil, errors.New("lists of lists are not supported")
			}
			v, err := item.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case "a_scalar": // element type and number
		var items []any
		if err := json.Unmarshal(a.Data, &items); err != nil || len(items) < 2 {
			return nil, errors.Join(errors.New("a scalar without a value"), err)
		}
		return plain(items[1]), nil
	case "a_place", "a_layout":
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(a.Data, &v); err != nil {
		return nil, err
	}
	if kind == "a_f32" || kind == "a_f64" {
		return v, nil
	}
	return plain(v), nil
}

// plain limits whole numbers as those of the other form are.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if v > 1<<53 && v <= 1<<63 {
			return float64(1 << 53)
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func infinite(word string) (any, error) {
	switch word {
	case "NAN":
		return math.NaN(), nil
	case "INF":
		return math.Inf(1), nil
	case "-INF":
		return math.Inf(-1), nil
	}
	return nil, fmt.Errorf("%.20q is no number", word)
}
