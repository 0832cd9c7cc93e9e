package toolchain

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Section is data that becomes a section of an object as it is.
type Section struct {
	Name   string // of letters, digits, dots and underscores
	Loaded bool   // part of the program's read-only memory; else in the file only
	Align  int    // a power of two; 0 is 1
	Symbol string // the C name of its first byte, for other objects of the same library only; none if empty
	Write  func(io.Writer) error
}

// Embed makes an object of sections. Their data passes through files in memory and never through IR text. The bytes
// depend on the sections only.
func (m *Machine) Embed(sections []Section) (Object, error) {
	var files memoryFiles
	defer files.close()
	var text strings.Builder
	line := func(format string, args ...any) {
		fmt.Fprintf(&text, "module asm \"%s\"\n", strings.ReplaceAll(fmt.Sprintf(format, args...), `"`, `\22`))
	}
	for _, s := range sections {
		if !plainName(strings.ReplaceAll(s.Name, ".", "_")) || s.Symbol != "" && !plainName(s.Symbol) {
			return nil, fmt.Errorf("embed: section %q, symbol %q: must be letters, digits and underscores, in sections dots as well", s.Name, s.Symbol)
		}
		flags := ""
		if s.Loaded {
			flags = "a"
		}
		path, err := files.write(s.Name, s.Write)
		if err != nil {
			return nil, fmt.Errorf("embed: no file in memory for %s: %w", s.Name, err)
		}
		line(".section %s,\"%s\",%%progbits", s.Name, flags)
		line(".balign %d", max(1, s.Align))
		if s.Symbol != "" {
			line(".globl %s", s.Symbol)
			line(".hidden %s", s.Symbol)
			line(".type %s, %%object", s.Symbol)
			line("%s:", s.Symbol)
		}
		line(".incbin \"%s\"", path)
		if s.Symbol != "" {
			line(".size %s, . - %s", s.Symbol, s.Symbol)
		}
	}
	o, err := m.Compile(text.String(), "")
	if err != nil {
		return nil, errors.New(files.name(err.Error()))
	}
	return o, nil
}

// plainName reports whether a name is one of C.
func plainName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" && (s[0] < '0' || s[0] > '9')
}
