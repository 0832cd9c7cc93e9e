// Package runtime opens a package that lathe compile wrote and runs the model in it.
//
//	m, err := runtime.Open("model.tar")
//	...
//	defer m.Close()
//	err = m.SetInput("data", picture)
//	err = m.Run()
//	out, err := m.Output(0)
//
// The package file is mapped, not read: weights are used where they lie. Several modules may run in one process and at
// the same time; one module runs once at a time. A package holds machine code that runs with the caller's rights: open
// only packages you trust.
//
// The runtime needs linux on amd64, arm64 or riscv64. It contains no compiler and no operator, and it builds with
// CGO_ENABLED=0.
package runtime
