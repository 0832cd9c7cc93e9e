package target

import (
	"fmt"

	"lathe/internal/tool/spelling"
)

// A Preset is a whole target by name.
type Preset struct{ Name, Target, Doc string }

// presets are boards, servers and levels of instruction sets; tags of TVM's registry and boards of its arm_cpu function
// follow.
var presets = []Preset{
	{"x86-64", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64", "any x86-64"},
	{"x86-64-v2", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2", "with SSE4.2: since about 2009"},
	{"x86-64-v3", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3", "with AVX2 and FMA: since about 2015"},
	{"x86-64-v4", "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4", "with AVX-512"},
	{"icelake-server", "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server", "Intel Xeon of the 3rd generation"},
	{"sapphirerapids", "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids", "Intel Xeon of the 4th generation"},
	{"zen3", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver3", "AMD Ryzen 5000, EPYC 7003"},
	{"zen4", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4", "AMD Ryzen 7000, EPYC 9004"},
	{"zen5", "llvm -mtriple=x86_64-linux-gnu -mcpu=znver5", "AMD Ryzen 9000, EPYC 9005"},
	{"graviton2", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "AWS C6g, M6g, R6g; Ampere Altra"},
	{"graviton3", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", "AWS C7g, M7g, R7g"},
	{"graviton4", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2", "AWS R8g"},
	{"raspberry-pi-2", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7 -num-cores=4", "32 bits"},
	{"raspberry-pi-3", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53 -num-cores=4", "64-bit system"},
	{"raspberry-pi-4", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4", "64-bit system"},
	{"raspberry-pi-5", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -num-cores=4", "dot products"},
	{"jetson-nano", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a57 -num-cores=4", "the processor, not the GPU"},
	{"jetson-orin", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a78 -num-cores=8", "the processor, not the GPU"},
	{"rock-5b", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a76 -num-cores=4", "Rockchip RK3588: the four large cores"},
	{"apple-m1-linux", "llvm -mtriple=aarch64-linux-gnu -mcpu=apple-a14 -num-cores=4", "under Linux"},
	{"beaglebone-black", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a8 -num-cores=1", "TI AM335x"},
	{"visionfive2", "llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-u74 -num-cores=4", "no vectors"},
	{"bananapi-f3", "llvm -mtriple=riscv64-linux-gnu -mcpu=spacemit-x60 -num-cores=8", "SpacemiT K1: vectors of 256 bits"},

	{"raspberry-pi/4b-aarch64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4", "TVM's tag"},
	{"aws/cpu/c5.large", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=1", "TVM's tag"},
	{"aws/cpu/c5.xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=2", "TVM's tag"},
	{"aws/cpu/c5.2xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=4", "TVM's tag"},
	{"aws/cpu/c5.4xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=8", "TVM's tag"},
	{"aws/cpu/c5.9xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=18", "TVM's tag"},
	{"aws/cpu/c5.12xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake -num-cores=24", "TVM's tag"},
	{"aws/cpu/c5.18xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx512 -num-cores=36", "TVM's tag"},
	{"aws/cpu/c5.24xlarge", "llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake -num-cores=48", "TVM's tag"},
	{"rasp3b", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a53 -num-cores=4", "TVM's arm_cpu"},
	{"rasp4b", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a72 -num-cores=4", "TVM's arm_cpu"},
	{"rasp4b64", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=4", "TVM's arm_cpu"},
	{"rk3399", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=6", "TVM's arm_cpu"},
	{"ultra96", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a53 -num-cores=4", "TVM's arm_cpu"},
	{"pynq", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a9 -num-cores=2", "TVM's arm_cpu"},
	{"beagleai", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a15 -num-cores=2", "TVM's arm_cpu"},
	{"wasm32", "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128 -num-cores=1", "WebAssembly with vectors of 128 bits"},
	{"stm32mp1", "llvm -mtriple=armv7-linux-gnueabihf -mcpu=cortex-a7 -num-cores=2", "TVM's arm_cpu"},
}

// Presets lists the whole targets that have names.
func Presets() []Preset { return presets }

func presetNames() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.Name)
	}
	return names
}

func preset(name string) (string, bool) {
	for _, p := range presets {
		if p.Name == name {
			return p.Target, true
		}
	}
	return "", false
}

func unknownPreset(name string) error {
	return fmt.Errorf("unknown target tag %q%s", name, spelling.Hint(name, presetNames()))
}

// OfCPU is the target of a CPU under the usual system of its architecture.
func OfCPU(a Arch, cpu string) (*Target, error) {
	spec := &Spec{Kind: "llvm", Options: []Option{{"mtriple", isaOf(a).Triple}, {"mcpu", cpu}}}
	return spec.Resolve(nil)
}

// Vectors says in a few words what the code generator uses for vectors.
func (t *Target) Vectors() string {
	s := fmt.Sprintf("%d bits", t.VectorBits)
	if t.ISA().Vectors(t.asked).Scalars {
		s = "none"
	}
	if t.HasFMA {
		s += ", fused"
	}
	if t.HasDot {
		s += ", dots"
	}
	if t.Tiles() != nil {
		s += ", matrices"
	}
	return s
}
