// Package torch reads programs of PyTorch: archives of TorchScript, whose code is interpreted on values of the graph, and those of torch.export. Nothing
// of a file is ever executed: its pickles are data, and its code can do what the rows of the table do and nothing else.
package torch

import (
	"bytes"
	"errors"
	"fmt"

	"lathe/internal/frontend"
)

// Format is PyTorch.
var Format = frontend.Format{
	Name: "pytorch", Doc: "PyTorch programs: TorchScript archives (torch.jit.save) and .pt2 (torch.export.save)", Extensions: []string{".pt", ".pth", ".ts", ".pt2", ".jit", ".torchscript"},
	Identify: func(head []byte, _ string) bool {
		return isZip(head) && isArchive(head) || bytes.HasPrefix(head, oldMagic) || bytes.HasPrefix(head, plainPickle)
	},
	Options: []frontend.Option{frontend.StateOption},
	Read:    func(path string) (*frontend.Model, error) { return frontend.ReadMapped(path, Read) },
}

// oldMagic begins what torch.save wrote before version 1.6: a pickle of the number 0x1950a86a20f9469cfc6c. plainPickle is any other pickle.
var (
	oldMagic    = []byte{0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'}
	plainPickle = []byte{0x80, 2, 'c'}
)

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// isPickle reports whether a file begins as pickles of protocol 2 and later do.
func isPickle(head []byte) bool { return len(head) > 1 && head[0] == 0x80 && head[1] <= 5 }

// isArchive reports whether an archive begins with what PyTorch writes first.
func isArchive(head []byte) bool {
	for _, name := range []string{"/data.pkl", "/constants.pkl", "/code/", "/version", "/archive_format", "/byteorder", ".data/serialization_id", "serialized_exported_program.json", "/data/", "/models/", "model.json"} {
		if bytes.Contains(head, []byte(name)) {
			return true
		}
	}
	return false
}

var errStates = errors.New("the file holds weights (a state dictionary) and no program: in PyTorch, load them into their module and save that with torch.export.save(torch.export.export(module.eval(), (example,)), FILE) " +
	"or torch.jit.save(torch.jit.trace(module.eval(), example), FILE)")

// Read reads a program. data must stay as it is while the model is in use.
func Read(data []byte) (*frontend.Model, error) {
	m, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("pytorch: %w", err)
	}
	m.Format, m.Table = "pytorch", frontend.NewTable(listed(), nil, "")
	m.Files, m.Close = func() []string { return nil }, func() error { return nil }
	return m, nil
}

func read(data []byte) (*frontend.Model, error) {
	switch {
	case isZip(data):
	case isPickle(data):
		return nil, errStates
	default:
		return nil, errors.New("it is neither an archive nor a pickle: no file of PyTorch, or damaged")
	}
	a, err := openArchive(data)
	if err != nil {
		return nil, err
	}
	switch hasCode := a.hasFolder("code/"); {
	case a.has("archive_format") || a.has("serialized_exported_program.json") || a.hasFolder("models/"):
		return readExport(a)
	case hasCode && a.has("data.pkl"):
		return readScript(a)
	case hasCode && a.has("model.json"):
		return nil, errors.New("the archive is of PyTorch 1.0 to 1.2, whose form is not supported: load and save it with a newer version (torch.jit.load, torch.jit.save)")
	case a.has("data.pkl"):
		return nil, errStates
	}
	return nil, errors.New("the archive holds no program of PyTorch: neither code of TorchScript nor an exported program")
}
