package toolchain

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func wasmMachine(t *testing.T) *Machine {
	return open(t, Options{Triple: "wasm32-unknown-unknown", Features: []string{"+simd128"}})
}

func TestLinkWasm(t *testing.T) {
	o := WasmOptions{Exports: []string{"twice"}, StackSize: 1 << 16, DataBase: 1 << 20}
	objects := compileFor(t, wasmMachine(t), addIR, strings.Replace(twiceIR, "@step = constant", "@step = global", 1))
	module, err := LinkWasm(objects, o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LinkWasm(objects, o)
	if err != nil || !bytes.Equal(module, again) {
		t.Errorf("a second link gives other bytes, error %v", err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed: the module is not run")
	}
	path := filepath.Join(t.TempDir(), "mod.wasm")
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `const m = new WebAssembly.Module(require('fs').readFileSync(process.argv[1]));
const e = new WebAssembly.Instance(m).exports;
const at = new DataView(e.memory.buffer).getInt32(1 << 20, true);
console.log(e.twice(20), at, Object.keys(e).sort().join(), WebAssembly.Module.imports(m).length, e.memory.buffer.byteLength);`
	out, err := exec.Command(node, "-e", script, path).CombinedOutput()
	if got, want := strings.TrimSpace(string(out)), "47 7 memory,twice 0 1114112"; err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestLinkWasmErrors(t *testing.T) {
	objects := compileFor(t, wasmMachine(t), twiceIR)
	elf := compileFor(t, open(t, Options{Triple: "x86_64-linux-gnu"}), addIR)
	for _, c := range []struct {
		name string
		objs []Object
		o    WasmOptions
		want string
	}{
		{"import", objects, WasmOptions{Exports: []string{"twice"}}, "undefined symbol: add"},
		{"export", objects, WasmOptions{Exports: []string{"thrice"}}, "thrice"},
		{"name", objects, WasmOptions{Exports: []string{"a b"}}, "not a C name"},
		{"no exports", objects, WasmOptions{}, "no exports"},
		{"no objects", nil, WasmOptions{Exports: []string{"twice"}}, "no objects"},
		{"ELF", elf, WasmOptions{Exports: []string{"add"}}, "link: "},
		{"size", objects, WasmOptions{Exports: []string{"twice"}, DataBase: 1 << 32}, "do not fit"},
	} {
		if _, err := LinkWasm(c.objs, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
