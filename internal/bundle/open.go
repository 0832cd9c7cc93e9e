package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Package is an open package. Library and the data of Params lie in read-only mappings and are valid until Close.
// A file that somebody shortens while it is mapped faults on access; Write never does that, it replaces files.
type Package struct {
	Path     string
	Manifest *Manifest
	Library  []byte
	Params   []Param  // in the manifest's order
	External [][]byte // the members of the manifest's external regions
	weights  [2]int   // where they lie in Library; [0,0) where they do not
	graph    []byte
	members  map[string][]byte
	wasm     []byte // the module, where it is one
	maps     [][]byte
	file     func(member string) string // where a member lies; nil in a tar
}

// Open maps a package: a tar, the triple beside NAME.so (by the name of any of its files, or by NAME), a directory with the
// members, or a library that holds them.
func Open(path string) (*Package, error) { return open(path, (*Package).parse) }

func open(path string, parse func(*Package, map[string][]byte) error) (*Package, error) {
	p := &Package{Path: path}
	found, err := p.locate(path)
	if err == nil {
		err = parse(p, found)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("package %s: %w", path, err)
	}
	return p, nil
}

// Weights returns the part [from, to) of Library that holds mod.params; it is empty where Params lie elsewhere.
func (p *Package) Weights() (from, to int) { return p.weights[0], p.weights[1] }

// Inspect is Open for those who look and do not run: it opens WebAssembly modules and static libraries too, without Params.
func Inspect(path string) (*Package, error) {
	if strings.ToLower(filepath.Ext(path)) != ".wasm" {
		return open(path, (*Package).parseAny)
	}
	p := &Package{Path: path}
	b, err := p.mapFile(path)
	if err == nil {
		p.Library, p.wasm = b, b
		p.Manifest, err = wasmManifest(b)
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("module %s: %w", path, err)
	}
	return p, nil
}

// parseAny is parse, which takes static libraries as well: the archive is the Library.
func (p *Package) parseAny(found map[string][]byte) error {
	if !isStatic(found) {
		return p.parse(found)
	}
	var err error
	if p.Manifest, err = ParseManifest(found[ManifestName]); err != nil {
		return err
	}
	p.Library, p.graph, p.members = found[p.Manifest.ArchiveName()], found[GraphName], found
	return nil
}

// Close releases the mappings.
func (p *Package) Close() error {
	var err error
	for _, m := range p.maps {
		err = errors.Join(err, unix.Munmap(m))
	}
	*p = Package{Path: p.Path}
	return err
}

// Forget tells the system that what was read of the mapped files will not be read again soon: it takes the pages back.
func (p *Package) Forget() {
	for _, m := range p.maps {
		_ = unix.Madvise(m, unix.MADV_DONTNEED) // advice: otherwise they stay
	}
}

// Graph parses mod.json. The runtime does without it, so Open leaves it alone.
func (p *Package) Graph() (*GraphJSON, error) {
	g, err := ParseGraph(p.graph)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", p.Path, err)
	}
	return g, nil
}

// locate maps the files of a package and returns its members by name.
func (p *Package) locate(path string) (map[string][]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return p.mapMembers(func(member string) string { return filepath.Join(path, member) })
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(path + ".so"); err == nil {
			return p.mapTriple(path)
		}
		return nil, errors.New("no such file")
	case err != nil:
		return nil, plain(err)
	}
	for _, suffix := range []string{".lathe.json", ".json", ".params"} {
		if stem, ok := strings.CutSuffix(path, suffix); ok {
			if _, err := os.Stat(stem + ".so"); err == nil {
				return p.mapTriple(stem)
			}
		}
	}
	b, err := p.mapFile(path)
	if err != nil {
		return nil, err
	}
	switch {
	case isTar(b):
		return parseTar(b)
	case strings.HasPrefix(string(b[:min(len(b), 4)]), "\x7fELF"):
		return p.mapTriple(strings.TrimSuffix(path, ".so"))
	}
	return nil, errors.New(identifyFile(path, b))
}

// mapTriple maps the files beside NAME.so; mod.so of an unpacked directory has lathe.json beside it.
func (p *Package) mapTriple(stem string) (map[string][]byte, error) {
	dir, base := filepath.Split(stem)
	if _, err := os.Stat(filepath.Join(dir, ManifestName)); err == nil && base+".so" == LibraryName {
		return p.mapMembers(func(member string) string { return filepath.Join(dir, member) })
	}
	return p.mapMembers(func(member string) string { return stem + suffixOf(member) })
}

// mapMembers maps those members that exist; parse reports the missing ones.
func (p *Package) mapMembers(file func(member string) string) (map[string][]byte, error) {
	p.file = file
	found := make(map[string][]byte)
	for _, member := range members {
		b, err := p.mapFile(file(member))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file(member)), err)
		}
		found[member] = b
	}
	return found, nil
}

func (p *Package) mapFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, plain(err)
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a plain file")
	}
	if st.Size() == 0 {
		return nil, nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("cannot map the file: %w", err)
	}
	p.maps = append(p.maps, b)
	return b, nil
}

// plain drops the operation and path that a PathError repeats.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// parse reads the members.
func (p *Package) parse(found map[string][]byte) error {
	sealed := false
	if lib, ok := found[LibraryName]; ok {
		var damage error
		if found[LibraryName], sealed, damage = unseal(lib); damage != nil {
			if _, err := LibraryArch(lib); err != nil {
				return err // says more
			}
			return damage
		}
	}
	inside, weights, err := libraryMembers(found[LibraryName])
	if err != nil {
		return err
	}
	p.weights = weights
	maps.Copy(found, inside)
	if _, ok := found[ManifestName]; !ok {
		if p.Manifest, err = describedBy(found[LibraryName]); err != nil {
			return err
		}
	}
	blob, ok := found[ParamsName]
	if p.Manifest != nil {
		if !ok && len(p.Manifest.Params) > 0 {
			return p.missing(ParamsName)
		}
	} else if err := p.complete(found); err != nil {
		return err
	} else if p.Manifest, err = ParseManifest(found[ManifestName]); err != nil {
		return err
	}
	p.Library, p.graph, p.members = found[LibraryName], found[GraphName], found
	if _, err := LibraryArch(p.Library); err != nil {
		return err
	}
	if err := p.external(); err != nil {
		return err
	}
	if !sealed && len(p.Manifest.Digests) > 0 {
		return fmt.Errorf("%s has lost the digest at its end: it is truncated, or another program rewrote it; copy it again", p.called(LibraryName))
	}
	if !ok {
		return nil
	}
	params, err := ParseParams(blob)
	if err != nil {
		return err
	}
	if p.Params, err = inOrder(p.Manifest.Params, params); err != nil || len(blob) > CheckedAtOnce {
		return err
	}
	return p.checkMember(ParamsName)
}

// complete reports missing members, and packages of other programs by name.
func (p *Package) complete(found map[string][]byte) error {
	has := func(name string) bool { _, ok := found[name]; return ok }
	if !has(ManifestName) || isStatic(found) {
		switch {
		case isStatic(found):
			return errors.New("this is a static library for C programs (-f tar), which link it; to run it here compile the model without -f tar")
		case has("metadata.json"):
			return errors.New("this is a Model Library Format archive of Apache TVM, which holds sources; recompile the model with lathe compile")
		case has("lib.so"), has("mod.tar"), has(GraphName) && (has(LibraryName) || has(ParamsName)):
			return errors.New("this is a package of Apache TVM (no lathe.json), whose library needs TVM's runtime; recompile the model with lathe compile")
		case has(LibraryName):
			return errors.New("this shared library is not one of lathe compile: there is no lathe_library inside, and no NAME.lathe.json beside it")
		}
		return errors.New("no lathe.json inside, so this is not a package of lathe")
	}
	for _, name := range members {
		if !has(name) {
			return p.missing(name)
		}
	}
	return nil
}

// called is the name of the file that holds a member.
func (p *Package) called(member string) string {
	if p.file == nil {
		return member // of a tar
	}
	return filepath.Base(p.file(member))
}

// missing tells what is not where the other members are.
func (p *Package) missing(member string) error {
	what := ""
	if member == ParamsName {
		what = ": it holds the weights"
	}
	if p.file == nil {
		return fmt.Errorf("%s is missing%s", member, what)
	}
	return fmt.Errorf("%s is missing%s (copy it beside %s)", p.called(member), what, p.called(LibraryName))
}

// isStatic reports whether the members are those of a static library.
func isStatic(found map[string][]byte) bool {
	for name := range found {
		if strings.HasPrefix(name, "liblathe_") && strings.HasSuffix(name, ".a") {
			return true
		}
	}
	return false
}

// inOrder arranges params as names says.
func inOrder(names []string, params []Param) ([]Param, error) {
	index := make(map[string]int, len(params))
	for i, q := range params {
		index[q.Name] = i
	}
	ordered := make([]Param, len(names))
	for i, name := range names {
		j, ok := index[name]
		if !ok {
			return nil, fmt.Errorf("%s: parameter %q is missing", ParamsName, name)
		}
		ordered[i] = params[j]
	}
	return ordered, nil
}
