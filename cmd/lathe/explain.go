package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"lathe/internal/bundle"
	"lathe/internal/cli"
	"lathe/internal/explain"
)

// explainPackage writes what was chosen for each kernel of a package: as text, or as JSON to a file with that ending.
func (a *app) explainPackage(path, to string) error {
	p, err := bundle.Open(path)
	if err != nil {
		return err
	}
	defer p.Close()
	r, err := explain.Explain(p.Manifest, 0)
	if err != nil {
		return err
	}
	if to == cli.ToOutput {
		return r.Text(a.Out)
	}
	if err := cli.NotOver(to, path); err != nil {
		return err
	}
	return cli.WriteFile(to, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(to), ".json") {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}
		return r.Text(w)
	})
}
