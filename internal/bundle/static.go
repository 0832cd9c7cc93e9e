package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// ArchiveName is the file of a static library. It has the module's name, so that the libraries of two models can stand in
// one folder and be linked into one program.
func (m *Manifest) ArchiveName() string { return "liblathe_" + m.Module + ".a" }

// HeaderName is the file that declares a static library in C.
func (m *Manifest) HeaderName() string { return "lathe_" + m.Module + ".h" }

// WriteStatic writes a tar with a static library of the objects, its C header, the sources of the runtime, mod.json and
// lathe.json, and mod.params where the objects do not hold the weights. The tar appears complete or not at all.
func WriteStatic(path string, c *Contents) error {
	parts, err := c.staticParts()
	if err == nil {
		var to *tarFile
		if to, err = createTar(c.context(), path); err == nil {
			err = writeParts(to, parts)
		}
	}
	if err != nil {
		return fmt.Errorf("writing static library %s: %w", path, err)
	}
	return nil
}

func (c *Contents) staticParts() ([]part, error) {
	if len(c.Objects) == 0 {
		return nil, errors.New("there are no objects")
	}
	digests, err := c.Digests()
	if err != nil {
		return nil, err
	}
	size, sum := &counter{}, crc32.New(castagnoli)
	if err := writeAr(io.MultiWriter(size, sum), c.Objects); err != nil {
		return nil, err
	}
	about := *c.Manifest
	m := &about
	digests[m.ArchiveName()] = digestText(sum.Sum32())
	if c.Complete {
		delete(digests, ParamsName) // a part of the archive
	}
	m.Digests = digests
	all := *c
	all.Manifest = m
	members, err := all.textParts()
	if err != nil {
		return nil, err
	}
	parts := []part{
		{m.ArchiveName(), size.n, func(w io.Writer) error { return writeAr(w, c.Objects) }},
		bytesPart(m.HeaderName(), c.header()),
	}
	for _, f := range c.Runtime {
		parts = append(parts, bytesPart(f.Name, f.Data))
	}
	parts = append(parts, members[0])
	if !c.Complete {
		parts = append(parts, paramsPart(c.Params))
	}
	return append(parts, members[1]), nil
}

type counter struct{ n int }

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return len(b), nil
}

// header declares the library in C, and says what its tensors are in constants.
func (c *Contents) header() []byte {
	m := c.Manifest
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	upper := "LATHE_" + strings.ToUpper(m.Module) + "_"
	weights := "Its weights are inside."
	if !c.Complete {
		weights = "Its weights are mod.params, which lathe_open_library takes."
	}
	line("/* %s: the model %s, compiled by lathe %s", m.HeaderName(), commentText(m.Source.File), m.Lathe)
	line(" * for %s. %s", commentText(m.Target.String), weights)
	line(" *")
	line(" *   lathe_model *model;")
	if c.Complete {
		line(" *   lathe_open_library(&%s, NULL, 0, NULL, &model);", m.LibrarySymbol())
	} else {
		line(" *   lathe_open_library(&%s, params, params_bytes, NULL, &model);", m.LibrarySymbol())
	}
	line(" *")
	line(" * Link %s and lathe.c, with -pthread. */", m.ArchiveName())
	line("#ifndef %sH\n#define %sH\n\n#include \"lathe.h\"\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n", upper, upper)
	line("extern const lathe_library %s;\n", m.LibrarySymbol())
	for _, list := range []struct {
		what string
		ts   []TensorInfo
	}{{"INPUT", m.Inputs}, {"OUTPUT", m.Outputs}} {
		line("#define %s%sS %d", upper, list.what, len(list.ts))
		for i, t := range list.ts {
			bytes, _ := t.ByteSize() // staticParts has checked the manifest
			elements, _ := ByteSize("uint8", t.Shape)
			dims := make([]string, len(t.Shape))
			for k, d := range t.Shape {
				dims[k] = fmt.Sprint(d)
			}
			at := ""
			if len(t.Symbols) > 0 {
				at = ", at most"
			}
			name := fmt.Sprintf("%s%s%d", upper, list.what, i)
			line("\n/* %s[%s]%s */", t.DType, strings.Join(dims, ","), at)
			line("#define %s_NAME %s", name, quoteC(t.Name))
			line("#define %s_TYPE LATHE_%s", name, strings.ToUpper(t.DType))
			line("#define %s_RANK %d", name, len(t.Shape))
			if len(t.Shape) > 0 {
				line("#define %s_SHAPE {%s}", name, strings.Join(dims, ", "))
			}
			line("#define %s_ELEMENTS %d", name, elements)
			line("#define %s_BYTES %d", name, bytes)
		}
		line("")
	}
	line("#ifdef __cplusplus\n}\n#endif\n\n#endif")
	return b.Bytes()
}

// commentText keeps text from ending the comment that it stands in, or its line.
func commentText(s string) string {
	return strings.NewReplacer("*/", "* /", "/*", "/ *", "\n", " ", "\r", " ", "\\", "/").Replace(s)
}

// quoteC is a string literal of C. Bytes beyond ASCII are octal escapes, and so is what could become a trigraph.
func quoteC(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?' {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
