package types

import (
	"fmt"
	"strconv"
	"strings"
)

// A Layout is the physical order of a tensor's logical axes, outermost first. The empty Layout is plain row-major order.
//
// Its text names logical axis i by the letter 'A'+i, as oneDNN's format tags do. An upper-case letter is an axis, or its
// outer part when a block of it follows; a number and a lower-case letter is a block, the inner part. For a logical
// N,C,H,W tensor "ABCD16b" is NCHW16c, "ACDB" is NHWC; for O,I,H,W weights "ABCD16a" is OIHW16o.
// An axis has at most one block. Lanes beyond the logical extent hold zeros.
type Layout string

// A Part is one physical axis: the whole of a logical axis (Block 0), its outer part (Block b) or its inner part (Inner, Block b).
type Part struct {
	Axis  int
	Block int
	Inner bool
}

// Append adds the text of p to that of a layout.
func (p Part) Append(layout []byte) []byte {
	if p.Inner {
		return append(strconv.AppendInt(layout, int64(p.Block), 10), 'a'+byte(p.Axis))
	}
	return append(layout, 'A'+byte(p.Axis))
}

// Parts returns the physical axes of a tensor of the given logical rank.
func (l Layout) Parts(rank int) []Part {
	if l == "" {
		parts := make([]Part, rank)
		for i := range parts {
			parts[i].Axis = i
		}
		return parts
	}
	parts, err := l.parse(rank)
	if err != nil {
		panic(err)
	}
	return parts
}

// Check reports whether l is well formed for a tensor of the given rank.
func (l Layout) Check(rank int) error {
	if l == "" {
		return nil
	}
	_, err := l.parse(rank)
	return err
}

func (l Layout) parse(rank int) ([]Part, error) {
	var parts []Part
	outer, block := make([]int, rank), make([]int, rank)
	for i := 0; i < len(l); {
		n := i
		for n < len(l) && l[n] >= '0' && l[n] <= '9' {
			n++
		}
		if n == len(l) {
			return nil, fmt.Errorf("layout %q: number without an axis", string(l))
		}
		c := l[n]
		axis, size := int(c|0x20)-'a', 0
		if axis < 0 || axis >= rank {
			return nil, fmt.Errorf("layout %q: axis %q of a tensor of rank %d", string(l), c, rank)
		}
		if n > i {
			size, _ = strconv.Atoi(string(l[i:n]))
		}
		inner := c >= 'a'
		switch {
		case inner && (size < 2 || size > 1<<20 || block[axis] != 0):
			return nil, fmt.Errorf("layout %q: bad block of axis %q", string(l), c)
		case !inner && (size != 0 || outer[axis] != 0):
			return nil, fmt.Errorf("layout %q: axis %q twice", string(l), c)
		case inner:
			block[axis] = size
		default:
			outer[axis] = 1
		}
		parts = append(parts, Part{axis, size, inner})
		i = n + 1
	}
	for i := range parts {
		parts[i].Block = block[parts[i].Axis]
	}
	for a := range outer {
		if outer[a] == 0 {
			return nil, fmt.Errorf("layout %q: axis %c is missing", string(l), 'A'+rune(a))
		}
	}
	return parts, nil
}

// Dims is the physical shape of a tensor of the given logical shape; partial blocks are rounded up.
func (l Layout) Dims(shape []int) []int {
	parts := l.Parts(len(shape))
	dims := make([]int, len(parts))
	for i, p := range parts {
		switch {
		case p.Inner:
			dims[i] = p.Block
		case p.Block > 0:
			dims[i] = (shape[p.Axis] + p.Block - 1) / p.Block
		default:
			dims[i] = shape[p.Axis]
		}
	}
	return dims
}

// Padded reports whether a tensor of the given shape has lanes beyond its logical extent.
func (l Layout) Padded(shape []int) bool {
	for _, p := range l.Parts(len(shape)) {
		if p.Inner && shape[p.Axis]%p.Block != 0 {
			return true
		}
	}
	return false
}

// BlockOf returns the block size of a logical axis, or 0.
func (l Layout) BlockOf(axis, rank int) int {
	for _, p := range l.Parts(rank) {
		if p.Axis == axis {
			return p.Block
		}
	}
	return 0
}

// ParseLayout reads a layout in TVM's letters, such as "NCHW16c" or "NHWC", where logical names the axes in logical
// order, such as "NCHW" or "OIHW".
func ParseLayout(s, logical string) (Layout, error) {
	if s == logical {
		return "", nil
	}
	var b strings.Builder
	for _, c := range s {
		i := strings.IndexRune(logical, c&^0x20)
		switch {
		case c >= '0' && c <= '9':
			b.WriteRune(c)
		case i < 0:
			return "", fmt.Errorf("layout %q: unknown axis %q (the axes are %s)", s, c, logical)
		case c >= 'a':
			b.WriteByte('a' + byte(i))
		default:
			b.WriteByte('A' + byte(i))
		}
	}
	l := Layout(b.String())
	return l, l.Check(len(logical))
}

// Named prints l with the given axis letters: Layout("ABCD16b").Named("NCHW") is "NCHW16c".
func (l Layout) Named(logical string) string {
	if l == "" {
		return logical
	}
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z':
			return rune(logical[c-'a']) | 0x20
		case c >= 'A' && c <= 'Z':
			return rune(logical[c-'A'])
		}
		return c
	}, string(l))
}

// ChannelBlocks is the layout with axis 1 in blocks: NCHW8c for rank 4.
func ChannelBlocks(rank, block int) Layout { return AxisBlocks(rank, 1, block) }

// AxisBlocks is the layout with one axis in blocks, which are the innermost part.
func AxisBlocks(rank, axis, block int) Layout {
	s := ""
	for i := range rank {
		s += string(rune('A' + i))
	}
	return Layout(fmt.Sprintf("%s%d%c", s, block, 'a'+axis))
}
