// Package caffe reads models of Caffe: the network in a .prototxt, whose weights are in a .caffemodel or .caffemodel.h5 beside it.
package caffe

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"lathe/internal/frontend"
)

// Format is Caffe.
var Format = frontend.Format{
	Name: "caffe", Doc: "Caffe networks (.prototxt) with the .caffemodel or .caffemodel.h5 beside them", Extensions: []string{".prototxt"}, Companions: []string{".caffemodel", ".caffemodel.h5"},
	Identify: func(head []byte, _ string) bool { return begins.Match(bytes.TrimPrefix(head, []byte("\ufeff"))) },
	ReadWith: func(path string, w frontend.Weights) (*frontend.Model, error) {
		return frontend.ReadWithWeights(path, w, weightsOf, Read)
	},
}

// begins is how a network in text begins: comments, and one of its fields.
var begins = regexp.MustCompile(`^(\s*(#[^\n]*\n)?)*(name\s*:\s*["']|layers?\s*:?\s*\{|input\s*:\s*["'])`)

// weightsOf finds the weights of a network: the only file of weights in its folder, or the only one that begins with its name.
func weightsOf(path string) (string, error) {
	dir, stem := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var all, own []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".caffemodel") || strings.HasSuffix(name, ".caffemodel.h5") {
			all = append(all, name)
			if strings.HasPrefix(name, stem) {
				own = append(own, name)
			}
			if strings.HasPrefix(name, stem+".caffemodel") {
				return filepath.Join(dir, name), nil
			}
		}
	}
	switch {
	case len(own) == 1:
		return filepath.Join(dir, own[0]), nil
	case len(all) == 1:
		return filepath.Join(dir, all[0]), nil
	case len(all) == 0:
		return "", frontend.NoWeights("there is no file %s.caffemodel beside it", stem)
	}
	return "", frontend.NoWeights("which of %d .caffemodel files beside it holds them is not clear, as none is named %s.caffemodel", len(all), stem)
}
