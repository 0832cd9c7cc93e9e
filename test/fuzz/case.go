// Package fuzz makes random models and damaged real ones, and compares all ways to compile and run them with the operators'
// definitions. It is a tool for tests: every case follows from a number, and a finding is made small.
package fuzz

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	export "lathe/internal/export/onnx"
	"lathe/internal/graph"
	"lathe/internal/testkit/graphtest"
)

// A Case is a model to check.
type Case struct {
	Name string
	File []byte
	Seed uint64 // of the inputs' values
	Data graphtest.Data
}

// A Source makes cases from numbers.
type Source struct {
	Name  string
	Share int // of all cases
	Make  func(r *rand.Rand, s *Sources) ([]byte, graphtest.Data, error)
}

// Sources is what cases are made of.
type Sources struct {
	Corpus []string // model files that are damaged; none: those cases are left out
	list   []Source
	total  int
}

// table lists the sources.
var table = []Source{
	{"network", 2, network}, {"mixed", 8, mixed}, {"special", 3, special}, {"grown", 6, grown}, {"control", 2, control},
	{"loops", 2, loops},
	{"mutant", 6, mutant}, {"bytes", 1, damagedBytes},
}

// NewSources picks the sources by name, all without names.
func NewSources(corpus []string, names ...string) (*Sources, error) {
	s := &Sources{Corpus: corpus}
	known := map[string]bool{}
	for _, src := range table {
		known[src.Name] = true
		wanted := len(names) == 0
		for _, n := range names {
			wanted = wanted || n == src.Name
		}
		if needs := src.Name == "mutant" || src.Name == "bytes"; wanted && (!needs || len(corpus) > 0) {
			s.list = append(s.list, src)
			s.total += src.Share
		}
	}
	for _, n := range names {
		if !known[n] {
			return nil, fmt.Errorf("no source of cases is named %q", n)
		}
	}
	if s.total == 0 {
		return nil, fmt.Errorf("%s: there are no model files to damage (set LATHE_MODELS to the folder of models)", strings.Join(names, ", "))
	}
	return s, nil
}

// Make is case number seed.
func (s *Sources) Make(seed uint64) (*Case, error) {
	r := rand.New(rand.NewPCG(seed, 1))
	k := r.IntN(s.total)
	for _, src := range s.list {
		if k -= src.Share; k < 0 {
			file, data, err := src.Make(r, s)
			return &Case{Name: src.Name, File: file, Seed: seed, Data: data}, err
		}
	}
	panic("fuzz: shares do not add up")
}

func write(g *graph.Graph) ([]byte, error) {
	var b bytes.Buffer
	err := export.Write(&b, g, export.Options{})
	return b.Bytes(), err
}

// network is one of graphtest's small float32 networks.
func network(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	file, err := write(graphtest.New(r))
	return file, graphtest.Moderate, err
}

// mixed is a network of all operators.
func mixed(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	file, err := write(graphtest.Mixed(r))
	return file, graphtest.Moderate, err
}

// loops is a network with loops.
func loops(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	file, err := write(graphtest.Loops(r))
	return file, graphtest.Moderate, err
}

// special is a network of operators that round nowhere, or all in the same way, for numbers at the ends of their types.
func special(r *rand.Rand, _ *Sources) ([]byte, graphtest.Data, error) {
	file, err := write(graphtest.Exact(r))
	return file, graphtest.Special, err
}

// real reads a file of the corpus.
func real(r *rand.Rand, s *Sources) ([]byte, error) {
	return os.ReadFile(s.Corpus[r.IntN(len(s.Corpus))])
}

// mutant is a real file with parts of its structure changed.
func mutant(r *rand.Rand, s *Sources) ([]byte, graphtest.Data, error) {
	file, err := real(r, s)
	if err != nil {
		return nil, 0, err
	}
	m, err := parseMessage(file, modelKind)
	if err != nil {
		return nil, 0, err
	}
	mutate(r, m)
	return m.encode(), graphtest.Moderate, nil
}

// damagedBytes is a real file with some bytes changed.
func damagedBytes(r *rand.Rand, s *Sources) ([]byte, graphtest.Data, error) {
	file, err := real(r, s)
	for range 1 + r.IntN(6) {
		if len(file) == 0 {
			break
		}
		at := r.IntN(len(file))
		switch r.IntN(5) {
		case 0:
			file[at] ^= 1 << r.IntN(8)
		case 1:
			file[at] = byte(r.Uint32())
		case 2:
			file = file[:at]
		case 3:
			end := min(len(file), at+1+r.IntN(40))
			file = append(file[:at:at], file[end:]...)
		case 4:
			end := min(len(file), at+1+r.IntN(40))
			file = append(file[:end:end], file[at:]...)
		}
	}
	return file, graphtest.Moderate, err
}
