// Package paddle reads models of PaddlePaddle: a program, as a protobuf message (.pdmodel, __model__) or in JSON (.json of Paddle 3), with
// its parameters in one file (.pdiparams) or, of old ones, in one each.
package paddle

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
)

// Format is PaddlePaddle.
var Format = frontend.Format{
	Name: "paddle", Doc: "PaddlePaddle programs (.pdmodel, .json, or a folder with __model__) with the .pdiparams of their name beside them", Extensions: []string{".pdmodel", ".json"}, Companions: []string{".pdiparams"},
	Identify: identify,
	ReadWith: open,
}

// oldName is the file of a program that stands in a folder with its parameters.
const oldName = "__model__"

// identify knows folders by the name of the program in them, JSON by its magic word, and messages by how a program begins: with a block,
// whose first fields are its number 0 and its parent -1 (framework.proto).
func identify(head []byte, path string) bool {
	if head == nil {
		_, err := os.Stat(filepath.Join(path, oldName))
		return err == nil
	}
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
		return bytes.Contains(head, []byte(`"base_code"`)) && bytes.Contains(head, []byte(`"pir"`))
	}
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 || num != 1 || typ != protowire.BytesType {
		return false
	}
	_, size := protowire.ConsumeVarint(head[n:])
	return size > 0 && bytes.HasPrefix(head[n+size:], []byte("\x08\x00\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
}

// open reads the program in a file, or in a folder, with its parameters.
func open(path string, w frontend.Weights) (*frontend.Model, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, oldName)
	}
	single, folder, err := paramsOf(path, w)
	if err != nil {
		return nil, fmt.Errorf("read %s, the weights of %s: %w", w.Path, path, err)
	}
	if folder == "" {
		return frontend.ReadWithWeights(path, w, func(string) (string, error) {
			if single == "" {
				return "", frontend.NoWeights("there is no file %s beside it", filepath.Base(stem(path)+".pdiparams"))
			}
			return single, nil
		}, Read)
	}
	return readFolder(path, folder)
}

// stem is the name of the program without what says that it is one.
func stem(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) }

// paramsOf finds the file of all parameters, or the folder of one file for each; neither where there are none.
func paramsOf(path string, w frontend.Weights) (single, folder string, err error) {
	if w.MadeUp {
		return "", "", nil
	}
	candidates := []string{w.Path}
	if w.Path == "" {
		candidates = []string{stem(path) + ".pdiparams", filepath.Join(filepath.Dir(path), "__params__"), stem(path) + ".pdparams"}
		if filepath.Base(path) == oldName {
			candidates = append(candidates, filepath.Dir(path))
		}
	}
	for _, name := range candidates {
		st, err := os.Stat(name)
		switch {
		case err == nil && st.IsDir():
			return "", name, nil
		case err == nil:
			return name, "", nil
		case w.Path != "":
			return "", "", frontend.Cause(err)
		}
	}
	return "", "", nil
}

// readFolder reads a program whose parameters have a file each, by their name.
func readFolder(path, folder string) (*frontend.Model, error) {
	text, err := frontend.Map(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer frontend.Unmap(text)
	p, err := readProgram(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: paddle: %w", path, err)
	}
	f := &folderOf{files: map[string][]byte{}}
	for _, name := range p.parameters() {
		if !filepath.IsLocal(name) {
			return nil, errors.Join(fmt.Errorf("read %s: paddle: the name of the parameter %q is no file in the folder", path, name), f.close())
		}
		file := filepath.Join(folder, name)
		data, err := frontend.Map(file)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("read %s, the weights of %s: %w", file, path, err), f.close())
		}
		f.files[name] = data
		f.paths = append(f.paths, file)
	}
	m, err := p.model(func(name string) ([]byte, bool) { data, ok := f.files[name]; return data, ok })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: paddle: %w", path, err), f.close())
	}
	m.Files = func() []string { return f.paths }
	m.Close = f.close
	return m, nil
}

// A folderOf holds mapped files of parameters.
type folderOf struct {
	files map[string][]byte
	paths []string
}

func (f *folderOf) close() (err error) {
	for _, data := range f.files {
		err = errors.Join(err, frontend.Unmap(data))
	}
	return err
}
