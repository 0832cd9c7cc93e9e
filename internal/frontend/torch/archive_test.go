package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph/grapheval"
	hosttensor "lathe/internal/tensor"
)

// A pickler writes the pickles of archives: only what PyTorch's own writes of modules and tensors.
type pickler struct {
	bytes.Buffer
	storages [][]byte
}

func (p *pickler) text(s string) {
	p.WriteByte('X')
	binary.Write(p, binary.LittleEndian, uint32(len(s)))
	p.WriteString(s)
}

func (p *pickler) value(v any) {
	switch x := v.(type) {
	case nil:
		p.WriteByte('N')
	case bool:
		p.WriteByte(map[bool]byte{true: 0x88, false: 0x89}[x])
	case int:
		p.WriteByte('J')
		binary.Write(p, binary.LittleEndian, int32(x))
	case float64:
		p.WriteByte('G')
		binary.Write(p, binary.BigEndian, math.Float64bits(x))
	case string:
		p.text(x)
	case []any:
		p.WriteByte('(')
		for _, y := range x {
			p.value(y)
		}
		p.WriteByte('t')
	case map[string]any:
		p.WriteString("}(")
		for _, k := range sortedKeys(x) {
			p.text(k)
			p.value(x[k])
		}
		p.WriteByte('u')
	case *hosttensor.Tensor:
		p.tensor(x, nil)
	case weightOf:
		p.tensor(x.t, &x)
	case objectOf:
		p.WriteString("c" + x.class[:strings.LastIndexByte(x.class, '.')] + "\n" + x.class[strings.LastIndexByte(x.class, '.')+1:] + "\n)\x81")
		p.value(x.state)
		p.WriteByte('b')
	}
}

// An objectOf is an instance of a class, a weightOf a tensor that is quantised.
type objectOf struct {
	class string
	state any
}
type weightOf struct {
	t     *hosttensor.Tensor
	scale float64
	zero  int
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p *pickler) tensor(t *hosttensor.Tensor, q *weightOf) {
	kind := map[string]string{"float32": "FloatStorage", "int64": "LongStorage", "int8": "CharStorage", "bool": "BoolStorage"}[t.DType.String()]
	function := "_rebuild_tensor_v2"
	if q != nil {
		kind, function = "QInt8Storage", "_rebuild_qtensor"
	}
	p.WriteString("ctorch._utils\n" + function + "\n((")
	p.text("storage")
	p.WriteString("ctorch\n" + kind + "\n")
	p.text(strconv.Itoa(len(p.storages)))
	p.text("cpu")
	p.value(t.Len())
	p.WriteString("tQ")
	p.storages = append(p.storages, t.Bytes())
	p.value(0)
	strides, next := make([]any, len(t.Shape)), 1
	shape := make([]any, len(t.Shape))
	for k := len(t.Shape) - 1; k >= 0; k-- {
		strides[k], shape[k] = next, t.Shape[k]
		next *= t.Shape[k]
	}
	p.value(shape)
	p.value(strides)
	if q != nil {
		p.WriteString("(ctorch\nper_tensor_affine\n")
		p.value(q.scale)
		p.value(q.zero)
		p.WriteByte('t')
	}
	p.WriteString("\x89NtR")
}

// pickled is a pickle of v with the storages of its tensors.
func pickled(v any) ([]byte, [][]byte) {
	p := &pickler{}
	p.WriteString("\x80\x02")
	p.value(v)
	p.WriteByte('.')
	return p.Bytes(), p.storages
}

// zipped is an archive of members.
func zipped(t testing.TB, members map[string][]byte, method uint16) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(members[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// members are those of an archive of TorchScript whose model is of class __torch__.M.
func scriptMembers(code string, attrs map[string]any, constants ...any) map[string][]byte {
	data, storages := pickled(objectOf{"__torch__.M", attrs})
	members := map[string][]byte{"net/code/__torch__.py": []byte(code), "net/data.pkl": data, "net/version": []byte("10\n")}
	for i, s := range storages {
		members["net/data/"+strconv.Itoa(i)] = s
	}
	data, storages = pickled(append([]any{}, constants...))
	members["net/constants.pkl"] = data
	for i, s := range storages {
		members["net/constants/"+strconv.Itoa(i)] = s
	}
	return members
}

// module is the code of a class M whose forward has a body.
func module(body, args, gives string) string {
	var b strings.Builder
	b.WriteString("class M(Module):\n  __parameters__ = []\n  training : bool\n  def forward(self: __torch__.M,\n    " + args + ") -> " + gives + ":\n")
	for line := range strings.Lines(strings.Trim(body, "\n")) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

func floats(v []float32, shape ...int) *hosttensor.Tensor { return hosttensor.Of(shape, v) }

// imported imports an archive and evaluates it.
func imported(data []byte, o frontend.Options, in ...*hosttensor.Tensor) ([]*hosttensor.Tensor, error) {
	m, err := Read(data)
	if err != nil {
		return nil, err
	}
	if o.Shapes == nil && len(in) > 0 {
		o.Shapes = map[string][]int{}
		for i, x := range m.Graph.Inputs {
			if i < len(in) {
				o.Shapes[x.Name] = in[i].Shape
			}
		}
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		return nil, err
	}
	return grapheval.Eval(g, in)
}
