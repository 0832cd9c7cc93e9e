package graph

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Consts holds the constants that graphs in text name by content hash. One Consts serves all dumps of a run: it hashes a
// tensor once, and its side file holds the bytes of each once.
type Consts struct {
	keys  map[*tensor.Tensor]string // tensors do not change
	byKey map[string]*tensor.Tensor
}

// NewConsts returns an empty set.
func NewConsts() *Consts {
	return &Consts{map[*tensor.Tensor]string{}, map[string]*tensor.Tensor{}}
}

// Add puts t into the set and returns its hash.
func (c *Consts) Add(t *tensor.Tensor) string {
	k, ok := c.keys[t]
	if !ok {
		k = contentHash(t)
		c.keys[t] = k
		if c.byKey[k] == nil {
			c.byKey[k] = t
		}
	}
	return k
}

// Lookup returns the tensor with the given hash, or nil.
func (c *Consts) Lookup(hash string) *tensor.Tensor { return c.byKey[hash] }

// contentHash covers type and elements. Of SHA-256 it keeps 64 bits: 32 would make one accident in ten thousand graphs
// of a thousand constants.
func contentHash(t *tensor.Tensor) string {
	h := sha256.New()
	io.WriteString(h, t.Type().String())
	h.Write([]byte{0})
	h.Write(t.Bytes())
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// The side file is constsMagic, a line "HASH TYPE" for each constant in the order of the hashes, an empty line, and the
// elements of each in that order, each at the next multiple of constsAlign, so that they are used where they lie.
const (
	constsMagic = "lathe constants 1\n"
	constsAlign = 64
)

// Write writes the side file. Its bytes depend only on what the set holds.
func (c *Consts) Write(w io.Writer) error {
	out := bufio.NewWriter(w)
	keys := slices.Sorted(maps.Keys(c.byKey))
	off, _ := out.WriteString(constsMagic)
	for _, k := range keys {
		n, _ := fmt.Fprintf(out, "%s %s\n", k, c.byKey[k].Type())
		off += n
	}
	out.WriteByte('\n')
	off++
	var zeros [constsAlign]byte
	for _, k := range keys {
		pad, _ := out.Write(zeros[:-off&(constsAlign-1)])
		n, _ := out.Write(c.byKey[k].Bytes())
		off += pad + n
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("constants: %w", err)
	}
	return nil
}

// ReadConsts reads a side file from memory. The tensors' elements are parts of b, which must stay as it is.
func ReadConsts(b []byte) (*Consts, error) {
	c, err := readConsts(b)
	if err != nil {
		return nil, fmt.Errorf("constants: %w", err)
	}
	return c, nil
}

func readConsts(b []byte) (*Consts, error) {
	if !bytes.HasPrefix(b, []byte(constsMagic)) {
		return nil, fmt.Errorf("not a file of constants: it does not start with %q", strings.TrimSpace(constsMagic))
	}
	end := bytes.Index(b, []byte("\n\n"))
	if end < 0 {
		return nil, fmt.Errorf("the list of constants does not end; the file is truncated")
	}
	c := NewConsts()
	off := end + 2
	lines := strings.Split(string(b[:end]), "\n")[1:]
	for _, line := range lines {
		k, typ, _ := strings.Cut(line, " ")
		t, err := types.ParseTensor(typ)
		if err != nil {
			return nil, fmt.Errorf("constant %q: %w", k, err)
		}
		if t.Layout != "" {
			return nil, fmt.Errorf("constant %q: %s is not in plain layout", k, t)
		}
		off += -off & (constsAlign - 1)
		size := t.Bytes()
		if size > len(b)-off {
			return nil, fmt.Errorf("constant %q: %s takes %s where %d are left; the file is truncated", k, t, spelling.Count(size, "byte"), max(0, len(b)-off))
		}
		v := tensor.Over(t.DType, t.Shape, b[off:off+size:off+size])
		if c.Lookup(k) != nil {
			return nil, fmt.Errorf("constant %q is listed twice", k)
		}
		if c.Add(v) != k {
			return nil, fmt.Errorf("constant %q is damaged: its type and elements have another hash", k)
		}
		off += size
	}
	if off < len(b) {
		return nil, fmt.Errorf("%s after the last constant", spelling.Count(len(b)-off, "byte"))
	}
	return c, nil
}

// WriteFile writes the side file of a dump, which is named NAME.consts.
func (c *Consts) WriteFile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("constants: %w", err)
	}
	err = c.Write(f)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("constants: %w", closed)
	}
	return err
}

// ReadConstsFile reads the side file of a dump.
func ReadConstsFile(path string) (*Consts, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("constants: %w", err)
	}
	c, err := ReadConsts(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// inlineLimit is the greatest number of elements that print in the text itself.
const inlineLimit = 8

// literal prints t's elements, in row-major order, when they are few and the text gives the same bits back: a NaN with a
// payload does not.
func literal(t *tensor.Tensor) (string, bool) {
	n := t.Type().Elements()
	if n > inlineLimit || t.Size() != t.Type().Bytes() {
		return "", false
	}
	words := make([]string, n)
	for i := range words {
		words[i] = element(t, i)
	}
	back, err := ofLiteral(t.Type(), words)
	if err != nil || !bytes.Equal(back.Bytes(), t.Bytes()) {
		return "", false
	}
	return "{" + strings.Join(words, ", ") + "}", true
}

func element(t *tensor.Tensor, i int) string {
	switch d := t.DType; {
	case d == types.Bool:
		return strconv.FormatBool(t.Int(i) != 0)
	case d == types.F64:
		return formatFloat(t.Float(i), 64)
	case d.IsFloat():
		return formatFloat(t.Float(i), 32)
	case d == types.U64:
		return strconv.FormatUint(uint64(t.Int(i)), 10)
	}
	return strconv.FormatInt(t.Int(i), 10)
}

// ofLiteral makes the tensor of plain type typ from the text of its elements. Their number is checked before anything is
// allocated for the type.
func ofLiteral(typ types.Tensor, words []string) (*tensor.Tensor, error) {
	if n := typ.Elements(); n != len(words) {
		return nil, fmt.Errorf("%s for %s", spelling.Count(len(words), "element"), typ)
	}
	t := tensor.NewOf(typ)
	for i, w := range words {
		if err := setElement(t, i, w); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func setElement(t *tensor.Tensor, i int, word string) error {
	switch d := t.DType; {
	case d == types.Bool:
		if word != "true" && word != "false" {
			return fmt.Errorf("%q is neither true nor false", word)
		}
		if word == "true" {
			t.SetInt(i, 1)
		}
	case d.IsFloat():
		bits := 32
		if d == types.F64 {
			bits = 64
		}
		v, err := strconv.ParseFloat(word, bits)
		if err != nil {
			return err
		}
		t.SetFloat(i, v)
	case d.IsUnsigned():
		v, err := strconv.ParseUint(word, 10, d.Bits())
		if err != nil {
			return err
		}
		t.SetInt(i, int64(v))
	default:
		v, err := strconv.ParseInt(word, 10, d.Bits())
		if err != nil {
			return err
		}
		t.SetInt(i, v)
	}
	return nil
}
