package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/frontend/formats"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/spelling"
	"lathe/internal/tool/table"
	"lathe/runtime"
)

func (a *app) inspectCommand() *cobra.Command {
	var model modelFlags
	var steps, check, asJSON bool
	var explain string
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "tell what a model or a package holds",
		Long: `Tell what a model or a package holds.

  lathe inspect resnet50.onnx
  lathe inspect --steps resnet50.tar
  lathe inspect --explain resnet50.tar`,
		Args: cli.OneFile("model or package"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if check && !isPackage(args[0]) {
				return fmt.Errorf("--check is for packages, which hold digests; %s is a model", args[0])
			}
			if check {
				if err := a.checkPackage(args[0]); err != nil {
					return err
				}
			}
			if isPackage(args[0]) && explain != "" {
				return a.explainPackage(args[0], explain, asJSON)
			}
			if isPackage(args[0]) {
				return a.inspectPackage(args[0], steps, asJSON)
			}
			for flag, used := range map[string]bool{"steps": steps, "explain": explain != ""} {
				if used {
					return refusePackageFlags(cmd.CommandPath(), args[0], flag)
				}
			}
			m, err := model.load(cmd.Context(), args[0], nil)
			if err != nil {
				return err
			}
			info, err := lathe.Inspect(cmd.Context(), m)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(a.Out, info)
			}
			return a.printModel(info, model.fix.typed)
		},
	}
	model.define(cmd)
	cmd.Flags().BoolVar(&check, "check", false, "compare every byte of a package's code and weights with its digest first")
	cli.JSONVar(cmd, &asJSON)
	cmd.Flags().BoolVar(&steps, "steps", false, "list the kernels of a package too")
	cli.FileOrOutputVar(cmd, &explain, "explain", explainForms, "tell what was chosen for each kernel of a package, why, and what time to expect; with `=FILE` there: .txt or .json")
	return cmd
}

// isPackage goes by the name, since the reader of packages explains files that are not what they are called, and else by
// the first bytes.
func isPackage(path string) bool {
	st, err := os.Stat(path)
	if err == nil && st.IsDir() {
		f, err := formats.Of(path)
		return err != nil || f == nil // else a SavedModel of TensorFlow
	}
	if err == nil && st.Mode().IsRegular() && bundle.Recognises(path) {
		return true
	}
	ext := strings.ToLower(filepath.Ext(path))
	if f, err := formats.Of(path); ext == ".json" && err == nil && f != nil {
		return false // the symbol of an MXNet model
	}
	return slices.Contains([]string{".tar", ".so", ".params", ".json", ".wasm"}, ext)
}

// checkPackage looks for damage.
func (a *app) checkPackage(path string) error {
	p, err := bundle.Inspect(path)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.Check()
}

func (a *app) inspectPackage(path string, steps, asJSON bool) error {
	p, err := bundle.Inspect(path)
	if err != nil {
		return err
	}
	defer p.Close()
	m := p.Manifest
	memory := p.Memory(runtime.CPUs())
	if asJSON {
		return cli.JSON(a.Out, packageJSON{path, m, memory})
	}
	w := a.Table()
	w.Row("module", m.Module)
	digest := ""
	if m.Source.SHA256 != "" {
		digest = " (sha256 " + m.Source.SHA256 + ")"
	}
	w.Rowf("compiled by", "lathe %s from %s%s", m.Lathe, m.Source.File, digest)
	w.Row("target", m.Target.String)
	w.Rowf("needs", "%s, CPU features: %s", m.Target.Triple, strings.Join(m.Target.Features, " "))
	for _, t := range m.Inputs {
		w.Rowf("input", "%s %s%s", t.Name, t.DType, cli.ShapeText(t.Shape))
	}
	for _, t := range m.Outputs {
		open := ""
		if slices.ContainsFunc(t.Symbols, func(s int) bool { return s >= 0 }) {
			open = " at most"
		}
		w.Rowf("output", "%s %s%s%s", t.Name, t.DType, cli.ShapeText(t.Shape), open)
	}
	params := 0
	for _, c := range p.Params {
		params += len(c.Data)
	}
	if p.Params == nil && len(m.Params) > 0 {
		w.Rowf("module", "%s, with %s", bundle.SizeText(int64(len(p.Library))), spelling.Count(len(m.Params), "parameter"))
	} else {
		from, to := p.Weights()
		inside := ""
		if to > from {
			inside = ", inside the library"
		}
		w.Row("library", bundle.SizeText(int64(len(p.Library)-(to-from))))
		w.Rowf("parameters", "%s in %s%s", bundle.SizeText(int64(params)), spelling.Count(len(p.Params), "tensor"), inside)
	}
	w.Rowf("work space", "%s, and %s for each worker", bundle.SizeText(int64(m.Workspace)), bundle.SizeText(int64(m.Scratch)))
	w.Row("memory", memoryLine(memory))
	w.Row("kernels", m.Kernels())
	for i, e := range m.External {
		alone := ""
		if e.NoFallback {
			alone = ", and nothing in its place"
		}
		w.Rowf("region", "%s: %s for %s, %s%s", e.Symbol, spelling.Count(len(e.Nodes), "node"), e.Generator, bundle.SizeText(int64(len(p.External[i]))), alone)
	}
	for _, n := range m.Notes {
		w.Row("note", n)
	}
	if err := w.Flush(); err != nil || !steps {
		return err
	}
	w.Row()
	w.Row("STEP", "KERNEL", "MFLOP", "MEMORY", "RULE", "OPERATORS", "NODES")
	stepRows(w, "", m.Steps)
	return w.Flush()
}

// stepRows writes a row for each step, behind a loop's those of its body.
func stepRows(w *table.Table, loop string, steps []bundle.Step) {
	for i, s := range steps {
		number, rule := loop+strconv.Itoa(i), s.Rule
		if s.Trips > 0 {
			rule = fmt.Sprintf("%s x%d", s.Rule, s.Trips)
		}
		w.Row(number, s.Name, fmt.Sprintf("%.3f", float64(s.FLOPs)/1e6), bundle.SizeText(s.Bytes), rule, strings.Join(s.Ops, " "), strings.Join(s.Nodes, " "))
		stepRows(w, number+".", s.Body)
	}
}
