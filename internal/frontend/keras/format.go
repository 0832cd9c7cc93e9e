// Package keras reads models of Keras: HDF5 files (.h5) of Keras 1 and 2 and archives (.keras) of Keras 3, with Sequential and
// functional models, models within models, and layers that are called several times. Lambda layers hold Python code, which is
// never run: they are refused.
package keras

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"lathe/internal/container/hdf5"
	"lathe/internal/frontend"
)

// Format is Keras.
var Format = frontend.Format{
	Name: "keras", Doc: "Keras models with weights, .h5 of Keras 1 and 2 and .keras of Keras 3", Extensions: []string{".h5", ".hdf5", ".keras"},
	Identify: func(head []byte, path string) bool {
		_, ok := hdf5.Find(head)
		return ok || isArchive(head)
	},
	Read: func(path string) (*frontend.Model, error) { return frontend.ReadMapped(path, Read) },
}

// isArchive reports whether a file begins like an archive of Keras 3, whose first members are metadata and configuration.
func isArchive(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) && bytes.Contains(head, []byte("config.json")) && bytes.Contains(head, []byte("metadata.json"))
}

// A source is a model's configuration and weights.
type source struct {
	config  []byte
	version string // of Keras
	weights store
}

// Read reads a model. data must stay as it is while the model is in use.
func Read(data []byte) (*frontend.Model, error) {
	var s source
	var err error
	if _, ok := hdf5.Find(data); ok {
		s, err = readHDF5(data)
	} else {
		s, err = readArchive(data)
	}
	if err != nil {
		return nil, fmt.Errorf("keras: %w", err)
	}
	m := &frontend.Model{Format: "keras", Table: table, Files: func() []string { return nil }, Close: func() error { return nil },
		About: frontend.About{Producer: strings.TrimSpace("keras " + s.version)}}
	if m.Graph, err = s.graph(); err != nil {
		return nil, fmt.Errorf("keras: %w", err)
	}
	return m, nil
}

// maxConfig bounds a configuration in JSON, which takes some hundred bytes of memory for each of its own at worst.
const maxConfig = 16 << 20

func readHDF5(data []byte) (s source, err error) {
	f, err := hdf5.Open(data)
	if err != nil {
		return s, err
	}
	root, err := f.Root()
	if err != nil {
		return s, err
	}
	config, ok, err := root.Texts("model_config")
	if err != nil {
		return s, err
	}
	weights, err := root.Find("model_weights")
	if err != nil {
		return s, err
	}
	if !ok || len(config) != 1 {
		if _, is, err := root.Texts("layer_names"); err == nil && is || weights != nil {
			return s, errors.New("the file holds weights only, without a model (save the model with model.save, not model.save_weights)")
		}
		return s, errors.New("the HDF5 file has no attribute model_config: it is no Keras model")
	}
	if weights == nil {
		weights = root
	}
	s.config = []byte(config[0])
	for _, from := range []*hdf5.Object{root, weights} {
		if v, ok, err := from.Texts("keras_version"); err == nil && ok && len(v) == 1 {
			s.version = v[0]
			break
		}
	}
	s.weights = &listed{group: weights}
	return s, nil
}

// readArchive reads a zip of configuration, metadata and weights.
func readArchive(data []byte) (s source, err error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return s, fmt.Errorf("the archive: %w", err)
	}
	if s.config, err = member(z, data, "config.json", maxConfig); err != nil {
		return s, err
	}
	metadata, err := member(z, data, "metadata.json", maxConfig)
	if err != nil {
		return s, err
	}
	var meta struct {
		Version string `json:"keras_version"`
	}
	if err := json.Unmarshal(metadata, &meta); err != nil {
		return s, fmt.Errorf("metadata.json: %w", err)
	}
	s.version = meta.Version
	weights, err := member(z, data, "model.weights.h5", int64(64*len(data)+1<<20))
	if err != nil {
		return s, err
	}
	f, err := hdf5.Open(weights)
	if err != nil {
		return s, fmt.Errorf("model.weights.h5: %w", err)
	}
	root, err := f.Root()
	if err != nil {
		return s, fmt.Errorf("model.weights.h5: %w", err)
	}
	s.weights = &counted{group: root}
	return s, nil
}

// member is a file of the archive: in place where it is stored as it is, as Keras does.
func member(z *zip.Reader, data []byte, name string, most int64) ([]byte, error) {
	for _, f := range z.File {
		if f.Name != name {
			continue
		}
		if f.UncompressedSize64 > uint64(most) {
			return nil, fmt.Errorf("%s: %d bytes, more than %d", name, f.UncompressedSize64, most)
		}
		if f.Method == zip.Store && f.CompressedSize64 == f.UncompressedSize64 {
			at, err := f.DataOffset()
			if err != nil || at < 0 || at > int64(len(data)) || f.CompressedSize64 > uint64(int64(len(data))-at) {
				return nil, fmt.Errorf("%s: beyond the end of the archive: cut short or damaged", name)
			}
			return data[at : at+int64(f.CompressedSize64)], nil
		}
		r, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer r.Close()
		b, err := io.ReadAll(io.LimitReader(r, most+1))
		if err == nil && int64(len(b)) > most {
			err = fmt.Errorf("more than %d bytes", most)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("the archive has no %s: it is no Keras model", name)
}

// major is the first number of a version; 2 where there is none.
func major(version string) int {
	text, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n < 100 {
		return n
	}
	return 2
}
