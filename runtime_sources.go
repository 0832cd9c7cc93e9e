package lathe

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lathe/internal/bundle"
)

// sources is the runtime for C and C++, which goes beside every static library.
//
//go:embed include/lathe.h include/lathe.hpp include/lathe_external.h src
var sources embed.FS

// part is a line of lathe.c that includes one of its parts.
var part = regexp.MustCompile(`(?m)^#include "(lathe/.*\.c)"$`)

// runtimeSources lists the files of the C runtime by name. Parts stand in the file that includes them.
func runtimeSources() []bundle.Text {
	var files []bundle.Text
	for _, dir := range []string{"include", "src"} {
		entries, _ := sources.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			whole := part.ReplaceAllFunc(source(dir, e.Name()), func(line []byte) []byte {
				return bytes.TrimSuffix(source(dir, string(part.FindSubmatch(line)[1])), []byte("\n"))
			})
			files = append(files, bundle.Text{Name: e.Name(), Data: whole})
		}
	}
	slices.SortFunc(files, func(a, b bundle.Text) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// source is a file that is embedded.
func source(dir, name string) []byte {
	b, err := sources.ReadFile(path.Join(dir, name))
	if err != nil {
		panic(err) // names are of what is embedded
	}
	return b
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
