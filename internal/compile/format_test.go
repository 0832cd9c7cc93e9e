package compile

import (
	"os"
	"strings"
	"testing"

	"lathe/internal/bundle"
)

// TestModuleNames refuses every module name whose names could be those of lathe.h, where both are linked into one program.
func TestModuleNames(t *testing.T) {
	header, err := os.ReadFile("../../include/lathe.h")
	if err != nil {
		t.Fatal(err)
	}
	runtime := []bundle.Text{{Name: "lathe.h", Data: header}}
	names := cName.FindAllString(cComment.ReplaceAllString(string(header), ""), -1)
	if len(names) < 100 {
		t.Fatalf("%d names in lathe.h", len(names))
	}
	taken := map[string]bool{}
	for _, name := range names {
		words := strings.Split(name, "_")[1:]
		for n := range words {
			taken[strings.Join(words[:n+1], "_")] = true
		}
	}
	for _, must := range []string{"model", "open", "run", "clone", "ERROR"} {
		if !taken[must] {
			t.Errorf("%s is not a name of lathe.h", must)
		}
	}
	for i := range Formats {
		f := &Formats[i]
		for module := range taken {
			for _, spelt := range []string{module, strings.ToLower(module), strings.ToUpper(module)} {
				if err := f.checkNames(spelt, runtime); (err != nil) != f.linked {
					t.Errorf("-f %s, module %s: %v", f.Name, spelt, err)
				}
			}
		}
		for _, module := range []string{"default", "net", "resnet50", "models", "m", "MODULE"} {
			if err := f.checkNames(module, runtime); err != nil {
				t.Error(err)
			}
		}
	}
}
