package bundle

import (
	"bytes"
	"debug/elf"
	"fmt"

	"lathe/internal/tool/spelling"
)

// libraryMembers returns the members of the package that a complete library holds as sections of their names; none where
// lib is not one. mod.params is the part weights of lib; the others may be stored compressed.
func libraryMembers(lib []byte) (inside map[string][]byte, weights [2]int, err error) {
	f, err := elf.NewFile(bytes.NewReader(lib))
	if err != nil {
		return nil, weights, nil // whether the library is one at all is checked elsewhere
	}
	inside = map[string][]byte{}
	for _, name := range []string{GraphName, ParamsName, ManifestName} {
		s := f.Section(name)
		if s == nil {
			continue
		}
		if s.Flags&elf.SHF_COMPRESSED != 0 && name != ParamsName {
			if s.Size > maxText {
				return nil, weights, fmt.Errorf("%s in %s: %s", name, LibraryName, spelling.Count(s.Size, "byte"))
			}
			if inside[name], err = s.Data(); err != nil {
				return nil, weights, fmt.Errorf("%s in %s: %w", name, LibraryName, err)
			}
			continue
		}
		if s.Type == elf.SHT_NOBITS || !within(s.Offset, s.Size, len(lib)) {
			return nil, weights, fmt.Errorf("%s in %s: ends beyond the file", name, LibraryName)
		}
		if name == ParamsName {
			weights = [2]int{int(s.Offset), int(s.Offset + s.Size)}
		}
		inside[name] = lib[s.Offset : s.Offset+s.Size : s.Offset+s.Size]
	}
	if len(inside) < 3 {
		return nil, [2]int{}, nil
	}
	return inside, weights, nil
}

// maxText bounds what a compressed member may grow to.
const maxText = 256 << 20
