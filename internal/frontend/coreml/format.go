// Package coreml reads models of Core ML (.mlmodel): neural networks, classifiers and regressors.
package coreml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// Format is Core ML.
var Format = frontend.Format{
	Name: "coreml", Doc: "Core ML neural networks (.mlmodel)", Extensions: []string{".mlmodel"},
	Identify: identify,
	Read: func(path string) (*frontend.Model, error) {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			path = packaged(path)
		}
		return frontend.ReadMapped(path, Read)
	},
}

// packaged is the file of the model in an .mlpackage folder.
func packaged(dir string) string {
	return filepath.Join(dir, "Data", "com.apple.CoreML", "model.mlmodel")
}

// identify knows a Model message (Model.proto) by its first two fields: a small version, and a description that begins with that of an input.
func identify(head []byte, path string) bool {
	if head == nil {
		_, err := os.Stat(packaged(path))
		return err == nil
	}
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 || num != 1 || typ != protowire.VarintType {
		return false
	}
	version, m := protowire.ConsumeVarint(head[n:])
	if m < 0 || version < 1 || version > 64 {
		return false
	}
	head = head[n+m:]
	if num, typ, n = protowire.ConsumeTag(head); n < 0 || num != 2 || typ != protowire.BytesType {
		return false
	}
	_, size := protowire.ConsumeVarint(head[n:])
	if size < 0 {
		return false
	}
	head = head[n+size:]
	if num, typ, n = protowire.ConsumeTag(head); n < 0 || num != 1 || typ != protowire.BytesType {
		return false
	}
	if _, size = protowire.ConsumeVarint(head[n:]); size < 0 {
		return false
	}
	num, typ, n = protowire.ConsumeTag(head[n+size:]) // the input's name
	return n > 0 && num == 1 && typ == protowire.BytesType
}

// others are the kinds of models that are no networks (Model.proto).
var others = map[int]string{200: "a pipeline of models", 201: "a pipeline of models", 202: "a pipeline of models", 300: "a linear model", 301: "a support vector machine", 302: "an ensemble of trees",
	400: "a linear model", 401: "a support vector machine", 402: "an ensemble of trees", 404: "nearest neighbours", 500 + 2: "an ML program", 555: "a custom model", 560: "a linked model", 600: "a one-hot encoder",
	601: "an imputer", 602: "a feature vectorizer", 603: "a dictionary vectorizer", 604: "a scaler", 606: "categories", 607: "a normalizer", 609: "an array of features", 610: "non-maximum suppression", 900: "an identity"}

// Kinds of networks.
const (
	network    = 500
	classifier = 403
	regressor  = 303
)

// Read makes a model of a file, which it keeps.
func Read(data []byte) (*frontend.Model, error) {
	m, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("coreml: %w", err)
	}
	return m, nil
}

func read(data []byte) (*frontend.Model, error) {
	var about description
	var net []byte
	version, other := int64(0), ""
	err := wire.Each(data, func(f wire.Field) error {
		switch f.Number {
		case 1:
			version = f.Int()
		case 2:
			return about.read(f.Data)
		case network, classifier, regressor:
			net = f.Data
		default:
			if kind := others[f.Number]; kind != "" && other == "" {
				other = kind
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if net == nil {
		if other != "" {
			return nil, fmt.Errorf("the model is %s, which is not supported: only neural networks are (convert an ML program from its origin to ONNX)", other)
		}
		return nil, errors.New("the file holds no model")
	}
	g, err := graphOf(net, &about)
	if err != nil {
		return nil, err
	}
	return &frontend.Model{Format: "coreml", Graph: g, Table: table, Files: func() []string { return nil }, Close: func() error { return nil },
		About: frontend.About{Form: fmt.Sprintf("Core ML %d", version), Producer: "coreml"}}, nil
}
