package algorithms

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lathe/internal/impl"
)

// TestTable: every folder of impl is in the table, rules have names of their own, and any kernel has one that applies.
func TestTable(t *testing.T) {
	source, err := os.ReadFile("table.go")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range folders {
		if !f.IsDir() || f.Name() == "algorithms" || f.Name() == "testdata" {
			continue
		}
		seen++
		if !strings.Contains(string(source), "\t"+f.Name()+".Algorithm,\n") {
			t.Errorf("internal/impl/%s is not in the table", f.Name())
		}
	}
	if seen < 4 {
		t.Errorf("looked at %d folders only", seen)
	}
	var names []string
	for _, a := range Table {
		if a.Rule == nil {
			continue
		}
		if slices.Contains(names, a.Rule.Name) {
			t.Errorf("two rules %s", a.Rule.Name)
		}
		names = append(names, a.Rule.Name)
	}
	if len(names) == 0 || names[len(names)-1] != impl.Serial.Rule.Name {
		t.Errorf("the last rule of %v is not the one that always applies", names)
	}
}

// TestPage: docs/adding-a-schedule.md names every field of an algorithm.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/adding-a-schedule.md")
	if err != nil {
		t.Fatal(err)
	}
	for f := range reflect.TypeFor[impl.Algorithm]().Fields() {
		if !strings.Contains(string(page), "`"+f.Name+"`") {
			t.Errorf("the page does not name %s", f.Name)
		}
	}
}
