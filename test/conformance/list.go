// Package conformance holds the tests that compare compiled models with the expected outputs of others, and the lists of
// what passes. The tests read the models from the folder LATHE_MODELS.
package conformance

import (
	_ "embed"
	"strings"
)

// Cases is the number of backend cases that come with ONNX, those that are whole networks apart.
const Cases = 1657

// A Case is one of ONNX's backend cases that compiles and computes right at every level.
type Case struct {
	Name string
	// Fixed are the inputs that are constants in the compiled model, since it computes shapes from them: as
	// lathe compile --fix INPUT=test_data_set_0/input_N.pb makes them. Without any, the case passes as it is.
	Fixed []string
}

//go:embed testdata/onnx_passing.txt
var asTheyAre string

//go:embed testdata/onnx_passing_fixed.txt
var withInputsFixed string

// Passing lists the cases that pass. The lists may only grow.
func Passing() []Case {
	var list []Case
	for line := range strings.Lines(asTheyAre) {
		list = append(list, Case{Name: strings.TrimSpace(line)})
	}
	for line := range strings.Lines(withInputsFixed) {
		name, inputs, _ := strings.Cut(strings.TrimSpace(line), " fixed: ")
		list = append(list, Case{name, strings.Split(inputs, ", ")})
	}
	return list
}
