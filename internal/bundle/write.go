package bundle

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"lathe/internal/tool/atomicfile"
)

// Write writes a package. A path that ends in ".so" gives the triple NAME.so, NAME.json, NAME.params and NAME.lathe.json, or
// NAME.so alone where the library is complete; any other path gives a tar, without mod.params where the library is complete.
// Files appear complete or not at all, and equal contents give equal bytes.
func Write(path string, c *Contents) error {
	if err := c.write(path); err != nil {
		return fmt.Errorf("writing package %s: %w", path, err)
	}
	return nil
}

func (c *Contents) write(path string) error {
	parts, err := c.parts()
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".so") && c.Complete {
		parts = slices.DeleteFunc(parts, func(p part) bool { return p.name != LibraryName })
	}
	if d := c.Draft; d != nil && !c.Complete {
		if d.path != path {
			return fmt.Errorf("its constants are being written to %s", d.path)
		}
		if _, err := d.digest(); err != nil {
			return err
		}
		return writeParts(d.to, parts[1:])
	}
	to, err := create(c.context(), path)
	if err != nil {
		return err
	}
	return writeParts(to, parts)
}

// writeParts adds members to a package, which is complete with them or is not there.
func writeParts(to destination, parts []part) error {
	defer to.discard()
	for _, p := range parts {
		if err := to.member(p); err != nil {
			return err
		}
	}
	return to.commit()
}

// part is a member ready to be written.
type part struct {
	name  string
	size  int
	write func(io.Writer) error
}

// context is Ctx, or one that never ends.
func (c *Contents) context() context.Context {
	if c.Ctx == nil {
		return context.Background()
	}
	return c.Ctx
}

func bytesPart(name string, b []byte) part {
	return part{name, len(b), func(w io.Writer) error { _, err := w.Write(b); return err }}
}

// parts checks the contents and returns the members in the order of members.
func (c *Contents) parts() ([]part, error) {
	if _, err := LibraryArch(c.Library); err != nil {
		return nil, err
	}
	texts, err := c.textParts()
	if err != nil {
		return nil, err
	}
	library, err := c.libraryPart()
	if err != nil {
		return nil, err
	}
	external, err := c.externalParts()
	if err != nil {
		return nil, err
	}
	if c.Complete {
		return []part{library, texts[0], texts[1]}, nil
	}
	return append([]part{paramsPart(c.Params), library, texts[0], texts[1]}, external...), nil
}

// libraryPart is the library with its seal.
func (c *Contents) libraryPart() (part, error) {
	_, weights, err := libraryMembers(c.Library)
	if err != nil {
		return part{}, err
	}
	seal := sealOf(c.Library, weights[0], weights[1])
	return part{LibraryName, len(c.Library) + len(seal), func(w io.Writer) error {
		_, err := w.Write(c.Library)
		if err == nil {
			_, err = w.Write(seal)
		}
		return err
	}}, nil
}

// textParts checks manifest, graph and constants, and returns mod.json and lathe.json.
func (c *Contents) textParts() ([2]part, error) {
	var none [2]part
	m := *c.Manifest
	names := make([]string, len(c.Params))
	for i, p := range c.Params {
		names[i] = p.Name
	}
	if m.Params != nil && !slices.Equal(m.Params, names) {
		return none, fmt.Errorf("the manifest's parameters differ from the constants")
	}
	m.Params = names
	if err := checkParams(c.Params); err != nil {
		return none, err
	}
	if m.Digests == nil {
		var err error
		if m.Digests, err = c.Digests(); err != nil {
			return none, err
		}
	}
	manifest, err := m.Marshal()
	if err != nil {
		return none, err
	}
	graph, err := c.Graph.Marshal()
	if err != nil {
		return none, err
	}
	return [2]part{bytesPart(GraphName, graph), bytesPart(ManifestName, manifest)}, nil
}

func paramsPart(params []Param) part {
	return part{ParamsName, ParamsSize(params), func(w io.Writer) error { return WriteParams(w, params) }}
}

// WriteUnnamed writes a package as a tar into a file that has no name and ends when it is closed; atomicfile.ProcPath opens it.
func WriteUnnamed(c *Contents) (f *os.File, err error) {
	parts, err := c.parts()
	if err == nil {
		f, err = atomicfile.Unnamed()
	}
	if err != nil {
		return nil, fmt.Errorf("writing a package: %w", err)
	}
	if err := writeMembers(f, parts); err != nil {
		f.Close()
		return nil, fmt.Errorf("writing a package in %s: %w", os.TempDir(), err)
	}
	return f, nil
}

func writeMembers(to io.Writer, parts []part) error {
	w := newTarWriter(to)
	for _, p := range parts {
		if err := w.member(p.name, p.size, p.write); err != nil {
			return err
		}
	}
	return w.Close()
}

// suffixOf is what any member is called beside the library.
func suffixOf(member string) string {
	if isExternal(member) {
		return besideLibrary(member)
	}
	return tripleSuffix[member]
}

// tripleSuffix is what a member is called beside the library.
var tripleSuffix = map[string]string{
	LibraryName:  ".so",
	GraphName:    ".json",
	ParamsName:   ".params",
	ManifestName: ".lathe.json",
}
