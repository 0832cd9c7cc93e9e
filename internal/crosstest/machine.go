// Package crosstest runs compiled libraries of other architectures under qemu-user. It is for tests only.
package crosstest

import (
	"fmt"
	"os"
	"os/exec"

	"lathe/internal/target"
)

// A machine is how programs of an architecture are built and run here.
type machine struct {
	compiler, emulator, sysroot string
	packages                    string // Debian's, that hold them
}

var machines = map[target.Arch]machine{
	target.AArch64: {"aarch64-linux-gnu-gcc", "qemu-aarch64-static", "/usr/aarch64-linux-gnu", "gcc-aarch64-linux-gnu qemu-user-static"},
	target.ARM:     {"arm-linux-gnueabihf-gcc", "qemu-arm-static", "/usr/arm-linux-gnueabihf", "gcc-arm-linux-gnueabihf qemu-user-static"},
	target.RISCV64: {"riscv64-linux-gnu-gcc", "qemu-riscv64-static", "/usr/riscv64-linux-gnu", "gcc-riscv64-linux-gnu qemu-user-static"},
}

// Missing says what running code for an architecture needs and this machine lacks; nil where nothing is.
func Missing(a target.Arch) error {
	m, ok := machines[a]
	if !ok {
		return fmt.Errorf("no emulator for %s", a)
	}
	for _, tool := range []string{m.compiler, m.emulator} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing (apt-get install %s)", tool, m.packages)
		}
	}
	if _, err := os.Stat(m.sysroot); err != nil {
		return fmt.Errorf("%s is missing (apt-get install %s)", m.sysroot, m.packages)
	}
	return nil
}

// emulated are the CPUs that qemu knows by LLVM's name: an instruction that they lack ends the program, as on the real ones.
var emulated = map[target.Arch][]string{
	target.AArch64: {"a64fx", "cortex-a53", "cortex-a57", "cortex-a72", "cortex-a76", "neoverse-n1"},
	target.ARM:     {"cortex-a15", "cortex-a7", "cortex-a8", "cortex-a9"},
}

// processor is qemu's name of the plainest processor that has all of t's features.
func processor(t *target.Target) string {
	for _, name := range emulated[t.Arch] {
		if name == t.CPU {
			return name
		}
	}
	if t.Arch != target.RISCV64 {
		return "max"
	}
	p := "rv64"
	for _, f := range []string{"zba", "zbb", "zbc", "zbs"} {
		p += fmt.Sprintf(",%s=%t", f, t.Has(f))
	}
	if t.Has("zfh") || t.Has("zfhmin") {
		p += ",Zfh=true"
	}
	if t.Has("v") {
		p += fmt.Sprintf(",v=true,vlen=%d,vext_spec=v1.0", t.VectorBits)
	}
	return p
}
