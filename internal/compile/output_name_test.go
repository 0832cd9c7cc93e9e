package compile

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"lathe/internal/target"
)

// Every name of an output with every format and architecture: what is accepted is what the name says, in either case of
// letters where the companions of a file are found in both, and nothing is accepted for a file of another kind.
func TestFormatFor(t *testing.T) {
	names := map[string][]string{ // formats that write such files
		"net.tar": {"so", "tar"}, "net.so": {"so"}, "net.c": {"c"}, "net.wasm": {"wasm"}, "net": {"so", "tar"}, "resnet-1.5": {"so", "tar"}, "": {"so", "c", "tar", "wasm"}, "-": nil,
		"dir.c/net": {"so", "tar"},
	}
	for ending := range otherFiles {
		names["net"+ending] = nil
	}
	names["net.SO"] = nil
	arches := map[target.Arch][]string{"": {"so", "c", "tar", "wasm"}, target.X86: {"so", "tar"}, target.CSource: {"c"}, target.WASM32: {"wasm"}}
	for file := range names {
		for arch := range arches {
			for _, name := range []string{"", "so", "c", "tar", "wasm"} {
				for _, path := range []string{file, upperEnding(file)} {
					formats := names[path]
					if _, listed := names[path]; !listed {
						formats = names[file]
					}
					var tgt *target.Target
					if arch != "" {
						tgt = &target.Target{Arch: arch}
					}
					got, err := FormatFor(name, tgt, path)
					bad, typed := errors.AsType[*OutputError](err)
					if err != nil && (!typed || bad.File != path || !strings.HasSuffix(bad.Why, ")")) {
						t.Fatalf("%q, %q, %q: %v", path, arch, name, err)
					}
					wanted := name
					if wanted == "" && (arch == target.CSource || arch == target.WASM32) {
						wanted = arches[arch][0]
					}
					possible := formats != nil && (wanted == "" || slices.Contains(formats, wanted))
					if (err == nil) != possible {
						t.Errorf("%q for %q with -f %q: %q, %v", path, arch, name, got, err)
					}
					if err == nil && got != name && !slices.Contains(formats, got) {
						t.Errorf("%q for %q with -f %q: format %q", path, arch, name, got)
					}
					if err == nil && got == "" && file != "" && !slices.Contains(formats, "so") {
						t.Errorf("%q for %q: a shared library", path, arch)
					}
				}
			}
		}
	}
}

func upperEnding(file string) string {
	i := strings.LastIndexByte(file, '.')
	if i < 0 {
		return file
	}
	return file[:i] + strings.ToUpper(file[i:])
}
