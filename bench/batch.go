package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of ONNX's messages that withBatch looks at.
const (
	modelGraph       = 7
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	graphValueInfo   = 13
	tensorName       = 8
	tensorExternal   = 13
	entryKey         = 1
	entryValue       = 2
	valueName        = 1
	valueType        = 2
	typeTensor       = 1
	tensorTypeShape  = 2
	shapeDim         = 1
	dimValue         = 1
	dimParam         = 2
)

// withBatch writes a copy of a model to dir whose inputs and outputs have another first extent where it was 1 or open,
// for all sides alike. Constant shapes of Reshape nodes that start with 1 take that extent from what is reshaped. Files with
// weights get a second name beside the copy. Whether the graph means the same with that batch is not known here: other
// constants may depend on it.
func withBatch(model string, batch int, dir string) (string, error) {
	b, err := os.ReadFile(model)
	if err != nil {
		return "", err
	}
	weights := map[string]bool{}
	out, err := rewrite(b, func(field protowire.Number, graph []byte) ([]byte, bool, error) {
		if field != modelGraph {
			return graph, true, nil
		}
		fixed, err := initializers(graph, weights)
		if err != nil {
			return nil, false, err
		}
		shapes, err := reshapeShapes(graph)
		if err != nil {
			return nil, false, err
		}
		graph, err = rewrite(graph, func(field protowire.Number, v []byte) ([]byte, bool, error) {
			switch field {
			case graphNode:
				v, err := openShape(v, shapes)
				return v, true, err
			case graphInitializer:
				name, err := stringField(v, tensorName)
				if err != nil || !shapes[name] {
					return v, true, err
				}
				v, err = openFirst(v)
				return v, true, err
			case graphValueInfo:
				return nil, false, nil // inferred again
			case graphInput, graphOutput:
				name, err := stringField(v, valueName)
				if err != nil || fixed[name] {
					return v, true, err
				}
				v, err = firstExtent(v, batch)
				return v, true, err
			}
			return v, true, nil
		})
		return graph, true, err
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", model, err)
	}
	for w := range weights {
		if err := linkOrCopy(filepath.Join(filepath.Dir(model), w), filepath.Join(dir, w)); err != nil {
			return "", err
		}
	}
	file := filepath.Join(dir, filepath.Base(model))
	for _, npy := range globInputs(model) {
		if err := linkOrCopy(npy, filepath.Join(dir, filepath.Base(npy))); err != nil {
			return "", err
		}
	}
	return file, os.WriteFile(file, out, 0o644)
}

// rewrite copies a message; edit changes fields of bytes, or leaves them out when it returns false.
func rewrite(b []byte, edit func(protowire.Number, []byte) ([]byte, bool, error)) ([]byte, error) {
	var out []byte
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		m := protowire.ConsumeFieldValue(field, kind, b[n:])
		if m < 0 {
			return nil, protowire.ParseError(m)
		}
		if kind != protowire.BytesType {
			out = append(out, b[:n+m]...)
			b = b[n+m:]
			continue
		}
		v, _ := protowire.ConsumeBytes(b[n:])
		v, keep, err := edit(field, v)
		if err != nil {
			return nil, err
		}
		if keep {
			out = protowire.AppendBytes(protowire.AppendTag(out, field, kind), v)
		}
		b = b[n+m:]
	}
	return out, nil
}

// each calls f for the fields of bytes.
func each(b []byte, f func(protowire.Number, []byte) error) error {
	_, err := rewrite(b, func(field protowire.Number, v []byte) ([]byte, bool, error) { return nil, false, f(field, v) })
	return err
}

func stringField(b []byte, want protowire.Number) (s string, err error) {
	err = each(b, func(field protowire.Number, v []byte) error {
		if field == want {
			s = string(v)
		}
		return nil
	})
	return s, err
}

// initializers returns the names of a graph's constants, and adds the files that hold them to files.
func initializers(graph []byte, files map[string]bool) (map[string]bool, error) {
	names := map[string]bool{}
	err := each(graph, func(field protowire.Number, tensor []byte) error {
		if field != graphInitializer {
			return nil
		}
		name, err := stringField(tensor, tensorName)
		names[name] = true
		return errors.Join(err, each(tensor, func(field protowire.Number, entry []byte) error {
			if field != tensorExternal {
				return nil
			}
			key, err1 := stringField(entry, entryKey)
			value, err2 := stringField(entry, entryValue)
			if key == "location" && filepath.IsLocal(value) {
				files[value] = true
			}
			return errors.Join(err1, err2)
		}))
	})
	return names, err
}

// firstExtent sets the first extent of a value's shape if it is 1 or has a name.
func firstExtent(value []byte, batch int) ([]byte, error) {
	inside := func(field protowire.Number, f func([]byte) ([]byte, error)) func([]byte) ([]byte, error) {
		return func(b []byte) ([]byte, error) {
			return rewrite(b, func(n protowire.Number, v []byte) (_ []byte, _ bool, err error) {
				if n == field {
					v, err = f(v)
				}
				return v, true, err
			})
		}
	}
	first := true
	extent := func(dim []byte) ([]byte, error) {
		if !first {
			return dim, nil
		}
		first = false
		field, kind, n := protowire.ConsumeTag(dim)
		if n > 0 && field == dimValue && kind == protowire.VarintType {
			if v, _ := protowire.ConsumeVarint(dim[n:]); v != 1 {
				return dim, nil
			}
		} else if n > 0 && field != dimParam {
			return dim, nil
		}
		return protowire.AppendVarint(protowire.AppendTag(nil, dimValue, protowire.VarintType), uint64(batch)), nil
	}
	return inside(valueType, inside(typeTensor, inside(tensorTypeShape, inside(shapeDim, extent))))(value)
}

// linkOrCopy gives a file a second name, or copies it to another file system.
func linkOrCopy(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if os.Link(from, to) == nil {
		return nil
	}
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
