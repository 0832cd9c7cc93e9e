package bundle

import (
	"encoding/binary"
	"errors"
	"fmt"

	"lathe/internal/tool/spelling"
)

// ParseParams reads TVM's parameter blob without copying data: each Param's Data is a part of b. Padding tensors are left
// out. Blobs that TVM wrote are read too; their data need not be aligned.
func ParseParams(b []byte) ([]Param, error) {
	params, err := parseParams(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ParamsName, err)
	}
	return params, nil
}

func parseParams(b []byte) ([]Param, error) {
	r := paramsReader{b: b}
	if r.u64() != paramsMagic {
		if what := identify(b); what != "" {
			return nil, errors.New(what)
		}
		return nil, errors.New("not a TVM parameter blob (wrong magic number)")
	}
	r.u64() // reserved
	names, err := r.names()
	if err != nil {
		return nil, err
	}
	count := r.u64()
	if r.short {
		return nil, r.truncated("the number of tensors")
	}
	if count != uint64(len(names)) {
		return nil, fmt.Errorf("%s for %s", spelling.Count(count, "tensor"), spelling.Count(len(names), "name"))
	}
	params := make([]Param, 0, len(names))
	for _, name := range names {
		p, err := r.tensor()
		if err != nil {
			return nil, fmt.Errorf("parameter %q: %w", name, err)
		}
		if p.Name = name; !isPad(name) {
			params = append(params, p)
		}
	}
	if rest := len(r.b) - r.off; rest != 0 {
		return nil, fmt.Errorf("%s after the last parameter", spelling.Count(rest, "byte"))
	}
	return params, distinct("parameter", names)
}

// paramsReader walks over b. After a read beyond the end, short is set and every later read gives zero.
type paramsReader struct {
	b     []byte
	off   int
	short bool
}

func (r *paramsReader) take(n uint64) []byte {
	if r.short || n > uint64(len(r.b)-r.off) {
		r.short = true
		return nil
	}
	s := r.b[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return s
}

func (r *paramsReader) u64() uint64 {
	if s := r.take(8); s != nil {
		return binary.LittleEndian.Uint64(s)
	}
	return 0
}

func (r *paramsReader) truncated(what string) error {
	return fmt.Errorf("truncated: the file's %s end inside %s", spelling.Count(len(r.b), "byte"), what)
}

// names reads the list of names. Each takes at least its length word, which bounds the count by the size of the file.
func (r *paramsReader) names() ([]string, error) {
	n := r.u64()
	if r.short {
		return nil, r.truncated("the header")
	}
	if n > uint64(len(r.b)-r.off)/8 {
		return nil, fmt.Errorf("%s cannot fit in %s", spelling.Count(n, "name"), spelling.Count(len(r.b), "byte"))
	}
	names := make([]string, n)
	for i := range names {
		names[i] = string(r.take(r.u64()))
		if r.short {
			return nil, r.truncated(fmt.Sprintf("name %d of %d", i+1, n))
		}
	}
	return names, nil
}

func (r *paramsReader) tensor() (Param, error) {
	head := r.take(uint64(tensorHeader(0) - 8))
	if r.short {
		return Param{}, r.truncated("its header")
	}
	le := binary.LittleEndian
	if le.Uint64(head) != tensorMagic {
		return Param{}, errors.New("wrong magic number")
	}
	rank := le.Uint32(head[24:])
	if rank > maxRank {
		return Param{}, fmt.Errorf("%s", spelling.Count(rank, "dimension"))
	}
	d, err := dtypeByCode(head[28], head[29], le.Uint16(head[30:]))
	if err != nil {
		return Param{}, err
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = int(r.u64())
	}
	size := r.u64()
	if r.short {
		return Param{}, r.truncated("its shape")
	}
	want, err := ByteSize(d.name, shape)
	if err != nil {
		return Param{}, err
	}
	if size != uint64(want) {
		return Param{}, fmt.Errorf("%s%v takes %s, not %d", d.name, shape, spelling.Count(want, "byte"), size)
	}
	data := r.take(size)
	if r.short {
		return Param{}, r.truncated("its data")
	}
	return Param{DType: d.name, Shape: shape, Data: data}, nil
}
