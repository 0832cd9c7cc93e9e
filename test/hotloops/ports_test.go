package hotloops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/testkit/targettest"
)

// modelled are CPUs that LLVM has a model of scheduling for (it has none of the Cortex-A7), and the share of a hot loop's time by that
// model that the busiest port works at least. llvm-mca writes the X280's results back in order, which its vector unit, with a queue of
// its own, need not: a load (3 cycles) behind a multiply-add (8) waits for it, so that loads and multiply-adds do not overlap. With all
// loads of a step first, the best order for that, products have 0.77 to 0.81 and depthwise convolutions 0.34, by LLVM's own order
// 0.62 to 0.74 and 0.56.
var modelled = []struct {
	cpu, triple string
	least       float64
}{
	{"cortex-a72", "aarch64-linux-gnu", 0.8},
	{"cortex-a76", "aarch64-linux-gnu", 0.8},
	{"sifive-x280", "riscv64-linux-gnu", 0.45},
}

var (
	totalCycles = regexp.MustCompile(`Total Cycles: +(\d+)`)
	branch      = regexp.MustCompile(`\.LBB\d+_\d+`)
	perBlock    = regexp.MustCompile(`Block RThroughput: +([\d.]+)`)
)

// lower is what a port works in loops that do not reach their CPU's share, with the cause.
var lower = map[string]struct {
	least float64
	why   string
}{
	"sifive-x280/depthwise_alone": {0.44, "sums of lanes without a part are copied before each masked multiply-add"},
}

// TestPorts: the loops with the most multiply-adds keep the port busy that they need most.
func TestPorts(t *testing.T) {
	mca := analyser(t)
	for _, m := range modelled {
		target := targettest.Resolve(t, fmt.Sprintf("llvm -mcpu=%s -mtriple=%s", m.cpu, m.triple))
		for _, l := range layers {
			name := m.cpu + "/" + strings.ReplaceAll(l.name, " ", "_")
			t.Run(name, func(t *testing.T) {
				res, err := compile.Compile(context.Background(), l.network(t), l.options(target))
				if err != nil {
					t.Fatal(err)
				}
				body := busiest(res.Code["asm"])
				if body == "" {
					t.Fatal("no loop has multiply-adds")
				}
				const iterations = 100
				flags := []string{"-mtriple=" + m.triple, "-mcpu=" + m.cpu, "-iterations=" + strconv.Itoa(iterations), "-instruction-info=0", "-resource-pressure=0"}
				if m.triple == "riscv64-linux-gnu" { // registers of float32: what says so stands before the loops
					body = "# LLVM-MCA-RISCV-LMUL M1\n# LLVM-MCA-RISCV-SEW E32\n" + body
				}
				run := exec.Command(mca, append(flags, "-")...)
				run.Stdin = strings.NewReader(body)
				out, err := run.Output()
				if err != nil {
					t.Fatalf("%v\n%s", err, body)
				}
				share := number(t, perBlock, out) * iterations / number(t, totalCycles, out)
				least := m.least
				if l, ok := lower[name]; ok {
					if least = l.least; share >= m.least {
						t.Errorf("the exception (%s) is not needed", l.why)
					}
				}
				if share < least {
					t.Errorf("the busiest port works %.0f %% of the time, want at least %.0f\n%s", 100*share, 100*least, body)
				}
			})
		}
	}
}

// busiest is the text of the innermost loop that has the most multiply-adds, without labels.
func busiest(asm string) (body string) {
	most, inner := 0, 0 // inner is where the last loop began that has ended
	begins := map[string]int{}
	var lines []string
	for line := range strings.SplitSeq(asm, "\n") {
		if function.MatchString(line) {
			lines, inner = nil, 0
			clear(begins)
		}
		if m := label.FindStringSubmatch(line); m != nil && m[1] != "" {
			begins[".L"+m[1]] = len(lines)
		}
		if !instruction.MatchString(line) {
			continue
		}
		lines = append(lines, line)
		from, back := begins[branch.FindString(line)]
		if !back || from < inner {
			continue
		}
		inner = len(lines)
		adds := 0
		for _, l := range lines[from:] {
			if multiplyAdd.MatchString(l) {
				adds++
			}
		}
		if adds > most {
			most, body = adds, strings.Join(lines[from:], "\n")+"\n"
		}
	}
	return body
}

func number(t *testing.T, r *regexp.Regexp, text []byte) float64 {
	t.Helper()
	m := r.FindSubmatch(text)
	if m == nil {
		t.Fatalf("nothing like %s in\n%s", r, text)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// analyser is the path of llvm-mca, which comes with LLVM.
func analyser(t *testing.T) string {
	t.Helper()
	bin := "/usr/lib/llvm-22/bin"
	if config := os.Getenv("LLVM_CONFIG"); config != "" {
		out, err := exec.Command(config, "--bindir").Output()
		if err != nil {
			t.Fatal(err)
		}
		bin = strings.TrimSpace(string(out))
	}
	path := filepath.Join(bin, "llvm-mca")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: it is part of LLVM's tools (Debian's llvm-22)", err)
	}
	return path
}
