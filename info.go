package lathe

import (
	"slices"

	"lathe/internal/compile"
	"lathe/internal/impl/algorithms"
	"lathe/internal/looppass"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/tool/version"
	"lathe/internal/toolchain"
)

// Version returns the version of Lathe and of its LLVM.
func Version() string { return "lathe " + version.Text() + ", LLVM " + toolchain.Version() }

// Passes lists the compiler's passes in the order they run.
func Passes() []PassInfo {
	var list []PassInfo
	for _, p := range pass.Table {
		list = append(list, PassInfo{Name: p.Name, Phase: "graph", Level: p.Level, Required: p.Required, Doc: p.Doc})
	}
	for _, p := range looppass.Table {
		list = append(list, PassInfo{Name: p.Name, Phase: "loop", Level: p.Level, Required: p.Required, Doc: p.Doc})
	}
	return list
}

// Formats lists the forms in which a compiled model leaves the compiler; the first is the default.
func Formats() []FormatInfo {
	var list []FormatInfo
	for _, f := range compile.Formats {
		list = append(list, FormatInfo{Name: f.Name, Doc: f.Doc, Output: f.Output})
	}
	return list
}

// DenormalModes are the values of CompileOptions.Denormals that a user may name.
func DenormalModes() []string { return slices.Clone(compile.DenormalModes) }

// Operators lists the operators of the graph level by name.
func Operators() []OpInfo {
	var list []OpInfo
	for _, d := range ops.All {
		o := OpInfo{Name: d.Name, Class: d.Fusion.String(), Doc: d.Doc}
		if d.Compute != nil {
			o.Implementations = append(o.Implementations, "derived")
		}
		if algorithms.Table.HasExtern(d) {
			o.Implementations = append(o.Implementations, "extern")
		}
		if algorithms.Table.HasAnchor(d) {
			o.Implementations = append(o.Implementations, "anchor")
		}
		list = append(list, o)
	}
	return list
}
