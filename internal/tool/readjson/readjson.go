// Package readjson reads JSON that people write or damage: what is wrong with it is said with its line, in JSON's words.
package readjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Into reads data into what v points to. Numbers for which v has no type stay as they are written.
func Into(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(v)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			return fmt.Errorf("%s: more text follows the value", line(data, d.InputOffset()))
		}
		return nil
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: %w", line(data, e.Offset), Words(err))
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %w", line(data, e.Offset), Words(err))
	}
	return Words(err)
}

// Strict is Into for what people write: a key that an object has twice is an error, since only one of its values would count.
func Strict(data []byte, v any) error {
	if err := Into(data, v); err != nil {
		return err
	}
	type object struct {
		keys map[string]bool // nil in a list
		key  bool            // a key is next
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []object
	for {
		t, err := d.Token()
		if err != nil {
			return nil // the end: the text is valid
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1].keys != nil {
			o := &open[n-1]
			if name, ok := t.(string); ok && o.key {
				if o.keys[name] {
					return fmt.Errorf("%s: the object has %q twice", line(data, d.InputOffset()), name)
				}
				o.keys[name] = true
			}
			o.key = !o.key
		}
		switch t {
		case json.Delim('{'):
			open = append(open, object{map[string]bool{}, true})
		case json.Delim('['):
			open = append(open, object{})
		}
	}
}

// line tells where offset is.
func line(data []byte, offset int64) string {
	offset = min(max(offset, 0), int64(len(data)))
	return fmt.Sprintf("line %d", 1+bytes.Count(data[:offset], []byte("\n")))
}

// Words returns an error of package json without the names of Go's types.
func Words(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("there is no JSON")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the text ends before the value does")
	}
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	at := ""
	if e.Field != "" {
		at = e.Field + ": "
	}
	return fmt.Errorf("%s%s is wanted, there is %s", at, wanted(e.Type), found(e.Value))
}

// wanted is a type of Go as JSON calls it.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 {
		return fmt.Sprintf("a whole number of %d bits", t.Bits())
	}
	return "something else"
}

// found is what package json calls a value that does not fit: a kind, or "number" and its text.
func found(value string) string {
	kind, text, _ := strings.Cut(value, " ")
	switch {
	case text != "":
		return text
	case kind == "array":
		return "a list"
	case kind == "object":
		return "an object"
	case kind == "bool":
		return "true or false"
	}
	return "a " + kind
}
