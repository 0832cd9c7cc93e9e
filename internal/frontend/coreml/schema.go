package coreml

import (
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// A schema says what the fields of a layer's message are. It is written as NAME:NUMBER for each, with what is behind the number: nothing for a
// number or a truth value, f for a float, s for a list of numbers, F for one of floats, w for weights, {...} for a message,
// and *{...} for several. Fields of messages become attributes MESSAGE.FIELD, of one of several MESSAGE.0.FIELD and so on.
type schema map[int]fieldOf

type fieldOf struct {
	name string
	kind byte // 0, f, s, F, w, {, or *
	sub  schema
}

// parseSchema panics where the text, which is part of the program, is none.
func parseSchema(text string) schema {
	rest := strings.TrimSpace(text)
	s := schemaIn(&rest)
	if rest != "" {
		panic("coreml: schema " + text)
	}
	return s
}

func schemaIn(rest *string) schema {
	s := schema{}
	for *rest = strings.TrimSpace(*rest); *rest != "" && (*rest)[0] != '}'; *rest = strings.TrimSpace(*rest) {
		name, after, ok := strings.Cut(*rest, ":")
		end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(after)
		}
		number, err := strconv.Atoi(after[:end])
		if !ok || err != nil {
			panic("coreml: schema " + *rest)
		}
		f := fieldOf{name: name}
		*rest = after[end:]
		if *rest != "" && strings.IndexByte("fsFw{*", (*rest)[0]) >= 0 {
			f.kind = (*rest)[0]
			*rest = strings.TrimPrefix(*rest, "*")
			if f.kind != '*' {
				*rest = (*rest)[1:]
			} else {
				*rest = strings.TrimPrefix(*rest, "{")
			}
		}
		if f.kind == '{' || f.kind == '*' {
			f.sub = schemaIn(rest)
			if !strings.HasPrefix(*rest, "}") {
				panic("coreml: schema without end")
			}
			*rest = (*rest)[1:]
		}
		s[number] = f
	}
	return s
}

// maxParts bounds the messages in a list of them.
const maxParts = 1 << 10

// decode reads a message into attributes, and hands on the weights in it.
func (s schema) decode(msg []byte, prefix string, to frontend.Values, weights func(name string, msg []byte) error) error {
	seen := map[string]int{}
	return wire.Each(msg, func(f wire.Field) error {
		known, ok := s[f.Number]
		name := prefix + known.name
		if !ok {
			to[fmt.Sprintf("%sfield %d", prefix, f.Number)] = true // which no converter asks for
			return nil
		}
		switch known.kind {
		case 0:
			to[name] = float64(f.Int())
		case 'f':
			to[name] = f.Float()
		case 's', 'F':
			list, _ := to[name].([]any)
			if known.kind == 's' {
				v, err := f.Ints()
				if err != nil {
					return err
				}
				for _, x := range v {
					list = append(list, float64(x))
				}
			} else {
				v, err := f.Floats(4)
				if err != nil {
					return err
				}
				for _, x := range v {
					list = append(list, x)
				}
			}
			to[name] = list
		case 'w':
			return weights(name, f.Data)
		case '{':
			to[name] = true
			return known.sub.decode(f.Data, name+".", to, weights)
		case '*':
			n := seen[name]
			if n >= maxParts {
				return fmt.Errorf("%s has more than %d parts", name, maxParts)
			}
			seen[name]++
			to[name] = float64(n + 1)
			return known.sub.decode(f.Data, fmt.Sprintf("%s.%d.", name, n), to, weights)
		}
		return nil
	})
}
