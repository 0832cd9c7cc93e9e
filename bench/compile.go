package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"lathe"
	"lathe/bench/process"
)

// compileCommand makes this program compile one model and end: in a process of its own, so that its memory can be told.
const compileCommand = "compile"

// compileCost is what a compilation took.
type compileCost struct {
	Seconds float64 `json:"seconds"` // reading the model to the package on disk
	PeakMB  float64 `json:"peak_mb"` // resident memory
}

// compilePackage compiles model to pack in a child.
func compilePackage(ctx context.Context, s *settings, model, pack string) (compileCost, error) {
	var cost compileCost
	self, err := os.Executable()
	if err != nil {
		return cost, err
	}
	err = runChild(ctx, &cost, self, compileCommand, s.target, strconv.Itoa(s.level), model, pack)
	return cost, err
}

// runChild runs a command that prints one JSON value and ends. It ends the command with ctx.
func runChild(ctx context.Context, result any, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return fmt.Errorf("took longer than allowed: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return json.Unmarshal(out, result)
}

// compileChild is the child of compilePackage.
func compileChild(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: bench %s TARGET LEVEL MODEL PACKAGE", compileCommand)
	}
	start := time.Now()
	m, err := lathe.Load(args[2], lathe.LoadOptions{})
	if err != nil {
		return err
	}
	p, err := lathe.Compile(context.Background(), m, lathe.CompileOptions{Target: args[0], OptLevel: lathe.OptLevel(args[1])})
	if err != nil {
		return err
	}
	if err := p.Save(args[3]); err != nil {
		return err
	}
	cost := compileCost{Seconds: time.Since(start).Seconds()}
	memory, err := process.PeakMemory()
	if err != nil {
		return err
	}
	cost.PeakMB = float64(memory) / 1e6
	return json.NewEncoder(os.Stdout).Encode(cost)
}
