package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/target"
)

// FoldersVariable lists folders with programs, separated by colons.
const FoldersVariable = "LATHE_PLUGINS"

// FileName is the name of the program of a generator.
func FileName(name string) string { return "lathe-codegen-" + name }

// Find returns the generator whose program lies beside this one, in a folder of LATHE_PLUGINS or in one of PATH; nil where there is none.
func Find(name string) (*byoc.Codegen, error) {
	path := locate(name)
	if path == "" {
		return nil, nil
	}
	return open(context.Background(), name, program{path, helloLimit, workLimit})
}

func locate(name string) string {
	if strings.ContainsAny(name, "/\\") {
		return ""
	}
	var folders []string
	if self, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(self))
	}
	folders = append(folders, filepath.SplitList(os.Getenv(FoldersVariable))...)
	for _, dir := range folders {
		path := filepath.Join(dir, FileName(name))
		if st, err := os.Stat(path); dir != "" && err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path
		}
	}
	path, err := exec.LookPath(FileName(name))
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// open greets a program.
func open(ctx context.Context, name string, p program) (*byoc.Codegen, error) {
	var h hello
	if err := p.ask(ctx, &h, nil, nil); err != nil {
		return nil, fmt.Errorf("external code generator %s (%s): %w", name, p.path, err)
	}
	g := &generator{program: p, name: name}
	c, err := g.codegen(h)
	if err != nil {
		return nil, fmt.Errorf("external code generator %s (%s): %w", name, p.path, err)
	}
	return c, nil
}

// A generator is a program that has said hello.
type generator struct {
	program
	name string
}

// optionName is the form of options' names.
var optionName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

func (g *generator) codegen(h hello) (*byoc.Codegen, error) {
	if err := h.err(); err != nil {
		return nil, err
	}
	switch {
	case h.Protocol != Version:
		return nil, fmt.Errorf("it speaks version %d of the protocol, and this lathe version %d", h.Protocol, Version)
	case h.Name != g.name:
		return nil, fmt.Errorf("it says that its name is %q", line(h.Name))
	}
	c := &byoc.Codegen{Name: g.name, Doc: line(h.Doc), Claim: g.claim, Compile: g.compile}
	for _, o := range h.Options {
		kind, ok := optionTypes[o.Type]
		if !ok || !optionName.MatchString(o.Name) || slices.ContainsFunc(c.Options, func(p target.OptionInfo) bool { return p.Name == o.Name }) {
			return nil, fmt.Errorf("an option %q of type %q, or twice", line(o.Name), line(o.Type))
		}
		c.Options = append(c.Options, target.OptionInfo{Name: o.Name, Type: kind, Doc: line(o.Doc)})
	}
	return c, nil
}

// inFolder calls f with a folder that lasts as long.
func inFolder(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "lathe-codegen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return f(dir)
}

// write writes g as ONNX.
func write(path string, g *graph.Graph) error {
	b, err := file(g)
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

// named is g with names of nodes that begin with their numbers.
func named(g *graph.Graph) *graph.Graph {
	g = g.Clone()
	for i, n := range g.Nodes {
		origin := n.Op.Name
		if len(n.Origin) > 0 {
			origin = n.Origin[0]
		}
		n.Origin = []string{fmt.Sprintf("%d %s", i, origin)}
	}
	return g
}

// numbered is the node that a node of the file belongs to.
func numbered(name string, g *graph.Graph) (*graph.Node, error) {
	number, _, ok := strings.Cut(name, " ")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(g.Nodes) {
		return nil, fmt.Errorf("there is no node %q", line(name))
	}
	return g.Nodes[i], nil
}

func options(o byoc.Options) map[string]string {
	m := map[string]string{}
	for _, v := range o {
		m[v.Name] = v.Value
	}
	return m
}

// claim asks which nodes of a network the program takes.
func (g *generator) claim(ctx context.Context, network *graph.Graph, o byoc.Options) (byoc.Claims, error) {
	var c byoc.Claims
	err := inFolder(func(dir string) error {
		path := filepath.Join(dir, "graph.onnx")
		if err := write(path, network); err != nil {
			return err
		}
		var a claims
		if err := g.ask(ctx, &hello{}, &request{Request: "claim", Graph: path, Options: options(o)}, &a); err != nil {
			return err
		}
		if err := a.err(); err != nil {
			return err
		}
		var err error
		c, err = a.nodes(network)
		return err
	})
	return c, err
}

// compositeName is the form of composites' names.
var compositeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// nodes checks an answer: nodes that there are, none claimed twice.
func (a *claims) nodes(network *graph.Graph) (c byoc.Claims, err error) {
	taken := map[*graph.Node]bool{}
	for _, one := range a.Claims {
		composite := byoc.Composite{Name: one.Composite}
		if one.Composite != "" && !compositeName.MatchString(one.Composite) {
			return c, fmt.Errorf("a composite cannot be called %q", line(one.Composite))
		}
		for _, name := range one.Nodes {
			n, err := numbered(name, network)
			if err != nil {
				return c, err
			}
			if slices.Contains(composite.Members, n) { // one operator is several nodes of the file
				continue
			}
			if taken[n] {
				return c, fmt.Errorf("it claims %q twice", line(name))
			}
			taken[n] = true
			composite.Members = append(composite.Members, n)
		}
		if len(composite.Members) > 0 {
			c.Taken = append(c.Taken, composite)
		}
	}
	c.Refused = map[*graph.Node]string{}
	for _, r := range a.Refused {
		n, err := numbered(r.Node, network)
		if err != nil {
			return c, err
		}
		c.Refused[n] = line(r.Reason)
	}
	return c, nil
}

// runtimeName is the form of the names of run-time modules, which become parts of files' names.
var runtimeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// mostBytes bounds what a region becomes.
const mostBytes = 4 << 30

// compile has the program generate a region.
func (g *generator) compile(ctx context.Context, r byoc.Region, o byoc.Options) (m byoc.Module, err error) {
	b, err := file(r.Graph)
	if err != nil {
		return m, err
	}
	q := request{Symbol: r.Symbol, Options: options(o)}
	if r.Target != nil {
		q.Target = r.Target.Bare()
	}
	return g.generate(ctx, "region.onnx", b, q)
}

// Translate has the program of a generator compile a region that is not a network of ONNX but a file of the extension ext, in a form of the
// generator's own.
func Translate(ctx context.Context, name, ext string, region []byte, symbol string, options map[string]string) ([]byte, error) {
	path := locate(name)
	if path == "" {
		return nil, fmt.Errorf("there is no program %s beside lathe, in a folder of %s or in PATH", FileName(name), FoldersVariable)
	}
	g := &generator{program{path, helloLimit, workLimit}, name}
	m, err := g.generate(ctx, "region"+ext, region, request{Symbol: symbol, Options: options})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileName(name), err)
	}
	return m.Bytes, nil
}

// generate has the program compile a region that is written to a file of that name.
func (g *generator) generate(ctx context.Context, name string, region []byte, q request) (m byoc.Module, err error) {
	err = inFolder(func(dir string) error {
		q.Request, q.Graph, q.Folder = "compile", filepath.Join(dir, name), dir
		if err := os.WriteFile(q.Graph, region, 0o600); err != nil {
			return err
		}
		var a compiled
		if err := g.ask(ctx, &hello{}, &q, &a); err != nil {
			return err
		}
		if err := a.err(); err != nil {
			return err
		}
		m, err = a.module(dir)
		return err
	})
	return m, err
}

func checkModule(kind byoc.Kind, runtime string, cycles int64) error {
	switch {
	case !slices.Contains(byoc.Kinds, kind):
		return fmt.Errorf("a module of kind %q", line(string(kind)))
	case kind == byoc.Blob && !runtimeName.MatchString(runtime):
		return fmt.Errorf("a run-time module cannot be called %q", line(runtime))
	case cycles < 0:
		return fmt.Errorf("%d cycles", cycles)
	}
	return nil
}

// module checks an answer and reads the file that it names.
func (a *compiled) module(dir string) (m byoc.Module, err error) {
	if err := checkModule(byoc.Kind(a.Kind), a.Runtime, a.Cycles); err != nil {
		return m, err
	}
	if a.File == "" || a.File != filepath.Base(a.File) || a.File == "." || a.File == ".." {
		return m, fmt.Errorf("%q is no file of the folder", line(a.File))
	}
	path := filepath.Join(dir, a.File)
	st, err := os.Lstat(path)
	switch {
	case err != nil:
		return m, fmt.Errorf("it did not write %s", a.File)
	case !st.Mode().IsRegular() || st.Size() == 0 || st.Size() > mostBytes:
		return m, fmt.Errorf("%s is no file with 1 byte to %d GiB", a.File, mostBytes>>30)
	}
	m = byoc.Module{Kind: byoc.Kind(a.Kind), Runtime: a.Runtime, WhenFaster: a.WhenFaster, Cycles: a.Cycles}
	for _, n := range a.Notes {
		m.Notes = append(m.Notes, line(n))
	}
	m.Bytes, err = os.ReadFile(path)
	return m, err
}
