package compile

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/frontend/onnx"
	"lathe/internal/graph"
	"lathe/internal/loop"
	"lathe/internal/testkit/targettest"
)

func TestParseDebug(t *testing.T) {
	d, err := ParseDebug("dump=graph, time,dump=ll,dir=/x,pass=fuse,kernel=conv,stop=FuseOps")
	if err != nil {
		t.Fatal(err)
	}
	want := Debug{Dump: []string{"graph", "ll"}, Dir: "/x", Pass: "fuse", Kernel: "conv", Stop: "FuseOps", Time: true}
	if !slices.Equal(d.Dump, want.Dump) || d.Dir != want.Dir || d.Pass != want.Pass || d.Kernel != want.Kernel || d.Stop != want.Stop || !d.Time || d.Help {
		t.Errorf("%+v instead of %+v", d, want)
	}
	if d, err := ParseDebug(""); err != nil || len(d.Dump) > 0 || d.Time {
		t.Errorf("nothing asked for gives %+v, %v", d, err)
	}
	if d, err := ParseDebug("pass=fuse"); err != nil || len(d.Dump) != len(dumpKinds) {
		t.Errorf("a pass alone dumps %v, %v", d.Dump, err)
	}
	for text, want := range map[string]string{
		"dmp=all": `unknown setting "dmp"; did you mean dump?`, "dump=graphs": `unknown dump "graphs"; did you mean graph?`,
		"dump": "dump needs a value", "time=1": "time takes no value", "stop=Fuse": `unknown pass "Fuse"; did you mean FuseNormalization, FuseAttention, FuseOps?`,
		"dir=": "dir needs a value",
	} {
		if _, err := ParseDebug(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error with %s", text, err, want)
		}
	}
	for _, s := range debugSettings {
		if !strings.Contains(DebugHelp, "\n  "+s.name) {
			t.Errorf("the help does not list %s", s.name)
		}
	}
}

// digits is the demo's network.
func digits(t *testing.T) *graph.Graph {
	t.Helper()
	m, err := onnx.ReadFile("../../examples/demo/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	g, err := onnx.Import(m, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestDumps dumps everything, reads all of it again, and compiles from every dumped graph to the same bytes.
func TestDumps(t *testing.T) {
	dir := t.TempDir()
	o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2, Debug: Debug{Dump: dumpKinds, Dir: dir}}
	want, err := Compile(context.Background(), digits(t), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Debug = Debug{}
	graphs, _ := filepath.Glob(filepath.Join(dir, "*.graph"))
	if len(graphs) < 5 {
		t.Fatalf("only %v dumped", graphs)
	}
	for _, path := range graphs {
		g, after, err := ReadGraph(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		o.After = after
		got, err := Compile(context.Background(), g, o)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		if !bytes.Equal(got.Contents.Library, want.Contents.Library) {
			t.Errorf("%s compiles to another library", filepath.Base(path))
		}
		for i, p := range got.Contents.Params {
			if !bytes.Equal(dataOf(t, p), dataOf(t, want.Contents.Params[i])) {
				t.Errorf("%s: parameter %s differs", filepath.Base(path), p.Name)
			}
		}
	}
	checkKernelDumps(t, filepath.Join(dir, "kernels"))
}

func checkKernelDumps(t *testing.T, dir string) {
	kinds := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		kinds[filepath.Ext(path)]++
		text, err := os.ReadFile(path)
		if err == nil && filepath.Ext(path) == ".loop" {
			_, err = loop.Parse(string(text))
		}
		if err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
		return nil
	})
	if err != nil || kinds[".loop"] < 6*kinds[".ll"] || kinds[".ll"] == 0 || kinds[".s"] != kinds[".ll"] {
		t.Errorf("dumped %v, %v", kinds, err)
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct{ stop, last string }{{"FoldConstant", "*_FoldConstant.graph"}, {"LowerBlocks", "kernels/*/*_LowerBlocks.loop"}} {
		dir := t.TempDir()
		o := Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2, Debug: Debug{Dump: dumpKinds, Dir: dir, Stop: c.stop}}
		if _, err := Compile(context.Background(), digits(t), o); !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), dir) {
			t.Errorf("stop=%s: %v", c.stop, err)
		}
		if last, _ := filepath.Glob(filepath.Join(dir, c.last)); len(last) == 0 {
			t.Errorf("stop=%s: no %s", c.stop, c.last)
		}
		for _, later := range []string{"*_FuseOps.graph", "kernels/*/*_HoistGuards.loop", "kernels/*/*.ll"} {
			if found, _ := filepath.Glob(filepath.Join(dir, later)); len(found) > 0 && (c.stop == "FoldConstant" || !strings.HasSuffix(later, ".graph")) {
				t.Errorf("stop=%s: there is %v", c.stop, found)
			}
		}
	}
}
