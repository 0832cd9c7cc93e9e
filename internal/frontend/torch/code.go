package torch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/container/pickle"
)

// A code is what an archive of TorchScript holds: the code of its classes, and the pickles of the model and of its constants.
type code struct {
	archive   *archive
	units     map[string]*unit // by qualified name
	version   int
	model     *pickle.Object
	constants []any
	options   options
}

// maxCode bounds the code of an archive, whose tree takes some hundred bytes for each of its own at worst.
const maxCode = 64 << 20

// readCode reads an archive of TorchScript.
func readCode(a *archive) (*code, error) {
	c := &code{archive: a, units: map[string]*unit{}}
	c.version, _ = strconv.Atoi(a.text("version"))
	if order := a.text("byteorder"); order != "" && order != "little" {
		return nil, fmt.Errorf("the archive's tensors are %s-endian, which is not supported", order)
	}
	size := 0
	for _, name := range a.names {
		path, ok := strings.CutPrefix(name, "code/")
		if !ok || !strings.HasSuffix(path, ".py") {
			continue
		}
		src, err := a.read(name)
		if err != nil {
			return nil, err
		}
		if size += len(src); size > maxCode {
			return nil, fmt.Errorf("code of more than %d bytes", maxCode)
		}
		qualified := strings.ReplaceAll(strings.TrimSuffix(path, ".py"), "/", ".")
		if c.units[qualified], err = parse(string(src), name, qualified); err != nil {
			return nil, err
		}
	}
	v, err := c.pickled("data.pkl")
	if err != nil {
		return nil, err
	}
	var ok bool
	if c.model, ok = v.(*pickle.Object); !ok {
		return nil, fmt.Errorf("data.pkl holds %T instead of a module", v)
	}
	if a.has("constants.pkl") {
		if v, err = c.pickled("constants.pkl"); err != nil {
			return nil, err
		}
		t, ok := v.(pickle.Tuple)
		if !ok {
			return nil, fmt.Errorf("constants.pkl holds %T instead of a tuple", v)
		}
		c.constants = t
	}
	return c, nil
}

func (c *code) pickled(name string) (any, error) {
	data, err := c.archive.read(name)
	if err != nil {
		return nil, err
	}
	v, _, err := pickle.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// class finds a class by its qualified name, or nil.
func (c *code) class(name string) *class {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return nil
	}
	if u := c.units[name[:at]]; u != nil {
		return u.classes[name[at+1:]]
	}
	return nil
}

// resolve is what a dotted name stands for; a reference as long as it is the beginning of one.
func (c *code) resolve(m *machine, path string) value {
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		if u := c.units[path[:at]]; u != nil {
			if fn := u.functions[path[at+1:]]; fn != nil {
				return fn
			}
			if k := u.classes[path[at+1:]]; k != nil {
				return k
			}
		}
	}
	if n, ok := strings.CutPrefix(path, "CONSTANTS.c"); ok {
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i >= len(c.constants) {
			fail("the code reads %s; there are %d constants", path, len(c.constants))
		}
		return m.constants.load(c.constants[i], path)
	}
	return reference{path}
}

// A use is an operator that the code applies, with how often it stands there and where first.
type use struct {
	name  string
	count int
	first string
}

// uses lists the operators that stand in the code, in order of files and lines.
func (c *code) uses() []use {
	var list []use
	place := map[string]int{}
	for _, file := range slices.Sorted(maps.Keys(c.units)) {
		u := c.units[file]
		for _, call := range u.calls {
			name, ok := strings.CutPrefix(call.name, "torch.")
			if !ok {
				if name, ok = strings.CutPrefix(call.name, "ops."); !ok {
					continue
				}
				name = strings.TrimPrefix(name, "aten.")
			}
			at, ok := place[name]
			if !ok {
				at = len(list)
				place[name] = at
				list = append(list, use{name: name, first: fmt.Sprintf("%s:%d", u.path, call.line)})
			}
			list[at].count++
		}
	}
	return list
}
