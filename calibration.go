package lathe

import (
	"errors"
	"fmt"

	"lathe/internal/dataset"
	"lathe/internal/tensor"
	"lathe/internal/tool/picture"
	"lathe/internal/types"
)

// defaultSamples is the number of samples to calibrate with.
const defaultSamples = 128

// defaultPreset is how pictures become inputs where nothing says it.
const defaultPreset = "unit"

// mostCached bounds the bytes of samples that are kept in memory as inputs.
const mostCached = 1 << 28

// samples are those of a data set as inputs of a model.
type samples struct {
	set      *dataset.Set
	at       []int // of the set
	inputs   []dataset.Input
	settings picture.Settings
	cache    [][]*tensor.Tensor // nil where a sample has not been read
	room     int
}

// samples opens n samples of a data set, spread evenly over it; 0: all of them.
func (m *Model) samples(path, labels string, n int, o QuantizeOptions) (*samples, error) {
	if path == "" {
		return nil, errors.New("no samples to calibrate with are named")
	}
	set, err := dataset.Open(path, dataset.Options{Labels: labels, Offset: o.LabelOffset})
	if err != nil {
		return nil, err
	}
	if o.Pictures == (picture.Settings{}) {
		o.Pictures, _ = picture.FindPreset(defaultPreset)
	}
	if n <= 0 || n > len(set.Samples) {
		n = len(set.Samples)
	}
	s := &samples{set: set, settings: o.Pictures, cache: make([][]*tensor.Tensor, n), room: mostCached}
	for i := range n {
		s.at = append(s.at, i*len(set.Samples)/n)
	}
	meanings, _ := m.meanings()
	for _, in := range m.Inputs() {
		said := meanings[in.Name]
		s.inputs = append(s.inputs, dataset.Input{Name: in.Name, DType: in.DType, Shape: in.Shape, Scale: said.Scale, Zero: said.Zero, Mean: said.Mean, Std: said.Std, Raw: o.Raw})
	}
	if _, err := s.At(0); err != nil {
		return nil, err
	}
	return s, nil
}

// classes are those of the samples, -1 where one is not known.
func (s *samples) classes() []int {
	var list []int
	for _, i := range s.at {
		list = append(list, s.set.Samples[i].Class)
	}
	return list
}

// Len is the number of samples.
func (s *samples) Len() int { return len(s.at) }

// At makes a sample the inputs of the model.
func (s *samples) At(i int) ([]*tensor.Tensor, error) {
	if s.cache[i] != nil {
		return s.cache[i], nil
	}
	v, err := s.set.Read(s.at[i])
	if err != nil {
		return nil, err
	}
	var list []*tensor.Tensor
	bytes := 0
	for _, in := range s.inputs {
		data, err := v.Fill(in, s.settings)
		if err != nil {
			return nil, fmt.Errorf("sample %s: %w", s.set.Samples[s.at[i]].Name, err)
		}
		d, err := types.ParseDType(in.DType)
		if err != nil {
			return nil, err
		}
		t, err := tensor.Wrap(d, in.Shape, data)
		if err != nil {
			return nil, fmt.Errorf("sample %s: %w", s.set.Samples[s.at[i]].Name, err)
		}
		list, bytes = append(list, t), bytes+len(data)
	}
	if s.room >= bytes {
		s.room -= bytes
		s.cache[i] = list
	}
	return list, nil
}
