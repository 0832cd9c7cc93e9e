package toolchain

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
)

// LinkOptions describe a shared object.
type LinkOptions struct {
	Soname  string   // DT_SONAME; none if empty
	Exports []string // the dynamic symbols; everything else is local
	Triple  string   // target of all objects; empty is this machine's
	// Compress names sections that only the file holds; they are stored compressed with zlib.
	Compress []string
}

// emulations are lld's names of the ELF flavours by the triple's architecture.
var emulations = []struct{ arch, name string }{
	{"x86_64", "elf_x86_64"},
	{"aarch64", "aarch64linux"},
	{"riscv64", "elf64lriscv"},
	{"riscv32", "elf32lriscv"},
	{"armv", "armelf_linux_eabi"},
	{"thumbv", "armelf_linux_eabi"},
	{"arm-", "armelf_linux_eabi"},
	{"i386", "elf_i386"},
	{"i686", "elf_i386"},
}

// Link makes one shared object of the given objects. It exports o.Exports and nothing else, and imports nothing: an
// undefined symbol, such as a libc function LLVM found useful, is an error, as is an export nobody defines. The bytes
// depend on the arguments only.
func Link(objs []Object, o LinkOptions) ([]byte, error) {
	if o.Triple == "" {
		o.Triple = HostTriple()
	}
	emulation, err := emulationOf(o.Triple)
	if err != nil {
		return nil, err
	}
	script, err := versionScript(o.Exports)
	if err != nil {
		return nil, err
	}
	var files memoryFiles
	defer files.close()
	args := []string{
		"ld.lld", "-shared", "-m", emulation, "--version-script", files.add("list of exports", []byte(script)),
		"-Bsymbolic", // addresses of exports in data are the library's own, even where two libraries export one name
		"-z", "defs", "-z", "now", "-z", "relro", "-z", "noexecstack",
		"--hash-style=gnu", "--build-id=none", "--fatal-warnings", "--threads=1",
	}
	for _, section := range o.Compress {
		args = append(args, "--compress-sections="+section+"=zlib:9")
	}
	if o.Soname != "" {
		args = append(args, "-soname="+o.Soname)
	}
	return link(objs, &files, args)
}

// link runs lld on the objects with the given arguments and returns the file it writes.
func link(objs []Object, files *memoryFiles, args []string) ([]byte, error) {
	if len(objs) == 0 {
		return nil, errors.New("link: no objects")
	}
	output, err := newPipeReader()
	if err != nil {
		return nil, err
	}
	defer output.close()
	args = append(args, "-o", output.path())
	for i, b := range objs {
		args = append(args, files.add(fmt.Sprintf("object %d", i+1), b))
	}
	if files.err != nil {
		return nil, files.err
	}
	code, message := lld(args)
	lib, err := output.finish()
	if code != 0 {
		return nil, linkError(code, files.name(message))
	}
	if err != nil {
		return nil, fmt.Errorf("link: read the linked object: %w", err)
	}
	return lib, nil
}

func emulationOf(triple string) (string, error) {
	if !strings.Contains(triple, "windows") && !strings.Contains(triple, "darwin") && !strings.Contains(triple, "apple") {
		for _, e := range emulations {
			if strings.HasPrefix(triple+"-", e.arch) {
				return e.name, nil
			}
		}
	}
	return "", fmt.Errorf("link: no shared objects for target %s: only ELF on x86_64, i386, i686, aarch64, arm, riscv32 and riscv64", triple)
}

// versionScript words the list of exports for lld. Names are checked, for the script's syntax has wildcards and blocks.
func versionScript(exports []string) (string, error) {
	if len(exports) == 0 {
		return "", errors.New("link: no exports: nothing in the shared object could be called")
	}
	var b strings.Builder
	b.WriteString("{ global:")
	for _, e := range exports {
		if err := checkExport(e); err != nil {
			return "", err
		}
		b.WriteString(" " + e + ";")
	}
	b.WriteString(" local: *; };\n")
	return b.String(), nil
}

func checkExport(e string) error {
	if !plainName(e) {
		return fmt.Errorf("link: export %q is not a C name", e)
	}
	return nil
}

func lld(args []string) (code int, message string) {
	var free cStrings
	defer free.all()
	for _, a := range args {
		free.add(a)
	}
	start()
	using.Lock()
	defer using.Unlock()
	var text *C.char
	code = int(C.lathe_link(C.int(len(free)), &free[0], &text))
	return code, takeString(text)
}

// linkError keeps lld's complaints and drops its name and its hints.
func linkError(code int, message string) error {
	var found []string
	for l := range strings.Lines(message) {
		if _, text, ok := strings.Cut(l, "error: "); ok {
			found = append(found, strings.TrimSpace(text))
		} else if detail, ok := strings.CutPrefix(l, ">>> "); ok && len(found) > 0 {
			found[len(found)-1] += ", " + strings.TrimSpace(detail)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("link: lld failed with code %d: %s", code, oneLine(message))
	}
	return fmt.Errorf("link: %s", oneLine(strings.Join(found, "\n")))
}
