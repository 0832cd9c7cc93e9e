package lathe

import (
	"embed"
	"path"
	"slices"
	"strings"

	"lathe/internal/bundle"
)

// sources is the C runtime, which goes beside every static library.
//
//go:embed include/lathe.h
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
