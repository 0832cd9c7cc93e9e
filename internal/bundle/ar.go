package bundle

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"lathe/internal/tool/spelling"
)

// writeAr writes relocatable objects as an archive for linkers: members o0.o, o1.o ... behind an index from the names they
// define to their positions, which GNU's linker demands. Times, owners and modes are constants. (Format: System V's and
// GNU's ar.)
func writeAr(w io.Writer, objects [][]byte) error {
	var names bytes.Buffer // of the index
	var members []int      // per name, the object that defines it
	for i, o := range objects {
		defined, err := definedNames(o)
		if err != nil {
			return fmt.Errorf("object %d: %w", i, err)
		}
		for _, n := range defined {
			names.WriteString(n + "\x00")
			members = append(members, i)
		}
	}
	index := make([]byte, 4+4*len(members), 4+4*len(members)+names.Len())
	binary.BigEndian.PutUint32(index, uint32(len(members)))
	at, offsets := len(arMagic)+arSize(cap(index)), make([]int, len(objects))
	for i, o := range objects {
		offsets[i] = at
		at += arSize(len(o))
	}
	if at > 1<<32-1 {
		return fmt.Errorf("%s are too many for an archive", spelling.Count(at, "byte"))
	}
	for i, m := range members {
		binary.BigEndian.PutUint32(index[4+4*i:], uint32(offsets[m]))
	}
	if _, err := io.WriteString(w, arMagic); err != nil {
		return err
	}
	if err := writeArMember(w, "/", append(index, names.Bytes()...)); err != nil {
		return err
	}
	for i, o := range objects {
		if err := writeArMember(w, fmt.Sprintf("o%d.o/", i), o); err != nil {
			return err
		}
	}
	return nil
}

const (
	arMagic  = "!<arch>\n"
	arHeader = 60
)

// arSize is what a member of n bytes takes: a header and an even number of bytes.
func arSize(n int) int { return arHeader + n + n%2 }

func writeArMember(w io.Writer, name string, data []byte) error {
	_, err := fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, 0, 0, 0, 0o644, len(data))
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil && len(data)%2 == 1 {
		_, err = w.Write([]byte{'\n'})
	}
	return err
}

// definedNames lists the global symbols that a relocatable object defines.
func definedNames(object []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		if bind := elf.ST_BIND(s.Info); s.Section != elf.SHN_UNDEF && (bind == elf.STB_GLOBAL || bind == elf.STB_WEAK) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}
