package cpu_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/cpu"
	"lathe/internal/isa"
	"lathe/internal/isa/x86"
	"lathe/internal/target"
	"lathe/internal/testkit/cctest"
	"lathe/internal/testkit/cputest"
	"lathe/internal/testkit/golden"
)

//go:generate go test . -run TestCTables -update

const runtime = "../../src/lathe/machine.c"

// TestCTables holds the tables in the C runtime to these; -update writes them.
func TestCTables(t *testing.T) {
	b, err := os.ReadFile(runtime)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, table := range target.ISAs() {
		if table.Object != isa.ELF {
			continue
		}
		begin, end := fmt.Sprintf("/* Begin of %s */\n", table.Arch), fmt.Sprintf("/* End of %s */\n", table.Arch)
		head, rest, ok1 := strings.Cut(text, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("%s: no place for the table of %s", runtime, table.Arch)
		}
		text = head + begin + cTable(table.Table) + end + tail
	}
	golden.File(t, runtime, []byte(text))
}

// cTable writes a table as C.
func cTable(table *isa.Table) string {
	var b bytes.Buffer
	b.WriteString("/* Written by go generate ./internal/cpu; internal/isa says what the words are. */\nstatic const cpu_feature cpu_features[] = {")
	line := 120
	for _, f := range table.Rows {
		row := fmt.Sprintf("{\"%s\", %d, %d, %#x},", f.Name, f.Word, f.Bit, f.State)
		if line += 1 + len(row); line > 120 {
			b.WriteString("\n    ")
			line = 4 + len(row)
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(row)
	}
	b.WriteString("\n};\n")
	if table != &x86.Features {
		return b.String()
	}
	b.WriteString("\nstatic const cpu_leaf cpu_leaves[] = {")
	for i, l := range x86.Leaves {
		fmt.Fprintf(&b, "%s{%#x, %d, %d}", []string{"", ", "}[min(i, 1)], l.Leaf, l.Sub, l.Register)
	}
	b.WriteString("};\n\nstatic const struct {\n  const char *features, *advice;\n} cpu_levels[] = {\n")
	s := isa.Set{}
	for _, l := range table.Levels {
		for f := range strings.FieldsSeq(l.Features) {
			table.Enable(s, f)
		}
		fmt.Fprintf(&b, "    {\"%s\", \"with --target \\\"llvm -mcpu=%s\\\"\"},\n", strings.Join(table.Code(s), " "), l.Name)
	}
	b.WriteString("};\n")
	return b.String()
}

// asked is a program that puts a recorded processor in the place of this one.
const asked = `
#include "%s"

static uint32_t recorded[64][6];
static int leaves;

static void replay(uint32_t leaf, uint32_t sub, uint32_t *r) {
  r[0] = r[1] = r[2] = r[3] = 0;
  for (int i = 0; i < leaves; i++)
    if (recorded[i][0] == leaf && recorded[i][1] == sub)
      for (int k = 0; k < 4; k++) r[k] = recorded[i][2 + k];
}

/* A processor on a line: XCR0, the number of leaves and these. The answer: its features and the advice. */
int main(void) {
  unsigned long long xcr0;
  while (scanf("%%llx %%d", &xcr0, &leaves) == 2) {
    for (int i = 0; i < leaves; i++)
      for (int k = 0; k < 6; k++)
        if (scanf("%%x", &recorded[i][k]) != 1) return 1;
    cpu_answer m = {{0}, 0};
    read_leaves(replay, xcr0, &m);
    for (int i = 0; i < COUNT(cpu_features); i++)
      if (has(cpu_features[i].name, length(cpu_features[i].name), &m)) printf("%%s ", cpu_features[i].name);
    printf("%%s\n", advice(&m));
  }
  cpu_answer here = {{0}, 0};
  if (!read_machine(&here)) return 1;
  for (int i = 0; i < COUNT(cpu_features); i++)
    if (has(cpu_features[i].name, length(cpu_features[i].name), &here)) printf("%%s ", cpu_features[i].name);
  printf("%%s\n", advice(&here));
  return 0;
}
`

// TestC asks the C runtime for the recorded processors, and for this one: it knows the same features, row by row, and gives
// the same advice.
func TestC(t *testing.T) {
	here, err := cpu.This()
	if err != nil {
		t.Fatal(err)
	}
	if here.Table != &x86.Features {
		t.Skip("the recordings are of x86-64")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := fmt.Sprintf(asked, filepath.Join(root, "src/lathe.c"))
	if err := os.WriteFile(filepath.Join(dir, "asked.c"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cctest.Run(t, dir, cctest.Compiler(t), "-std=c11", "-D_GNU_SOURCE", "-I", filepath.Join(root, "include"), "asked.c", "-o", "asked", "-lpthread", "-ldl", "-lm")
	var in bytes.Buffer
	var want []string
	for _, r := range cputest.Recordings() {
		for _, mask := range cputest.Masks {
			m := r.Machine(mask.Keep)
			fmt.Fprintf(&in, "%x %d", r.XCR0&mask.Keep, len(r.Leaves))
			for at, v := range r.Leaves {
				fmt.Fprintf(&in, " %x %x %x %x %x %x", at[0], at[1], v[0], v[1], v[2], v[3])
			}
			in.WriteByte('\n')
			want = append(want, answer(m))
		}
	}
	if os.Getenv(cpu.Variable) == "" {
		want = append(want, answer(here))
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), in.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	out := cctest.Run(t, dir, "sh", "-c", "./asked < in")
	got := strings.Split(strings.TrimSpace(out), "\n")
	if len(got) < len(want) {
		t.Fatalf("%d answers to %d questions", len(got), len(want))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("question %d:\nC  %s\nGo %s", i, got[i], w)
		}
	}
}

// answer is what the C program prints of a machine.
func answer(m *cpu.Machine) string {
	has := slices.DeleteFunc(m.Names(true), func(name string) bool { return !m.Has(name) })
	return strings.Join(append(has, m.Advice()), " ")
}
