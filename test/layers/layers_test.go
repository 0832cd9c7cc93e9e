// Package layers tests the import policy of this module.
package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "lathe"

// rules is policy, not a description: "a, b < c, d" lets c and d import a and b, and nothing else may import anything of
// ours. A name ending in /... stands for all packages below it, except that these never import each other unless a line names
// one of them. Do not relax it to fix a build: a new line is a commit of its own, with its reason in docs/RATIONALE.md.
const rules = `
	types < tensor, expr
	types, expr < te, arith, loop, intrin
	types, expr, tensor < expr/eval
	types, expr, expr/eval, tensor, te < te/teinterp
	types, expr, expr/eval, tensor, loop < loop/interp
	types, expr, loop < loop/build

	types, expr, tensor, te < op
	types, expr, tensor, te, op < ops
	types, tensor, op, choice < graph
	types, op, graph < graph/rewrite
	types, tensor, op, graph < graph/grapheval
	types, tensor, op, ops, graph < testkit/graphtest
	types, tensor, graph, graph/grapheval, compose < testkit/evaltest
	types, tensor, op, ops, graph < compose
	types, tensor, op, ops, graph, compose < frontend, frontend/..., export/...
	dim < frontend
	container/... < frontend/...
	frontend < frontend/...
	frontend/tfops < frontend/tensorflow, frontend/tflite
	frontend/... < frontend/formats
	types, tensor, export/onnx < testkit/onnxtest
	testkit/hdf5test < testkit/kerastest
	testkit/kerastest, testkit/onnxtest < testkit/resnettest

	types, expr, te, arith, loop < lower
	types, expr, tensor, te, te/teinterp, loop, loop/interp, lower < testkit/tetest
	types, expr, arith, loop, target < sched
	types, expr, te, arith, loop, loop/build, tensor, op, ops, graph, target, lower, sched, choice < impl
	types, expr, arith, loop, loop/build, tensor, op, ops, graph, graph/rewrite, target, lower, sched, choice, impl < impl/...
	impl/... < impl/algorithms, pass
	types, tensor, op, ops, graph, target, tool/spelling < byoc
	types, tensor, op, ops, graph, graph/rewrite, target, byoc, tool/spelling < byoc/...
	isa, /runtime/dnnl < byoc/dnnl
	export/onnx < byoc/plugin
	byoc/... < byoc/codegens
	types, tensor, target, op, ops, graph, graph/rewrite, compose, impl, pipeline, choice, byoc < pass
	graph, target, pass < testkit/passtest
	types, expr, arith, loop, target, pipeline < looppass
	types, expr, arith, loop, intrin, target < codegen/...
	bundle < codegen/llvm
	types, op, ops, graph, impl < plan

	isa < isa/..., cpu, target, codegen/llvm, testkit/crosstest, compile
	isa/x86, isa/aarch64, isa/riscv < cpu
	isa/x86, isa/aarch64, isa/arm, isa/riscv, isa/wasm < target

	fault < toolchain, compose, frontend, frontend/..., impl/..., pass, pipeline
	tool/excerpt < tool/table, tool/webpage, tool/explain, tool/profile, tool/tuning, frontend/..., tool/cli, tool/cli/run
	tool/table < tool/explain, tool/profile, tool/cli
	tool/spelling < quant, choice, op, ops, graph, graph/grapheval, compose, target, toolchain, frontend, frontend/..., bundle, tool/npz, tool/picture, tool/explain, tool/profile, /runtime
	cpu < testkit/cputest, target, toolchain, host, executor
	bundle, cpu < host
	bundle, host, tool/spelling < executor
	executor, host < /runtime
	/runtime/external < executor, /runtime, /runtime/dnnl
	/runtime/dnnl < executor
	host < evaluate, verify, tool/cli/run
	target < toolchain
	tool/atomicfile < bundle, tool/cli
	tool/readjson < target, bundle, tool/cli/run
	bundle < /runtime
	types, tensor, bundle, target < testkit/crosstest
	testkit/cctest < testkit/amxtest
	cpu, target, toolchain < testkit/targettest
	types, tensor, tool/npz, graph, frontend, compile, testkit/targettest, verify < testkit/modeltest
	bundle, target < tool/explain
	types, tensor, expr, te, op, ops, graph, compose, pipeline, pass, choice, lower, sched, impl, impl/algorithms, loop, looppass < compile
	byoc, plan, codegen/llvm, codegen/c, toolchain, bundle, target, tool/explain, fault, tool/spelling < compile
	compose, export/xir, byoc/dpu/positions < byoc/dpu
	types, tensor < quant/calibrate
	quant/calibrate < byoc/dpu/positions
	types, tensor, byoc/dpu/positions, tool/atomicfile, /runtime < tool/calibration
	byoc/dpu/positions, dataset, tool/calibration < tool/cli/run
	types, tensor, ops, graph, graph/grapheval, compose, fault, tool/atomicfile, bundle, compile, /runtime < verify
	target, toolchain < tool/machine
	/runtime, tool/webpage < tool/profile
	tool/spelling, target < tool/cli
	tool/picture, tool/spelling, tool/cli < tool/cli/preprocess
	types, tensor, tool/npz, tool/picture, tool/spelling, tool/cli, tool/cli/preprocess, tool/profile, /runtime < tool/cli/run
	tool/version, tool/cli, tool/cli/run, tool/profile < /cmd/lathe-run
	/runtime < /rpc
	types, tensor, tool/npz, tool/picture, tool/spelling < dataset
	types, tensor < quant/calibrate
	types, tensor, op, ops, graph, graph/rewrite, compose, pass, pipeline, target, quant/calibrate < quant
	quant, evaluate/metrics, tool/spelling, tool/table, tool/webpage < tool/quantizing
	types, tensor, cpu, bundle, dataset, evaluate/metrics, evaluate/heatmap, /runtime < evaluate
	tool/npz, tool/picture, tool/spelling, tool/readjson, tool/excerpt, tool/table, tool/atomicfile, tool/explain, tool/webpage < evaluate
	choice < records
	choice, records, tool/spelling, tune/trees < tune
	records, tune, tool/spelling, tool/webpage < tool/tuning
	bundle, cpu, tensor, types, executor, choice < measure
	records < compile
	fault, tool/spelling < child
	child < measure, trial
	bundle, choice, compile, host, records, tune, measure, executor < trial

	types, tensor, export/onnx < /bench/model
	types, tensor, /bench/model, testkit/resnettest < /bench/zoo
	types, tensor, /bench/model, /bench/zoo < /bench/sweep
`

// free lists packages that may import everything: the public API, the command lathe, and what compares all of it with the
// definitions of operators.
var free = []string{"/", "/cmd/lathe", "/test/fuzz"}

func TestImports(t *testing.T) {
	p := parsePolicy(rules)
	// Parse the files here rather than asking go list: the test cache follows files this process opens, not those a
	// child opens, and would keep a stale pass.
	root := filepath.Join("..", "..")
	seen := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if f.Name.Name == "main" && !strings.HasPrefix(path, filepath.Join(root, "cmd")) {
			return nil // generators and trainers
		}
		seen++
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		from := short(filepath.ToSlash(dir))
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if to, ours := strings.CutPrefix(name+"/", module+"/"); ours && !p.allows(from, short(strings.TrimSuffix(to, "/"))) {
				t.Errorf("%s: %s may not import %s", path, from, short(strings.TrimSuffix(to, "/")))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("looked at %d files only", seen)
	}
}

// short names packages as the rules do: without internal/, and public ones with a leading slash.
func short(dir string) string {
	if inner, ok := strings.CutPrefix(dir, "internal/"); ok {
		return inner
	}
	return "/" + strings.TrimPrefix(dir, ".")
}

// A policy maps an importer, or a family of importers, to what it may import.
type policy map[string][]string

func parsePolicy(text string) policy {
	p := policy{}
	for line := range strings.Lines(text) {
		below, above, ok := strings.Cut(strings.TrimSpace(line), " < ")
		if !ok {
			continue
		}
		for _, a := range strings.Split(above, ", ") {
			p[a] = append(p[a], strings.Split(below, ", ")...)
		}
	}
	return p
}

func (p policy) allows(from, to string) bool {
	if from == to {
		return true
	}
	for _, f := range free {
		if matches(f, from) {
			return true
		}
	}
	for family, allowed := range p {
		if matches(family, from) && slices.ContainsFunc(allowed, func(a string) bool { return matches(a, to) }) {
			return true
		}
	}
	return false
}

// matches reports whether a name of the rules stands for the package.
func matches(rule, pkg string) bool {
	if family, ok := strings.CutSuffix(rule, "/..."); ok {
		return strings.HasPrefix(pkg, family+"/")
	}
	return rule == pkg
}

// TestPolicy holds the policy to what it is for, so that an edit of the text cannot quietly lose it.
func TestPolicy(t *testing.T) {
	p := parsePolicy(rules)
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"tensor", "types", true}, {"types", "tensor", false}, {"graph", "ops", false}, {"te", "arith", false}, {"arith", "loop", false},
		{"isa", "types", false}, {"isa/x86", "isa/arm", false}, {"impl", "isa/x86", false}, {"codegen/llvm", "isa/arm", false}, {"/runtime", "isa/x86", false},
		{"loop", "loop/interp", false}, {"/runtime", "bundle", true}, {"/runtime", "types", false}, {"bundle", "types", false},
		{"/runtime", "graph", false}, {"/runtime", "executor", true}, {"executor", "/runtime", false}, {"executor", "types", false}, {"measure", "/runtime", false}, {"/rpc", "bundle", false}, {"tune", "/rpc", false}, {"tune", "measure", false}, {"measure", "compile", false}, {"measure", "tune", false}, {"trial", "compile", true}, {"frontend/onnx", "frontend/tflite", false}, {"frontend/tflite", "frontend/tfops", true}, {"frontend/keras", "frontend/tfops", false}, {"frontend/tflite", "frontend/tensorflow", false},
		{"frontend/keras", "container/hdf5", true}, {"container/hdf5", "container/pickle", false}, {"container/hdf5", "tensor", false}, {"/runtime", "container/hdf5", false},
		{"frontend/onnx", "pass", false}, {"pass", "frontend/onnx", false}, {"codegen/llvm", "toolchain", false},
		{"codegen/llvm", "codegen/c", false}, {"sched", "lower", false}, {"looppass", "sched", false}, {"compile", "sched", true},
		{"compile", "/runtime", false}, {"evaluate", "compile", false}, {"dataset", "/runtime", false}, {"quant", "pass", true}, {"quant", "compile", false}, {"quant", "/runtime", false}, {"quant/calibrate", "graph", false}, {"pass", "quant", false}, {"evaluate/metrics", "evaluate/heatmap", false}, {"compile", "verify", false}, {"compile", "frontend/onnx", false}, {"plan", "compile", false}, {"verify", "compile", true},
		{"impl/winograd", "impl", true}, {"impl/winograd", "impl/strips", false}, {"impl", "impl/winograd", false},
		{"pass", "byoc", true}, {"compile", "byoc", true}, {"compile", "byoc/dnnl", false}, {"pass", "byoc/dnnl", false}, {"byoc", "pass", false}, {"byoc/dnnl", "byoc/dpu", false}, {"byoc/codegens", "byoc/dnnl", true}, {"byoc/dpu", "pass", false}, {"tool/cli/run", "byoc/dpu", false}, {"tool/calibration", "graph", false}, {"/runtime", "byoc", false},
		{"impl/algorithms", "impl/winograd", true}, {"pass", "impl/winograd", true}, {"impl/winograd", "pass", false}, {"compile", "impl/winograd", false},
		{"/cmd/lathe", "compile", true}, {"/cmd/lathe-run", "compile", false}, {"tool/cli/run", "toolchain", false}, {"/", "compile", true}, {"pass", "compile", false}, {"testkit/golden", "types", false},
	} {
		if got := p.allows(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: allowed is %v", c.from, c.to, got)
		}
	}
}

// TestTables: only package table aligns columns, because its cells are excerpts.
func TestTables(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, dir := range []string{"cmd", "internal", "runtime", "test"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || filepath.Base(filepath.Dir(path)) == "table" {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, i := range f.Imports {
				if i.Path.Value == `"text/tabwriter"` {
					t.Errorf("%s imports text/tabwriter: tables are those of internal/tool/table, which cut and escape names", path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
