// Package mxnet reads models of Apache MXNet: a graph in JSON, PREFIX-symbol.json, with weights in PREFIX-NNNN.params.
package mxnet

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lathe/internal/frontend"
)

// Format is MXNet.
var Format = frontend.Format{
	Name: "mxnet", Doc: "MXNet symbols (PREFIX-symbol.json) with the newest PREFIX-NNNN.params beside them", Extensions: []string{".json"}, Companions: []string{".params"},
	Identify: func(head []byte, _ string) bool {
		head = bytes.TrimLeft(head, " \t\r\n")
		return bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"nodes"`)) && bytes.Contains(head, []byte(`"op"`))
	},
	ReadWith: func(path string, w frontend.Weights) (*frontend.Model, error) {
		return frontend.ReadWithWeights(path, w, paramsOf, Read)
	},
}

var numbered = regexp.MustCompile(`^-[0-9]+\.params$`)

// paramsOf finds the weights of a symbol: of files with its prefix, the one with the greatest number.
func paramsOf(path string) (string, error) {
	dir, prefix := filepath.Dir(path), strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".json"), "-symbol")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var found []string
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), prefix); ok && (numbered.MatchString(rest) || rest == ".params") {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return "", frontend.NoWeights("there is no file %s-NNNN.params beside it", prefix)
	}
	return filepath.Join(dir, slices.Max(found)), nil
}
