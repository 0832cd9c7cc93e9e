package trial

import (
	"context"
	"fmt"
	"lathe/internal/executor"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/measure"
	"lathe/internal/records"
	"lathe/internal/target"
	"lathe/internal/toolchain"
	"lathe/internal/tune"
)

// TestMain lets the test program be the children.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case "build":
			ServeBuilds(os.Stdin, os.Stdout, network)
			return
		case "measure":
			measure.Serve(os.Stdin, os.Stdout)
			return
		}
	}
	os.Exit(m.Run())
}

func network(path []byte) (*compile.Session, error) {
	g, err := networkNamed(string(path))
	if err != nil {
		return nil, err
	}
	spec, err := target.Parse("llvm")
	if err != nil {
		return nil, err
	}
	t, err := spec.Resolve(toolchain.Host)
	if err != nil {
		return nil, err
	}
	return compile.OpenSession(context.Background(), g, compile.Options{Target: t, Level: 3, Workers: 1})
}

func open(t *testing.T) *Farm {
	t.Helper()
	return openNamed(t, "../../examples/demo/digits.onnx")
}

var rule = tune.Stop{Pairs: []int{3, 5}, Bound: 0.9, Number: 1, Workers: 1}

// TestFarm: points are built and raced; one without a decision is the network's own kernel; the package of points is made by what they took.
func TestFarm(t *testing.T) {
	f := open(t)
	var list []tune.Candidate
	for i := range f.Kernels() {
		list = append(list, tune.Candidate{Task: i, Point: choice.Point{}})
	}
	own, err := f.Build(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	list = nil
	for _, b := range own {
		if !b.Same || b.Fault != records.None {
			t.Errorf("%s: without a point it is not the network's kernel: %s", f.Kernels()[b.Task].Kernels[0], b.Message)
		}
		for _, d := range b.Asked {
			if i := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text != b.Taken[d.Name] }); i >= 0 {
				list = append(list, tune.Candidate{Task: b.Task, Point: choice.Point{d.Name: d.Values[i].Text}})
			}
		}
	}
	built, err := f.Build(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []tune.Candidate{{Task: list[0].Task}, list[0]} {
		text, err := f.Assembly(t.Context(), c)
		if err != nil || !strings.Contains(text, "ret") {
			t.Errorf("assembly %d: %v: %.100s", i, err, text)
		}
	}
	for _, stop := range []tune.Stop{rule, {Pairs: []int{3}, Bound: 0.9, Workers: 2}, {Pairs: []int{3}, Bound: 0.9, Workers: 1, Accept: 0.99}} {
		samples, err := f.Race(t.Context(), built, stop)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range samples {
			if s.Fault != records.None || len(s.Times) < 3 || len(s.Times) != len(s.Host) || slices.Min(s.Host) <= 0 {
				t.Errorf("%v: %v", list[i], s)
			}
		}
	}
	points := map[int]choice.Point{list[0].Task: list[0].Point}
	path := filepath.Join(t.TempDir(), "tuned.tar")
	info, err := f.Pack(t.Context(), points, path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := info.Steps[f.Kernels()[list[0].Task].Steps[0].Index].Point, built[0].Taken; !maps.Equal(got, map[string]string(want)) {
		t.Errorf("the package has %v, and %v was built", got, want)
	}
	tuned, host, err := f.Networks(t.Context(), points, 2, 3)
	if err != nil || len(tuned) != 6 || len(host) != 6 {
		t.Errorf("%v %v %v", tuned, host, err)
	}
	if ratios, err := f.Noise(t.Context(), time.Millisecond); err != nil || len(ratios) < 3 {
		t.Errorf("%v %v", ratios, err)
	}
	if built, err := f.Build(t.Context(), []tune.Candidate{{Task: 0, Point: choice.Point{"rule": "none of this name"}}}); err != nil || built[0].Fault != records.None {
		t.Errorf("a value that there is not is left to the rules: %v %v", built, err)
	}
}

// TestNotOpened: a network that cannot be read or compiled is an error, and leaves nothing behind.
func TestNotOpened(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := Open(t.Context(), Options{Network: []byte("there is no such file"), Program: os.Args[0], Builder: []string{"build"}, Measurer: []string{"measure"}})
	if f != nil || err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v, %v", f, err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestContained: candidates that crash, hang, write behind their scratch or compute something else are found among others, which
// race on, and say why.
func TestContained(t *testing.T) {
	f := open(t)
	own, err := f.Build(t.Context(), []tune.Candidate{{Task: 0, Point: choice.Point{}}, {Task: 1, Point: choice.Point{}}})
	if err != nil {
		t.Fatal(err)
	}
	code := f.codes[own[0].Object].Code
	list := []tune.Built{own[0]}
	want := []records.Fault{records.None}
	for _, c := range []struct {
		fault records.Fault
		body  string
	}{
		{records.RuntimeDevice, "  store i32 1, ptr null\n  ret i32 0\n"},
		{records.WrongAnswer, "  ret i32 0\n"},
		{records.RunTimeout, "  br label %on\non:\n  store volatile i32 1, ptr %there\n  br label %on\n"},
		{records.RuntimeDevice, "  %sp = getelementptr i8, ptr %ctx, i64 40\n  %s = load ptr, ptr %sp\n  %behind = getelementptr i8, ptr %s, i64 64\n  store i8 1, ptr %behind\n  ret i32 0\n"},
		{records.RuntimeDevice, "  call void asm sideeffect \"ud2\", \"\"()\n  ret i32 0\n"},
		{records.WrongAnswer, "  %st = getelementptr i8, ptr %ctx, i64 80\n  store i32 1, ptr %st\n  ret i32 1\n"},
	} {
		path := filepath.Join(t.TempDir(), "bad.so")
		bad(t, path, code.Run, code.Part, c.body)
		f.codes[path] = candidate{Code: executor.VariantInfo{Path: path, Run: code.Run, Part: code.Part, Scratch: 64}}
		list, want = append(list, tune.Built{Candidate: tune.Candidate{Task: 0}, Object: path}), append(want, c.fault)
	}
	list, want = append(list, own[1]), append(want, records.None)
	saved := leastLimit
	leastLimit = time.Second
	defer func() { leastLimit = saved }()
	samples, err := f.Race(t.Context(), list, rule)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range samples {
		if s.Fault != want[i] || (s.Fault == records.None) != (len(s.Times) >= 3) || (s.Fault != records.None) == (s.Message == "") {
			t.Errorf("candidate %d: fault %d (%s) after %d pairs, want %d", i, s.Fault, s.Message, len(s.Times), want[i])
		}
	}
}

// bad writes a library whose functions have a body.
func bad(t *testing.T, path, run, part, body string) {
	t.Helper()
	m, err := toolchain.Open(toolchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, name := range []string{run, part} {
		text += fmt.Sprintf("define i32 @%s(ptr %%ctx, i32 %%worker, i32 %%workers, i32 %%step, i32 %%part) nounwind null_pointer_is_valid {\n  %%there = alloca i32\n%s}\n", name, body)
	}
	o, err := m.Compile(text, "")
	if err != nil {
		t.Fatal(err)
	}
	library, err := toolchain.Link([]toolchain.Object{o}, toolchain.LinkOptions{Exports: []string{run, part}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, library, 0o700); err != nil {
		t.Fatal(err)
	}
}
