package llvm

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/target"
)

// Descriptor writes the constant lathe_<module>_library as LLVM IR: the lathe_library of include/lathe.h, which says in C
// what the manifest says in JSON. It needs the module's run function, and with embedded the weights as well: the hidden
// constant lathe_<module>_weights, which is mod.params. With shared it has the second name lathe_library, by
// which a program finds it in a library whose module it does not know, and the digest of the manifest stands beside it.
func Descriptor(c *bundle.Contents, t *target.Target, embedded, shared bool) (string, error) {
	m, params := c.Manifest, c.Params
	d := &descriptor{size: fmt.Sprintf("i%d", t.PointerBits()), offsets: map[string]int{}}
	fmt.Fprintf(&d.text, "%%tensor = type { ptr, ptr, ptr, %[1]s, i32, i32 }\n%%param = type { i32, %[1]s, %[1]s }\n%%step = type { i32, i32 }\n"+
		"%%library = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i32, i32, i32, i32, i32, i32, %[1]s, %[1]s, ptr, %[1]s, ptr, i32, i32, ptr, i32, i32 }\n", d.size)
	inputs, err := d.tensors("inputs", m.Inputs)
	if err != nil {
		return "", err
	}
	outputs, err := d.tensors("outputs", m.Outputs)
	if err != nil {
		return "", err
	}
	offsets, weights := bundle.ParamOffsets(params), 0
	if len(params) > 0 {
		weights = bundle.ParamsSize(params)
	}
	var rows []string
	for i, p := range params {
		rows = append(rows, fmt.Sprintf("%%param { i32 %[1]d, %[2]s %[3]d, %[2]s %[4]d }", d.offset(p.Name), d.size, p.Size(), offsets[i]))
	}
	paramTable := d.array("params", "%param", rows)
	rows = nil
	for _, s := range m.Steps {
		rows = append(rows, fmt.Sprintf("%%step { i32 %d, i32 %d }", d.offset(s.Name), d.offset(strings.Join(s.Nodes, "\n"))))
	}
	stepTable := d.array("steps", "%step", rows)
	regions, err := d.regions(c)
	if err != nil {
		return "", err
	}
	image := "null"
	if embedded {
		image = "@" + m.WeightsSymbol()
		fmt.Fprintf(&d.text, "%s = external hidden constant [0 x i8]\n", image)
	}
	name := m.LibrarySymbol()
	fmt.Fprintf(&d.text, "declare i32 @%s(ptr, i32, i32, i32, i32)\n", m.RunSymbol())
	fmt.Fprintf(&d.text, "@%s = constant %%library { i32 %d, i32 %d, ptr %s, ptr %s, ptr %s, ptr %s, ptr %s", name, m.ABI,
		bundle.DescriptorSize(t.PointerBits()/8), d.string(m.Module), d.string("lathe "+m.Lathe), d.string(m.Source.File),
		d.string(m.Target.String), d.string(strings.Join(m.Target.Features, " ")))
	fmt.Fprintf(&d.text, ", ptr %s, ptr %s, ptr %s, ptr %s, ptr %s", inputs, outputs, paramTable, stepTable, stringTable)
	fmt.Fprintf(&d.text, ", i32 %d, i32 %d, i32 %d, i32 %d, i32 %d, i32 %d", len(m.Inputs), len(m.Outputs), len(params), len(m.Steps), m.Symbols, m.MaxWorkers)
	fmt.Fprintf(&d.text, ", %[1]s %[2]d, %[1]s %[3]d, ptr %[4]s, %[1]s %[5]d, ptr @%[6]s", d.size, m.Workspace, m.Scratch, image, weights, m.RunSymbol())
	flags := bundle.FlagParamsDigest
	if shared {
		flags |= bundle.FlagSealed
	}
	digest, err := c.ParamsDigest()
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&d.text, ", i32 %d, i32 %d, ptr %s, i32 %d, i32 0 }\n", flags, int32(digest), regions, len(m.External))
	if shared {
		fmt.Fprintf(&d.text, "@%s = alias %%library, ptr @%s\n", bundle.LibraryAlias, name)
	}
	if len(d.strings) > math.MaxInt32 {
		return "", fmt.Errorf("the names of steps and constants take %d bytes, more than a library can hold", len(d.strings))
	}
	fmt.Fprintf(&d.text, "%s = private constant [%d x i8] c\"%s\"\n", stringTable, len(d.strings), escape(d.strings))
	if shared {
		digest := m.Digest()
		fmt.Fprintf(&d.text, "@%s = constant [%d x i8] c\"%s\"\n", m.DigestSymbol(), len(digest), escape(digest[:]))
	}
	return d.text.String(), nil
}

// descriptor collects the text of the tables that the constant points to.
type descriptor struct {
	text    strings.Builder
	size    string         // the type of a size_t
	strings []byte         // all strings, each with its final zero
	offsets map[string]int // where a string begins in strings
}

// stringTable is the symbol of the table of strings. A number that says where a string begins takes four bytes; a pointer
// to it takes a word and the word's relocation, 32 bytes in a 64-bit library.
const stringTable = "@.strings"

// offset returns where a C string begins in the table; equal ones share it. C ends a string at its first zero byte.
func (d *descriptor) offset(s string) int {
	s, _, _ = strings.Cut(s, "\x00")
	at, ok := d.offsets[s]
	if !ok {
		at = len(d.strings)
		d.offsets[s] = at
		d.strings = append(append(d.strings, s...), 0)
	}
	return at
}

// string returns the address of a C string in the table, as a constant of LLVM IR.
func (d *descriptor) string(s string) string {
	return fmt.Sprintf("getelementptr (i8, ptr %s, %s %d)", stringTable, d.size, d.offset(s))
}

// escape writes bytes as LLVM IR has them between quotes.
func escape(bytes []byte) string {
	var text strings.Builder
	for _, b := range bytes {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			fmt.Fprintf(&text, "\\%02X", b)
		} else {
			text.WriteByte(b)
		}
	}
	return text.String()
}

// array writes an array of rows and returns its symbol, or "null" for none.
func (d *descriptor) array(name, typ string, rows []string) string {
	if len(rows) == 0 {
		return "null"
	}
	name = "@." + name
	fmt.Fprintf(&d.text, "%s = private constant [%d x %s] [\n  %s\n]\n", name, len(rows), typ, strings.Join(rows, ",\n  "))
	return name
}

func (d *descriptor) tensors(name string, ts []bundle.TensorInfo) (string, error) {
	var rows []string
	for i, t := range ts {
		bytes, err := t.ByteSize()
		if err != nil {
			return "", err
		}
		code, err := bundle.DTypeCode(t.DType)
		if err != nil {
			return "", err
		}
		shape := d.array(fmt.Sprintf("%s.%d.shape", name, i), "i64", integers("i64", t.Shape))
		symbols := d.array(fmt.Sprintf("%s.%d.symbols", name, i), "i32", integers("i32", t.Symbols))
		rows = append(rows, fmt.Sprintf("%%tensor { ptr %s, ptr %s, ptr %s, %s %d, i32 %d, i32 %d }", d.string(t.Name), shape, symbols, d.size, bytes, len(t.Shape), code))
	}
	return d.array(name, "%tensor", rows), nil
}

func integers(typ string, values []int) []string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%s %d", typ, v))
	}
	return list
}

// regions writes the regions of external code generators, and returns their table.
func (d *descriptor) regions(c *bundle.Contents) (string, error) {
	if len(c.Manifest.External) == 0 {
		return "null", nil
	}
	fmt.Fprintf(&d.text, "%%operand = type { ptr, %[1]s, %[1]s, i32, i32, i32, i32 }\n"+
		"%%region = type { ptr, ptr, ptr, ptr, ptr, %[1]s, i32, i32, i32, i32, i32, i32, i32 }\n", d.size)
	var rows []string
	for i, e := range c.Manifest.External {
		inputs, err := d.operands(fmt.Sprintf("regions.%d.inputs", i), e.Inputs)
		if err != nil {
			return "", err
		}
		outputs, err := d.operands(fmt.Sprintf("regions.%d.outputs", i), e.Outputs)
		if err != nil {
			return "", err
		}
		flags := 0
		if e.WhenFaster {
			flags |= bundle.FlagWhenFaster
		}
		if e.NoFallback {
			flags |= bundle.FlagNoFallback
		}
		rows = append(rows, fmt.Sprintf("%%region { ptr %s, ptr %s, ptr %s, ptr %s, ptr %s, %s %d, i32 %d, i32 %d, i32 %d, i32 %d, i32 %d, i32 %d, i32 %d }",
			d.string(e.Symbol), d.string(e.Runtime), d.string(e.Member), inputs, outputs, d.size, len(c.External[i]), int32(bundle.MemberDigest(c.External[i])), flags, e.ABI,
			len(e.Inputs), len(e.Outputs), e.Fallback[0], e.Fallback[1]))
	}
	return d.array("regions", "%region", rows), nil
}

func (d *descriptor) operands(name string, list []bundle.Operand) (string, error) {
	var rows []string
	for i, o := range list {
		code, err := bundle.DTypeCode(o.DType)
		if err != nil {
			return "", err
		}
		bytes, err := bundle.ByteSize(o.DType, o.Shape)
		if err != nil {
			return "", err
		}
		memory := slices.Index(bundle.MemoryNames[:], o.Memory)
		shape := d.array(fmt.Sprintf("%s.%d.shape", name, i), "i64", integers("i64", o.Shape))
		rows = append(rows, fmt.Sprintf("%%operand { ptr %[1]s, %[2]s %[3]d, %[2]s %[4]d, i32 %[5]d, i32 %[6]d, i32 %[7]d, i32 %[8]d }",
			shape, d.size, bytes, o.Offset, memory, o.Index, len(o.Shape), code))
	}
	return d.array(name, "%operand", rows), nil
}
