// Package tensorflow reads models of TensorFlow 1 and 2: frozen graphs (.pb, .pbtxt), SavedModel folders with their variables,
// and meta graphs (.meta) with the checkpoint beside them. Names of messages are those of tensorflow/core/protobuf and core/framework.
package tensorflow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
)

// Format is TensorFlow.
var Format = frontend.Format{
	Name: "pb", Doc: "TensorFlow frozen graphs (.pb, .pbtxt), SavedModel folders, and .meta with the checkpoint beside it", Extensions: []string{".pb", ".pbtxt", ".meta"}, Companions: []string{".index", ".data-00000-of-00001"},
	Identify: identify,
	ReadWith: readPath,
}

// identify knows a folder by the files in it, a SavedModel and a meta graph by their names as well, since they begin with little.
func identify(head []byte, path string) bool {
	if head == nil {
		_, err := inFolder(path)
		return err == nil
	}
	switch {
	case inText.Match(bytes.TrimPrefix(head, []byte("\ufeff"))):
		return true
	case strings.HasPrefix(filepath.Base(path), "saved_model.pb"):
		return len(head) > 0 && head[0] == 8
	case filepath.Ext(path) == ".meta":
		return len(head) > 0 && head[0] == 10
	}
	return beginsWithNode(head)
}

var word = regexp.MustCompile(`^[A-Za-z_>][A-Za-z0-9_>]*$`)

// beginsWithNode reports whether a message begins with a NodeDef that has a name and an operator.
func beginsWithNode(head []byte) bool {
	text := func(msg []byte, want protowire.Number) (value, rest []byte) {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 || num != want || typ != protowire.BytesType {
			return nil, nil
		}
		size, m := protowire.ConsumeVarint(msg[n:])
		if m < 0 || size > uint64(len(msg)-n-m) {
			return nil, nil
		}
		return msg[n+m : n+m+int(size)], msg[n+m+int(size):]
	}
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 || num != 1 || typ != protowire.BytesType {
		return false
	}
	_, m := protowire.ConsumeVarint(head[n:])
	if m < 0 {
		return false
	}
	name, rest := text(head[n+m:], 1)
	op, _ := text(rest, 2)
	return len(name) > 0 && bytes.IndexByte(name, 0) < 0 && word.Match(op)
}

// readPath reads the model in a file or folder, with the checkpoint that w names, if any.
func readPath(path string, w frontend.Weights) (*frontend.Model, error) {
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		path, err = inFolder(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, frontend.Cause(err))
	}
	f := &files{dir: filepath.Dir(path), weights: w, checkpoint: shard.ReplaceAllString(strings.TrimSuffix(w.Path, ".index"), "")}
	data, err := f.open(filepath.Base(path))
	var m *frontend.Model
	if err == nil {
		m, err = read(f, filepath.Base(path), data)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m.Files = func() []string { return f.names[1:] }
	m.Close = f.close
	return m, nil
}

// shard is how the name of a file with values of a checkpoint ends.
var shard = regexp.MustCompile(`\.data-\d{5}-of-\d{5}$`)

// read makes the model of a file by its name and content.
func read(f *files, name string, data []byte) (*frontend.Model, error) {
	switch {
	case strings.HasPrefix(name, "saved_model.pb"):
		return readSaved(f, data)
	case strings.HasSuffix(name, ".meta"):
		return readMeta(f, strings.TrimSuffix(name, ".meta"), data)
	}
	return readGraphs(f, data)
}

// kinds are files that are models, in the order in which a folder is searched for them. A file of the last kind has a checkpoint beside it.
var kinds = []func(name string) bool{
	func(name string) bool { return name == "saved_model.pb" || name == "saved_model.pbtxt" },
	func(name string) bool {
		return (strings.HasSuffix(name, ".pb") || strings.HasSuffix(name, ".pbtxt")) && name != "keras_metadata.pb" && name != "fingerprint.pb"
	},
	func(name string) bool { return strings.HasSuffix(name, ".meta") },
}

// inFolder is the model in a folder: a SavedModel, or the only graph in it, or in the folders in it.
func inFolder(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var names, folders []string
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, e.Name())
			continue
		}
		names = append(names, e.Name())
	}
	if found, err := oneOf(dir, names); found != "" || err != nil {
		return found, err
	}
	var inside []string
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if !e.IsDir() {
				inside = append(inside, filepath.Join(folder, e.Name()))
			}
		}
	}
	found, err := oneOf(dir, inside)
	if found == "" && err == nil {
		err = fmt.Errorf("the folder holds no model of TensorFlow: no saved_model.pb, .pb, .pbtxt or .meta")
	}
	return found, err
}

// oneOf is the model among files, by the first kind that one is of; frozen graphs come before SavedModels of other folders.
func oneOf(dir string, names []string) (string, error) {
	for _, kind := range kinds {
		var found []string
		for _, n := range names {
			if kind(filepath.Base(n)) {
				found = append(found, n)
			}
		}
		if len(found) > 1 {
			return "", fmt.Errorf("the folder holds several models (%s): name one of them", strings.Join(found, ", "))
		}
		if len(found) == 1 {
			return filepath.Join(dir, found[0]), nil
		}
	}
	return "", nil
}
