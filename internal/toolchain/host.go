package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"lathe/internal/cpu"
	"lathe/internal/target"
)

// Host is this machine, with what was measured of it and kept.
func Host() (target.Host, error) {
	h, err := Processor()
	if err == nil {
		h.Measured, err = measured(MeasuredPath())
	}
	return h, err
}

// Processor is this machine as it describes itself: its processor says what it has, and LLVM knows how the system is called.
func Processor() (target.Host, error) {
	m, err := cpu.This()
	if err != nil {
		return target.Host{}, err
	}
	return target.Host{Triple: HostTriple(), Machine: m, Cores: runtime.NumCPU()}, nil
}

// MeasuredPath is the file of the numbers that were measured of this machine and kept: $LATHE_MACHINE, else machine.json in
// lathe's folder among the user's configurations. It is "" where a user has none, or LATHE_MACHINE is empty.
func MeasuredPath() string {
	if path, ok := os.LookupEnv("LATHE_MACHINE"); ok {
		return path
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "lathe", "machine.json")
}

// measured reads such a file, where there is one.
func measured(path string) (*target.Measured, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := target.ReadMeasured(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (measure again with: lathe machine --save)", path, err)
	}
	return m, nil
}

// Native returns this machine as a target.
func Native() (*target.Target, error) {
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	return spec.Resolve(Host)
}

// For returns the options to compile for a target: LLVM has on what the target's code may contain and nothing else, whatever
// it thinks of the CPU's name.
func For(t *target.Target) Options {
	return Options{Triple: t.Triple, CPU: t.CPU, Features: t.LLVMFeatures(), Only: t.MayUse, OptLevel: t.OptLevel}
}
