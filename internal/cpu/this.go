package cpu

import (
	"fmt"
	"os"
	"sync"
)

// Variable is the environment variable that takes features away from this machine, for the compiler and the Go runtime:
// LATHE_CPU=-avx512f,-amx-tile.
const Variable = "LATHE_CPU"

// asked is this machine as it says itself. CPUID may take its time in a virtual machine.
var asked = sync.OnceValue(ask)

// This is the machine that the program runs on.
func This() (*Machine, error) {
	less := os.Getenv(Variable)
	m, err := asked().Without(less)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	if less != "" {
		m.Name += ", " + Variable + "=" + less
	}
	return m, nil
}
