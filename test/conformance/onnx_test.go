package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lathe/internal/testkit/realmodels"
)

var update = flag.Bool("update", false, "append the cases that have become right to the list")

// groups of cases in the folder of ONNX's backend tests.
var groups = []string{"node", "simple", "pytorch-converted", "pytorch-operator"}

// levels of optimisation to try: none, the default, and the one that may lose accuracy.
var levels = []int{0, 3, 4}

// TestConformanceONNXCases compiles and runs every case of ONNX's backend tests. Those listed must be right at every
// level; every other must end in an error that says what is not supported. LATHE_CASES, a regular expression, selects
// cases; LATHE_CASES_OUT names a file for the outcome of each.
func TestConformanceONNXCases(t *testing.T) {
	root := realmodels.Folder(t, "onnx_backend")
	only := regexp.MustCompile(os.Getenv("LATHE_CASES"))
	names := caseNames(t, root, only)
	results := runAll(root, names)
	passing := map[string]string{}
	for _, c := range Passing() {
		passing[c.Name] = strings.Join(c.Fixed, ", ")
	}
	var grown []Case
	kinds := map[string]int{}
	var report strings.Builder
	for i, name := range names {
		fixed, listed := passing[name]
		bad := ""
		for j, o := range results[i] {
			if o.Kind == "" {
				continue
			}
			kinds[o.Kind]++
			bad = fmt.Sprintf("at -O%d: %s: %s", levels[j], o.Kind, o.Error)
			fmt.Fprintf(&report, "%s %s\n", name, bad)
			if listed || o.Kind != unsupported {
				t.Errorf("%s %s", name, bad)
			}
		}
		switch line := strings.Join(results[i][0].Fixed, ", "); {
		case bad != "":
		case !listed:
			grown = append(grown, Case{name, results[i][0].Fixed})
		case line != fixed:
			t.Errorf("%s: inputs %q are fixed, the list says %q", name, line, fixed)
		}
	}
	t.Logf("%d cases at %d levels; failures: %v", len(names), len(levels), kinds)
	if out := os.Getenv("LATHE_CASES_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(report.String()), 0o666); err != nil {
			t.Error(err)
		}
	}
	if os.Getenv("LATHE_CASES") != "" {
		return
	}
	if len(names) != Cases {
		t.Errorf("there are %d cases, Cases says %d", len(names), Cases)
	}
	for name := range passing {
		if !slices.Contains(names, name) {
			t.Errorf("%s is listed but there is no such case", name)
		}
	}
	grow(t, grown)
}

func caseNames(t *testing.T, root string, only *regexp.Regexp) []string {
	var names []string
	for _, group := range groups {
		entries, err := os.ReadDir(filepath.Join(root, group))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := group + "/" + e.Name(); only.MatchString(name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		t.Fatalf("no cases in %s", root)
	}
	return names
}

// runAll runs the cases in two processes and returns an outcome for each of levels.
func runAll(root string, names []string) [][]outcome {
	results := make([][]outcome, len(names))
	next := make(chan int)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			c := &child{limit: time.Minute}
			defer c.stop()
			for i := range next {
				for _, level := range levels {
					results[i] = append(results[i], c.run(task{filepath.Join(root, names[i]), level}))
				}
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	wg.Wait()
	return results
}

// grow appends to the lists, or complains that they are short.
func grow(t *testing.T, cases []Case) {
	if len(cases) == 0 {
		return
	}
	if !*update {
		t.Errorf("%d cases are right but not in the lists (-update appends them): %v", len(cases), cases[:min(len(cases), 10)])
		return
	}
	asTheyAre, fixed := "", ""
	all := append(Passing(), cases...)
	slices.SortFunc(all, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range all {
		if len(c.Fixed) == 0 {
			asTheyAre += c.Name + "\n"
		} else {
			fixed += c.Name + " fixed: " + strings.Join(c.Fixed, ", ") + "\n"
		}
	}
	for name, text := range map[string]string{"testdata/onnx_passing.txt": asTheyAre, "testdata/onnx_passing_fixed.txt": fixed} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
