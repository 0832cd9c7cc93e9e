// Package cputest has recorded processors for tests: the code that asks this machine is given their answers.
package cputest

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"lathe/internal/cpu"
)

//go:embed machines.txt
var machines string

// A Recording is what a processor answered.
type Recording struct {
	Name   string
	Leaves map[[2]uint32][4]uint32
	XCR0   uint64
}

// CPUID answers as the processor did.
func (r *Recording) CPUID(leaf, sub uint32) [4]uint32 { return r.Leaves[[2]uint32{leaf, sub}] }

// Machine is the recorded machine with a part of what its system enabled.
func (r *Recording) Machine(mask uint64) *cpu.Machine { return cpu.FromCPUID(r.CPUID, r.XCR0&mask) }

// Masks are what a system may leave off, in bits of XCR0: registers of AVX-512, those of AMX, and all beyond SSE.
var Masks = []struct {
	Name string
	Keep uint64
}{{"", ^uint64(0)}, {"without AVX-512", ^uint64(0xe0)}, {"without AMX", ^uint64(0x60000)}, {"without both", ^uint64(0x600e0)}, {"without AVX", 0x3}}

// Recordings returns the processors in the order of their names. It panics where the file is wrong.
func Recordings() []*Recording {
	var list []*Recording
	for line := range strings.Lines(machines) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if words[0] == "machine" {
			list = append(list, &Recording{Name: words[1], Leaves: map[[2]uint32][4]uint32{}})
			continue
		}
		r := list[len(list)-1]
		if words[0] == "xcr0" {
			r.XCR0 = number(words[1])
			continue
		}
		if len(words) != 6 {
			panic(fmt.Sprintf("machines.txt: %q", line))
		}
		var v [4]uint32
		for i := range v {
			v[i] = uint32(number(words[2+i]))
		}
		r.Leaves[[2]uint32{uint32(number(words[0])), uint32(number(words[1]))}] = v
	}
	for _, r := range list {
		if offered := r.CPUID(0xd, 0); r.XCR0 == 0 {
			r.XCR0 = uint64(offered[0]) | uint64(offered[3])<<32
		}
	}
	return list
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		panic("machines.txt: " + err.Error())
	}
	return n
}
