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
	err = wire.Each(data, func(x wire.Field) error {
		if x.Number != 2 {
			return nil
		}
		m, err := readMetaGraph(x.Data)
		metas = append(metas, m)
		return err
	})
	if err != nil {
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
	err := wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			return wire.Each(x.Data, func(x wire.Field) error {
				switch x.Number {
				case 4:
					m.tags = append(m.tags, string(x.Data))
				case 5:
					m.version = string(x.Data)
				}
				return nil
			})
		case 2:
			m.graph = x.Data
		case 5:
			var key string
			var value []byte
			err := wire.Each(x.Data, func(x wire.Field) error {
				switch x.Number {
				case 1:
					key = string(x.Data)
				case 2:
					value = x.Data
				}
				return nil
			})
			if err != nil {
				return err
			}
			s, err := readSignature(key, value)
			m.signatures = append(m.signatures, s)
			return err
		}
		return nil
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
