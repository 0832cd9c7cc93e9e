package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/bundle"
	"lathe/internal/explain"
)

// toOutput is the value of a flag that names a file and was given without one.
const toOutput = "-"

// fileOrOutputVar defines a flag that stands alone, for standard output, or takes a file as --NAME=FILE.
func fileOrOutputVar(cmd *cobra.Command, to *string, name, usage string) {
	cmd.Flags().StringVar(to, name, "", usage)
	cmd.Flags().Lookup(name).NoOptDefVal = toOutput
}

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
	if to == toOutput {
		return r.Text(a.out)
	}
	if err := notOver(to, path); err != nil {
		return err
	}
	return writeFile(to, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(to), ".json") {
			e := json.NewEncoder(w)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(r)
		}
		return r.Text(w)
	})
}
