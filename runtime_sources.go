package lathe

import (
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/bundle"
)

// sources is the runtime for C and C++, which goes beside every static library.
//
//go:embed include/lathe.h include/lathe.hpp include/lathe_external.h src/lathe.c
var sources embed.FS

// runtimeSources lists the files of the C runtime by name.
func runtimeSources() []bundle.Text {
	var files []bundle.Text
	for _, dir := range []string{"include", "src"} {
		entries, _ := sources.ReadDir(dir)
		for _, e := range entries {
			b, err := sources.ReadFile(path.Join(dir, e.Name()))
			if err != nil {
				panic(err) // the list is of what is embedded
			}
			files = append(files, bundle.Text{Name: e.Name(), Data: b})
		}
	}
	slices.SortFunc(files, func(a, b bundle.Text) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// WriteRuntimeSources writes the runtime for C and C++, lathe.h, lathe.hpp, lathe_external.h and lathe.c, into a folder, which it makes where
// there is none.
func WriteRuntimeSources(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("writing the C runtime: %w", err)
	}
	for _, f := range runtimeSources() {
		if err := os.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o666); err != nil {
			return fmt.Errorf("writing the C runtime: %w", err)
		}
	}
	return nil
}
