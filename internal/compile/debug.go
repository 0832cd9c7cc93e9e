package compile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lathe/internal/graph"
	"lathe/internal/loop"
	"lathe/internal/looppass"
	"lathe/internal/ops"
	"lathe/internal/pass"
	"lathe/internal/pipeline"
	"lathe/internal/tool/spelling"
)

// DebugVariable is the environment variable that ParseDebug's text comes from.
const DebugVariable = "LATHE_DEBUG"

// Debug asks for a look into a compilation. The zero value asks for nothing.
type Debug struct {
	Dump   []string // what to write: graph, loop, ll, asm
	Dir    string   // where
	Pass   string   // only the dumps after passes with this in their name; "" all
	Kernel string   // only the dumps of kernels with this in their name; "" all
	Stop   string   // end after this pass with an error that is ErrStopped
	Time   bool     // print what takes how long
	Help   bool     // the user asks for DebugHelp
	Stack  bool     // print where the compiler was when an invariant broke
}

// DebugHelp is what LATHE_DEBUG=help prints.
const DebugHelp = `LATHE_DEBUG is a list of these, separated by commas:
  help         print this list
  time         print how long each pass and phase takes, to standard error
  dump=WHAT    write what the compiler holds, numbered in order: graph (after each pass), loop (each kernel, as lowered,
               scheduled and after each loop pass), ll, asm (each kernel), or all; may be given several times
  dir=DIR      where dumps go (default lathe-debug)
  pass=NAME    only dumps whose pass has NAME in it, whatever the case: FuseOps, schedule, LowerBlocks, ll, asm ...
  kernel=NAME  only dumps of kernels with NAME in their name
  stop=PASS    end after this pass ('lathe passes' lists them)
  stack        print where the compiler was when it failed in itself
A dumped graph is a model: lathe compile lathe-debug/NN_FuseOps.graph goes on after that pass.
`

// ErrStopped is the error of a compilation that ended where Debug.Stop says.
var ErrStopped = errors.New("stopped")

var dumpKinds = []string{"graph", "loop", "ll", "asm"}

// debugSettings are the words of the list, with how each reads its value. Those without a value get an empty one.
var debugSettings = []struct {
	name  string
	value bool
	set   func(d *Debug, v string) error
}{
	{"help", false, func(d *Debug, _ string) error { d.Help = true; return nil }},
	{"time", false, func(d *Debug, _ string) error { d.Time = true; return nil }},
	{"stack", false, func(d *Debug, _ string) error { d.Stack = true; return nil }},
	{"dump", true, (*Debug).addDump},
	{"dir", true, func(d *Debug, v string) error { d.Dir = v; return nil }},
	{"pass", true, func(d *Debug, v string) error { d.Pass = v; return nil }},
	{"kernel", true, func(d *Debug, v string) error { d.Kernel = v; return nil }},
	{"stop", true, func(d *Debug, v string) error {
		d.Stop = v
		return known("pass", v, passNames())
	}},
}

// ParseDebug reads a list of settings such as "dump=all,dir=DIR,time,pass=fuse,stop=FuseOps". Asking for dumps of certain
// passes or kernels without saying which kind asks for all kinds.
func ParseDebug(text string) (Debug, error) {
	d := Debug{Dir: "lathe-debug"}
	for _, word := range strings.Split(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if err := d.setting(word); err != nil {
			return Debug{}, fmt.Errorf("%s: %w (%s=help lists the settings)", DebugVariable, err, DebugVariable)
		}
	}
	if len(d.Dump) == 0 && (d.Pass != "" || d.Kernel != "") {
		d.Dump = dumpKinds
	}
	return d, nil
}

func (d *Debug) setting(word string) error {
	name, value, hasValue := strings.Cut(word, "=")
	var names []string
	for _, s := range debugSettings {
		names = append(names, s.name)
		if s.name != name {
			continue
		}
		switch {
		case s.value && value == "":
			return fmt.Errorf("%s needs a value: write %s=VALUE", name, name)
		case !s.value && hasValue:
			return fmt.Errorf("%s takes no value", name)
		}
		return s.set(d, value)
	}
	return known("setting", name, names)
}

func known(what, name string, names []string) error {
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("unknown %s %q%s", what, name, spelling.Hint(name, names))
}

func (d *Debug) addDump(v string) error {
	if v == "all" {
		d.Dump = dumpKinds
		return nil
	}
	if !slices.Contains(d.Dump, v) {
		d.Dump = append(slices.Clip(d.Dump), v)
	}
	return known("dump", v, append([]string{"all"}, dumpKinds...))
}

func graphPassNames() []string {
	var names []string
	for _, p := range pass.Table {
		names = append(names, p.Name)
	}
	return names
}

func passNames() []string {
	names := graphPassNames()
	for _, p := range looppass.Table {
		names = append(names, p.Name)
	}
	return names
}

// wants reports whether to dump a kind after a stage: a pass, or the kind itself where there is none.
func (d *Debug) wants(kind, stage string) bool {
	return slices.Contains(d.Dump, kind) && contains(stage, d.Pass)
}

func contains(name, part string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(part))
}

// A graphDump writes the graph after passes, NN_PASS.graph, and the constants of all of them, graph.consts.
type graphDump struct {
	*Debug
	consts *graph.Consts
	n      int
	wrote  bool
}

// graphStage is how the first line of a dumped graph names the pass that made it.
const graphStage = "// after "

// graph writes g as it is after a stage.
func (d *graphDump) graph(stage string, g *graph.Graph) error {
	n := d.n
	d.n++
	if !d.wants("graph", stage) {
		return nil
	}
	d.wrote = true
	return d.write(fmt.Sprintf("%02d_%s.graph", n, stage), graphStage+stage+"\n"+graph.Print(g, d.consts))
}

// finish writes the constants of the dumped graphs.
func (d *graphDump) finish() error {
	if !d.wrote {
		return nil
	}
	return d.consts.WriteFile(filepath.Join(d.Dir, constsName))
}

// constsName is the file beside dumped graphs that holds their constants.
const constsName = "graph.consts"

// ReadGraph reads a dumped graph, with its constants from NAME.consts or graph.consts beside it, and the name of the pass
// that made it, which is empty where none did.
func ReadGraph(path string) (g *graph.Graph, after string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	var consts *graph.Consts
	for _, side := range []string{strings.TrimSuffix(path, filepath.Ext(path)) + ".consts", filepath.Join(filepath.Dir(path), constsName)} {
		if consts, err = graph.ReadConstsFile(side); err == nil {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, "", err
		}
	}
	if g, err = graph.Parse(string(text), ops.Lookup, consts); err == nil {
		err = graph.Verify(g)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if stage, ok := strings.CutPrefix(first, graphStage); ok && stage != "input" {
		if after = stage; !slices.Contains(graphPassNames(), after) {
			return nil, "", fmt.Errorf("%s: the first line says the graph was made by %q, which is no pass of graphs", path, after)
		}
	}
	return g, after, nil
}

// A kernelDump writes a kernel through its stages, into a folder of its own; of equal kernels each has one.
type kernelDump struct {
	*Debug
	kernels []string
	n       int
}

// text writes a stage of the kernel; print is called when the dump is wanted.
func (d *kernelDump) text(kind, stage, file string, print func() (string, error)) error {
	n := d.n
	d.n++
	for _, kernel := range d.kernels {
		if !d.wants(kind, stage) || !contains(kernel, d.Kernel) {
			continue
		}
		s, err := print()
		if err != nil {
			return err
		}
		if err := d.write(filepath.Join("kernels", kernel, fmt.Sprintf("%02d%s", n, file)), s); err != nil {
			return err
		}
	}
	return nil
}

func (d *kernelDump) loop(stage string, f *loop.Func) error {
	return d.text("loop", stage, "_"+stage+".loop", func() (string, error) { return f.String(), nil })
}

// code writes the LLVM IR, before LLVM may refuse it, and the assembly of one of the kernels.
func (d *kernelDump) code(kernel, ir string, assembly func() (string, error)) error {
	d = &kernelDump{Debug: d.Debug, kernels: []string{kernel}, n: d.n}
	if err := d.text("ll", "ll", ".ll", func() (string, error) { return ir, nil }); err != nil {
		return err
	}
	return d.text("asm", "asm", ".s", assembly)
}

// writable refuses a folder that dumps cannot be written to.
func (d *Debug) writable() error {
	if len(d.Dump) == 0 {
		return nil
	}
	err := os.MkdirAll(d.Dir, 0o777)
	if err == nil && unix.Access(d.Dir, unix.W_OK) != nil {
		err = fmt.Errorf("cannot write in %s", d.Dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", DebugVariable, err)
	}
	return nil
}

func (d *Debug) write(name, text string) error {
	path := filepath.Join(d.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("%s: %w", DebugVariable, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return fmt.Errorf("%s: %w", DebugVariable, err)
	}
	return nil
}

// stopsLoops reports whether a loop pass is the last thing to do.
func (d *Debug) stopsLoops() bool {
	return slices.ContainsFunc(looppass.Table, func(p pipeline.Pass[*loop.Func]) bool { return p.Name == d.Stop })
}

// stopped is the error of a compilation that ends after a pass because the user asks for it.
func (d *Debug) stopped() error {
	text := fmt.Sprintf("after pass %s, as %s asks", d.Stop, DebugVariable)
	if len(d.Dump) > 0 {
		text += "; dumps are in " + d.Dir
	}
	return fmt.Errorf("%w %s", ErrStopped, text)
}
