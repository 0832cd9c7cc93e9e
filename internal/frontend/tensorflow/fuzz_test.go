package tensorflow

import (
	"errors"
	"testing"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
)

// FuzzGraph reads graphs in both forms and imports them.
func FuzzGraph(f *testing.F) {
	for _, t := range []string{loopText("limit"), choiceText("is"), text(input("x", 1, 2), def("y", "Relu", "x"))} {
		f.Add([]byte(t))
		if b, err := binaryForm([]byte(t), graphSchema); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := Read(data); err == nil {
			frontend.Import(m, frontend.Options{})
		}
	})
}

// FuzzSaved reads SavedModels, with a checkpoint that nobody maps.
func FuzzSaved(f *testing.F) {
	index, data := checkpoint([]string{"variables/0", "variables/1"}, [][]float32{{10, 20}, {2, 3}})
	if b, err := binaryForm([]byte(savedText), savedSchema); err == nil {
		f.Add(b, index, data)
	}
	f.Add([]byte(savedText), index, data)
	f.Fuzz(func(t *testing.T, model, index, data []byte) {
		binary, err := binaryForm(model, savedSchema)
		if err != nil {
			return
		}
		wire.Each(binary, func(x wire.Field) error {
			if x.Number != 2 {
				return nil
			}
			meta, err := readMetaGraph(x.Data)
			if err != nil {
				return err
			}
			g, err := readGraph(meta.graph)
			if err != nil {
				return err
			}
			b := newBuilder(g)
			ck, err := readBundle(index, func(int, int) ([]byte, error) { return data, nil })
			if err == nil {
				err = b.assign(ck)
			}
			if err != nil {
				return err
			}
			s, _ := meta.signature()
			if m, err := b.model(s); err == nil {
				frontend.Import(m, frontend.Options{})
			}
			return nil
		})
	})
}

// FuzzBundle reads indices of checkpoints, and every tensor that they list.
func FuzzBundle(f *testing.F) {
	index, data := checkpoint([]string{"a", "b"}, [][]float32{{10, 20}, {2, 3}})
	f.Add(index, data)
	f.Fuzz(func(t *testing.T, index, data []byte) {
		b, err := readBundle(index, func(shard, shards int) ([]byte, error) {
			if shard >= shards {
				return nil, errors.New("no such file")
			}
			return data, nil
		})
		if err != nil {
			return
		}
		for name := range b.entries {
			if c, err := b.tensor(name); err == nil && len(c.content) > len(data) {
				t.Errorf("%q: %d bytes of %d", name, len(c.content), len(data))
			}
		}
	})
}
