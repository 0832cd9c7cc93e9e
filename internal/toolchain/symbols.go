package toolchain

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
)

// Undefined lists the functions and data that ELF objects use and none of them defines, sorted.
func Undefined(objs []Object) ([]string, error) {
	used, defined := map[string]bool{}, map[string]bool{}
	for i, o := range objs {
		f, err := elf.NewFile(bytes.NewReader(o))
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i+1, err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", i+1, err)
		}
		for _, s := range symbols {
			switch {
			case elf.ST_BIND(s.Info) == elf.STB_LOCAL:
			case s.Section == elf.SHN_UNDEF:
				used[s.Name] = true
			default:
				defined[s.Name] = true
			}
		}
	}
	var names []string
	for name := range used {
		if !defined[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
