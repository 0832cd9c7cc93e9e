package toolchain

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

const twiceIR = `declare i32 @add(i32, i32)
@step = constant i32 7
define i32 @twice(i32 %x) nounwind {
  %y = call i32 @add(i32 %x, i32 %x)
  %k = load i32, ptr @step
  %z = add i32 %y, %k
  ret i32 %z
}
`

func compileFor(t *testing.T, m *Machine, irs ...string) []Object {
	t.Helper()
	objects := make([]Object, len(irs))
	for i, ir := range irs {
		var err error
		if objects[i], err = m.Compile(ir, ""); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

func TestLinkAndCall(t *testing.T) {
	here, err := Native()
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, For(here))
	lib, err := Link(compileFor(t, m, addIR, twiceIR), LinkOptions{Soname: "mod.so", Exports: []string{"twice"}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mod.so")
	if err := os.WriteFile(path, lib, 0o700); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		t.Fatal(err)
	}
	defer purego.Dlclose(handle)
	var twice func(int32) int32
	purego.RegisterLibFunc(&twice, handle, "twice")
	if got := twice(20); got != 47 {
		t.Errorf("twice(20) = %d, want 47", got)
	}
	if _, err := purego.Dlsym(handle, "add"); err == nil {
		t.Error("add is visible, though it is not among the exports")
	}
}

// A model's library is loaded next to others and mapped shared: no needed libraries, no imports, nothing writable.
func TestLinkedForm(t *testing.T) {
	for _, triple := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu", "armv7-linux-gnueabihf", "i686-linux-gnu"} {
		t.Run(triple, func(t *testing.T) {
			m := open(t, Options{Triple: triple})
			lib, err := Link(compileFor(t, m, addIR, twiceIR), LinkOptions{Soname: "mod.so", Exports: []string{"twice"}, Triple: triple})
			if err != nil {
				t.Fatal(err)
			}
			f, err := elf.NewFile(bytes.NewReader(lib))
			if err != nil {
				t.Fatal(err)
			}
			checkForm(t, f)
		})
	}
}

func checkForm(t *testing.T, f *elf.File) {
	if f.Type != elf.ET_DYN {
		t.Errorf("type %v", f.Type)
	}
	if name, err := f.DynString(elf.DT_SONAME); err != nil || !slices.Equal(name, []string{"mod.so"}) {
		t.Errorf("soname %q, %v", name, err)
	}
	if libs, err := f.ImportedLibraries(); err != nil || len(libs) != 0 {
		t.Errorf("needs %v, %v", libs, err)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil || len(symbols) != 1 || symbols[0].Name != "twice" || symbols[0].Section == elf.SHN_UNDEF {
		t.Errorf("dynamic symbols %v, %v", symbols, err)
	}
	if f.Section(".note.gnu.build-id") != nil || f.Section(".gnu.hash") == nil || f.Section(".hash") != nil {
		t.Error("wrong set of sections: want .gnu.hash, no .hash, no build id")
	}
	relro := func(p *elf.Prog) bool {
		return slices.ContainsFunc(f.Progs, func(r *elf.Prog) bool {
			return r.Type == elf.PT_GNU_RELRO && r.Vaddr <= p.Vaddr && p.Vaddr+p.Memsz <= r.Vaddr+r.Memsz
		})
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_W != 0 && !relro(p) {
			t.Errorf("segment at %#x stays writable", p.Vaddr)
		}
	}
}

func TestLinkIsDeterministic(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu"})
	o := LinkOptions{Soname: "mod.so", Exports: []string{"twice", "add"}, Triple: m.triple}
	first, err := Link(compileFor(t, m, addIR, twiceIR), o)
	if err != nil {
		t.Fatal(err)
	}
	var others memoryFiles // so that the inputs get other paths
	defer others.close()
	others.add("other", nil)
	second, err := Link(compileFor(t, m, addIR, twiceIR), o)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same arguments gave different bytes")
	}
}

func TestLinkErrors(t *testing.T) {
	m := open(t, Options{Triple: "x86_64-linux-gnu"})
	objects := compileFor(t, m, addIR, twiceIR)
	add, twice := objects[0], objects[1]
	foreign := compileFor(t, open(t, Options{Triple: "aarch64-linux-gnu"}), addIR)[0]
	for _, c := range []struct {
		name string
		objs []Object
		o    LinkOptions
		want []string
	}{
		{"undefined", []Object{twice}, LinkOptions{Exports: []string{"twice"}}, []string{"undefined symbol: add", "object 1:(twice)"}},
		{"twice defined", []Object{add, add}, LinkOptions{Exports: []string{"add"}}, []string{"duplicate symbol: add"}},
		{"missing export", []Object{add}, LinkOptions{Exports: []string{"add", "sub"}}, []string{"sub", "not defined"}},
		{"no exports", []Object{add}, LinkOptions{}, []string{"no exports"}},
		{"wildcard", []Object{add}, LinkOptions{Exports: []string{"a*"}}, []string{`"a*" is not a C name`}},
		{"no objects", nil, LinkOptions{Exports: []string{"add"}}, []string{"no objects"}},
		{"not an object", []Object{[]byte("hello, world")}, LinkOptions{Exports: []string{"add"}}, []string{"object 1"}},
		{"truncated", []Object{add[:len(add)/2]}, LinkOptions{Exports: []string{"add"}}, []string{"object 1"}},
		{"empty", []Object{{}}, LinkOptions{Exports: []string{"add"}}, []string{"link: "}},
		{"other machine", []Object{add, foreign}, LinkOptions{Exports: []string{"add"}}, []string{"object 2", "incompatible"}},
		{"no ELF", []Object{add}, LinkOptions{Exports: []string{"add"}, Triple: "wasm32-unknown-unknown"}, []string{"no shared objects for target wasm32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.o.Triple == "" {
				c.o.Triple = m.triple
			}
			_, err := Link(c.objs, c.o)
			wantError(t, err, c.want...)
			if n := openMemoryFiles(t); n != 0 {
				t.Errorf("%d files are still open", n)
			}
			if _, err := Link(objects, LinkOptions{Exports: []string{"twice"}, Triple: m.triple}); err != nil {
				t.Errorf("the next link fails: %v", err)
			}
		})
	}
}

func openMemoryFiles(t *testing.T) (n int) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.Contains(target, "lathe-link") {
			n++
		}
	}
	return n
}

func TestNamesOfMemoryFiles(t *testing.T) {
	var m memoryFiles
	defer m.close()
	var message, want []string
	for i := range 100 { // enough for file numbers of one, two and three digits
		message = append(message, m.add(fmt.Sprintf("<%d>", i), nil))
		want = append(want, fmt.Sprintf("<%d>", i))
	}
	if got := m.name(strings.Join(message, ",")); m.err != nil || got != strings.Join(want, ",") {
		t.Errorf("got %s, %v", got, m.err)
	}
}

// lld would take over the signals at which it removes its temporary files.
func TestLinkLeavesSignalsToGo(t *testing.T) {
	m := open(t, Options{})
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGHUP)
	defer signal.Stop(got)
	if _, err := Link(compileFor(t, m, addIR), LinkOptions{Exports: []string{"add"}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case <-got:
	case <-time.After(10 * time.Second):
		t.Error("the signal did not reach Go")
	}
}

func BenchmarkLink(b *testing.B) {
	m, err := Open(Options{})
	if err != nil {
		b.Fatal(err)
	}
	object, err := m.Compile(addIR, "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Link([]Object{object}, LinkOptions{Exports: []string{"add"}}); err != nil {
			b.Fatal(err)
		}
	}
}
