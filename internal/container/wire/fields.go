package wire

// Fields say what a message is read into, by field number, as its schema does; fields that are not listed are stepped over.
type Fields map[int]Reader

// A Reader takes one occurrence of a field.
type Reader func(f Field) error

// Read reads a message and ends at the first error. A field that occurs several times counts by its last occurrence, unless it is repeated.
func Read(msg []byte, fields Fields) error {
	return Each(msg, func(f Field) error {
		if read := fields[f.Number]; read != nil {
			return read(f)
		}
		return nil
	})
}

// Text is a string.
func Text(to *string) Reader { return func(f Field) error { *to = f.Text(); return nil } }

// Texts are the strings of a repeated field.
func Texts(to *[]string) Reader {
	return func(f Field) error { *to = append(*to, f.Text()); return nil }
}

// Bytes are a view of the message.
func Bytes(to *[]byte) Reader { return func(f Field) error { *to = f.Data; return nil } }

// Int is a number, whose upper bits are dropped where the type has fewer.
func Int[T ~int | ~int32 | ~int64 | ~uint64](to *T) Reader {
	return func(f Field) error { *to = T(f.Bits); return nil }
}

// Bool is a truth value.
func Bool(to *bool) Reader { return func(f Field) error { *to = f.Bool(); return nil } }

// Ints are the numbers of a repeated field.
func Ints(to *[]int64) Reader {
	return func(f Field) error {
		list, err := f.Ints()
		*to = append(*to, list...)
		return err
	}
}

// Floats are the floats of 32 bits of a repeated field.
func Floats(to *[]float64) Reader {
	return func(f Field) error {
		list, err := f.Floats(4)
		*to = append(*to, list...)
		return err
	}
}

// Message is a message within the message.
func Message(fields Fields) Reader { return func(f Field) error { return Read(f.Data, fields) } }

// Messages are those of a repeated field, each as read makes of it; the list ends where that fails.
func Messages[T any](to *[]T, read func(msg []byte) (T, error)) Reader {
	return func(f Field) error {
		x, err := read(f.Data)
		if err == nil {
			*to = append(*to, x)
		}
		return err
	}
}

// With is a message that read takes.
func With(read func(msg []byte) error) Reader { return func(f Field) error { return read(f.Data) } }

// Pairs are the entries of a map of strings.
func Pairs(to map[string]string) Reader {
	return func(f Field) error {
		var key, value string
		err := Read(f.Data, Fields{1: Text(&key), 2: Text(&value)})
		to[key] = value
		return err
	}
}
