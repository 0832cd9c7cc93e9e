// Package lathe compiles trained models into packages that run without a framework.
//
//	m, err := lathe.Load("resnet50.onnx", lathe.LoadOptions{})
//	...
//	p, err := lathe.Compile(ctx, m, lathe.CompileOptions{Target: "llvm", OptLevel: 3})
//	...
//	err = p.Save("resnet50.tar")
//
// The package lathe/runtime runs what Save wrote.
package lathe

import (
	"context"
	"errors"
)

var errNotBuilt = errors.New("not built yet")

// Model is an imported model.
type Model struct{}

// Load reads a model file.
func Load(path string, o LoadOptions) (*Model, error) { return nil, errNotBuilt }

// Inputs returns the model's inputs in order.
func (m *Model) Inputs() []Tensor { return nil }

// Outputs returns the model's outputs in order.
func (m *Model) Outputs() []Tensor { return nil }

// Operators counts the operators of the model file by name, sorted by name, and tells which Lathe supports.
func (m *Model) Operators() []OpCount { return nil }

// Parameters counts the model's constant tensors and their elements.
func (m *Model) Parameters() (tensors int, elements int64) { return 0, 0 }

// Package is a compiled model.
type Package struct{}

// Compile compiles a model for one target.
func Compile(ctx context.Context, m *Model, o CompileOptions) (*Package, error) {
	return nil, errNotBuilt
}

// Save writes the package: the triple NAME.so, NAME.json, NAME.params when path ends in ".so", else a tar. Nothing
// half-written is left behind.
func (p *Package) Save(path string) error { return errNotBuilt }

// Code returns the generated code in one of the formats asked for with CompileOptions.DumpCode.
func (p *Package) Code(format string) (string, bool) { return "", false }

// Verify compiles the model and compares its tensors with the built-in reference evaluation.
func Verify(ctx context.Context, m *Model, o VerifyOptions) (*VerifyReport, error) {
	return nil, errNotBuilt
}

// Passes lists the compiler's passes in the order they run.
func Passes() []PassInfo { return nil }

// Operators lists the operators of the graph level by name.
func Operators() []OpInfo { return nil }

// Version returns the version of Lathe and of its LLVM.
func Version() string { return "lathe (development)" }
