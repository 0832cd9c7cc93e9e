package tune

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lathe/internal/records"
	"lathe/internal/tune/trees"
)

// A Prior is what the model knows before the first trial, from records of many kernels. It is part of the program.
type Prior struct {
	Machines []string    `json:"machines"` // that the records are of
	Examples int         `json:"examples"`
	Names    []string    `json:"names"` // of features, by place
	Model    trees.Model `json:"model"`
}

//go:embed prior.json
var priorText []byte

// largestPrior is what a prior may take in the binary.
const largestPrior = 200_000

// embedded is the prior of this program.
func embedded() *Prior {
	p, err := ReadPrior(priorText)
	if err != nil {
		panic(err) // a test reads it
	}
	return p
}

// ReadPrior reads a prior. An empty one has no trees.
func ReadPrior(text []byte) (*Prior, error) {
	p := &Prior{}
	if len(text) > largestPrior {
		return nil, fmt.Errorf("a prior of %d bytes, of which there may be %d", len(text), largestPrior)
	}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, err
	}
	if p.Model.Features > len(p.Names) {
		return nil, errors.New("features without names")
	}
	sorted := slices.Sorted(slices.Values(p.Names))
	if len(slices.Compact(sorted)) != len(p.Names) {
		return nil, errors.New("two features have one name")
	}
	return p, p.Model.Check()
}

// TrainPrior makes a prior of records, each kernel on each machine counting alike, however many trials it had.
func TrainPrior(list []records.Record) (*Prior, error) {
	words := newVocabulary(nil)
	type kernel struct{ key, target, class string }
	count := map[kernel]float64{}
	p := &Prior{}
	var taught []records.Record
	var examples []example
	for _, r := range list {
		if e, ok := words.example(r); ok {
			taught, examples = append(taught, r), append(examples, e)
			count[kernel{r.Kernel, r.Target, r.Class}]++
			p.Machines = append(p.Machines, r.By.Machine)
		}
	}
	if len(examples) == 0 {
		return nil, errors.New("no record tells what building its point told")
	}
	mean := float64(len(examples)) / float64(len(count))
	for i, r := range taught {
		examples[i].weight *= mean / count[kernel{r.Kernel, r.Target, r.Class}]
	}
	slices.Sort(p.Machines)
	p.Machines, p.Examples, p.Names = slices.Compact(p.Machines), len(examples), words.names()
	p.Model = *fit(examples, nil, trees.Options{})
	return p, nil
}

// Text is the prior as it is part of the program: numbers keep the digits that matter.
func (p *Prior) Text() ([]byte, error) {
	for i := range p.Model.Trees {
		t := &p.Model.Trees[i]
		for n := range t.Threshold {
			t.Threshold[n] = short(t.Threshold[n])
		}
		for n := range t.Value {
			t.Value[n] = short(t.Value[n])
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(bytes.ReplaceAll(text, []byte(`{"f":`), []byte("\n"+`{"f":`)), '\n'), nil
}

// short is v with the digits that a float32 has.
func short(v float64) float64 {
	if v < -1e30 {
		return v // below everything
	}
	return float64(float32(v))
}
