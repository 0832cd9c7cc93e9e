package tensorflow

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// A metaGraph is a MetaGraphDef (meta_graph.proto).
type metaGraph struct {
	graph      []byte
	version    string // of TensorFlow
	tags       []string
	signatures []*signature
}

// serving is the signature that is taken where there are several, and the tag of the graph for it.
const (
	serving = "serving_default"
	serve   = "serve"
)

// readSaved makes the model of a SavedModel (saved_model.proto), whose checkpoint is in the folder variables.
func readSaved(f *files, data []byte) (*frontend.Model, error) {
	data, err := binaryForm(data, savedSchema)
	if err != nil {
		return nil, err
	}
	var metas []*metaGraph
	if err = wire.Read(data, wire.Fields{2: wire.Messages(&metas, readMetaGraph)}); err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	if len(metas) == 0 {
		return nil, errors.New("tensorflow: a SavedModel without graphs")
	}
	meta := metas[0]
	if i := slices.IndexFunc(metas, func(m *metaGraph) bool { return slices.Equal(m.tags, []string{serve}) }); i >= 0 {
		meta = metas[i]
	}
	m, err := meta.model(f, filepath.Join("variables", "variables"))
	if err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	m.About.Form = "TensorFlow SavedModel"
	return m, nil
}

// readMeta makes the model of a meta graph, whose checkpoint lies beside it.
func readMeta(f *files, prefix string, data []byte) (*frontend.Model, error) {
	data, err := binaryForm(data, metaSchema)
	if err != nil {
		return nil, err
	}
	meta, err := readMetaGraph(data)
	if err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	m, err := meta.model(f, prefix)
	if err != nil {
		return nil, fmt.Errorf("tensorflow: %w", err)
	}
	m.About.Form = "TensorFlow meta graph"
	return m, nil
}

func readMetaGraph(msg []byte) (*metaGraph, error) {
	m := &metaGraph{}
	err := wire.Read(msg, wire.Fields{
		1: wire.Message(wire.Fields{4: wire.Texts(&m.tags), 5: wire.Text(&m.version)}),
		2: wire.Bytes(&m.graph),
		5: wire.Messages(&m.signatures, func(msg []byte) (*signature, error) {
			var key string
			var value []byte
			if err := wire.Read(msg, wire.Fields{1: wire.Text(&key), 2: wire.Bytes(&value)}); err != nil {
				return nil, err
			}
			return readSignature(key, value)
		}),
	})
	slices.SortFunc(m.signatures, func(a, b *signature) int { return strings.Compare(a.name, b.name) })
	return m, err
}

// signature is the one to take: serving_default, or the first one with outputs that is not there to initialise.
func (m *metaGraph) signature() (s *signature, others []string) {
	for _, x := range m.signatures {
		if strings.HasPrefix(x.name, "__saved_model_") || len(x.outputs) == 0 {
			continue
		}
		if s == nil || x.name == serving {
			s = x
		}
		others = append(others, x.name)
	}
	return s, others
}

// model makes the model, with variables from the checkpoint of a prefix.
func (m *metaGraph) model(f *files, prefix string) (*frontend.Model, error) {
	g, err := readGraph(m.graph)
	if err != nil {
		return nil, err
	}
	b := newBuilder(g)
	if err := b.restore(f, prefix); err != nil {
		return nil, err
	}
	s, names := m.signature()
	out, err := b.model(s)
	if err != nil {
		return nil, err
	}
	if m.version != "" {
		out.About.Producer = "tensorflow " + m.version
	}
	if len(names) > 1 {
		out.Notes = append(out.Notes, fmt.Sprintf("signature %q is taken, of %s", s.name, strings.Join(names, ", ")))
	}
	return out, nil
}
