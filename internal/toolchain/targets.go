package toolchain

import (
	"fmt"
	"slices"
	"strings"
)

// triples are the usual spellings, named in errors about unknown ones.
var triples = []string{
	"aarch64-linux-gnu", "amdgcn-amd-amdhsa", "armv7-linux-gnueabihf", "i686-linux-gnu", "nvptx64-nvidia-cuda",
	"riscv64-linux-gnu", "spirv64-unknown-unknown", "wasm32-unknown-unknown", "x86_64-linux-gnu",
}

// Version returns the version of the LLVM library in use, such as "22.1.8".
func Version() string { return llvmVersion() }

// HostTriple returns the triple LLVM was built to default to, which is this machine's.
func HostTriple() string { return hostTriple() }

// CPUs lists the CPU names LLVM knows for a triple, sorted; none if the triple is unknown.
func CPUs(triple string) []string { return list(triple, listCPUs) }

// Features lists the feature names LLVM knows for a triple, sorted and without sign; none if the triple is unknown.
func Features(triple string) []string { return list(triple, listFeatures) }

// FeaturesOf lists the instruction set features that a CPU name implies, sorted and without sign.
func FeaturesOf(triple, cpu string) ([]string, error) { return resolve(triple, cpu, nil) }

// resolve checks the three parts of a target's name and returns the features which code for it may use.
func resolve(triple, cpu string, changes []string) ([]string, error) {
	if reason := checkTriple(triple); reason != "" {
		return nil, fmt.Errorf("unknown target triple %q: %s%s", triple, reason, near(triple, triples))
	}
	if known := CPUs(triple); cpu != "" && !slices.Contains(known, cpu) {
		return nil, fmt.Errorf("unknown CPU %q for %s%s", cpu, triple, near(cpu, known))
	}
	known := Features(triple)
	for _, f := range changes {
		name := strings.TrimLeft(f, "+-")
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("unknown CPU feature %q for %s%s", name, triple, near(name, known))
		}
		if len(f) != len(name)+1 {
			return nil, fmt.Errorf("CPU feature %q: write \"+%s\" to add it or \"-%s\" to remove it", f, name, name)
		}
	}
	return enabled(triple, cpu, strings.Join(changes, ",")), nil
}

// near returns "; near it: a, b" with up to four of the known names that resemble name, best first, or "".
func near(name string, known []string) string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	for _, k := range known {
		d := distance(name, k)
		if strings.HasPrefix(k, name) || strings.HasPrefix(name, k) {
			d = min(d, 3) // a family name, or a name with one part too many; a typing error is nearer
		}
		if d <= max(3, len(name)/2) {
			found = append(found, scored{k, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.d - b.d })
	if len(found) == 0 {
		return ""
	}
	names := make([]string, min(len(found), 4))
	for i := range names {
		names[i] = found[i].name
	}
	return "; near it: " + strings.Join(names, ", ")
}

// distance is the number of single-byte insertions, deletions and replacements between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
