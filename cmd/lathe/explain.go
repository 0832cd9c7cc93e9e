package main

import (
	"io"

	"lathe/internal/bundle"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/explain"
)

// explainForms are the extensions of files that an explanation is written to.
var explainForms = []string{".txt", ".json"}

// explainPackage writes what was chosen for each kernel of a package.
func (a *app) explainPackage(path, to string, asJSON bool) error {
	p, err := bundle.Inspect(path)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := cli.NotOver(to, path); err != nil {
		return err
	}
	return a.explain(p.Manifest, to, asJSON)
}

// explain writes what was chosen for each kernel: as text, or as JSON to a file with that ending and where it is asked for.
func (a *app) explain(m *bundle.Manifest, to string, asJSON bool) error {
	r, err := explain.Explain(m, 0)
	if err != nil {
		return err
	}
	switch {
	case to == cli.ToOutput && asJSON:
		return cli.JSON(a.Out, r)
	case to == cli.ToOutput:
		return r.Text(a.Out)
	}
	return cli.WriteFile(to, func(w io.Writer) error {
		if cli.Extension(to) == ".json" {
			return cli.JSON(w, r)
		}
		return r.Text(w)
	})
}
