package lathe_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"lathe"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
)

// TestMain lets the test program be the children of a tuning.
func TestMain(m *testing.M) {
	if child, err := lathe.TuneChild(); child {
		if err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func digitsModel(t *testing.T) *lathe.Model {
	t.Helper()
	m, err := lathe.Load("examples/demo/digits.onnx", lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func bytesOf(t *testing.T, o lathe.CompileOptions) []byte {
	t.Helper()
	p, err := lathe.Compile(t.Context(), digitsModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.tar")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTune: a tuning that is interrupted goes on with the same file, repeats nothing, and a package compiled by its records is the one of
// the points that its verdict accepted, or the untuned one.
func TestTune(t *testing.T) {
	output := filepath.Join(t.TempDir(), "records.json")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := lathe.TuneOptions{Output: output, Facts: lathe.FactsOfTarget, Trials: 40, Number: 3, Tuner: "random", Workers: 2, Progress: func(p lathe.TuneProgress) {
		if p.Trials >= 16 {
			cancel()
		}
	}}
	if _, err := lathe.Tune(ctx, digitsModel(t), o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	before, err := records.ReadFiles(output)
	if err != nil || len(before.Records) == 0 {
		t.Fatalf("%v, %v", before, err)
	}
	if f, err := os.OpenFile(output, os.O_WRONLY, 0); err == nil { // as a power cut leaves it
		st, _ := f.Stat()
		err = errors.Join(f.Truncate(st.Size()-7), f.Close())
		if err != nil {
			t.Fatal(err)
		}
	}
	o.Progress = nil
	r, err := lathe.Tune(t.Context(), digitsModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Resumed < len(before.Records)-1 || r.Resumed == 0 || r.Trials > o.Trials {
		t.Errorf("%d of %d records were taken up again, %d trials", r.Resumed, len(before.Records), r.Trials)
	}
	choices := map[string]map[string]string{}
	for _, f := range r.Found {
		if !f.Accepted {
			continue
		}
		for _, s := range f.Steps {
			choices[stepName(t, s)] = f.Taken
		}
	}
	var notes []string
	got := bytesOf(t, lathe.CompileOptions{Records: []string{output}, Notes: func(s string) { notes = append(notes, s) }})
	if !bytes.Equal(got, bytesOf(t, lathe.CompileOptions{Choices: choices})) {
		t.Errorf("the package by records is not that of %v", choices)
	}
	if len(notes) == 0 || !strings.Contains(notes[0], "compiled by records") {
		t.Errorf("notes: %q", notes)
	}
	if len(r.HostRuns) == 0 {
		t.Error("no whole runs were timed")
	}
}

func stepName(t *testing.T, step int) string {
	t.Helper()
	p, err := lathe.Compile(t.Context(), digitsModel(t), lathe.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p.Info().Steps[step].Name
}

// TestRecords: records that a verdict accepted make the package that the same choices make; others, and those that no longer fit, change no
// byte.
func TestRecords(t *testing.T) {
	tasks, err := lathe.TuneTasks(t.Context(), digitsModel(t), lathe.TuneOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plain := bytesOf(t, lathe.CompileOptions{})
	var of lathe.TuneTask
	for _, k := range tasks {
		if _, ok := k.Default["steps"]; ok && k.Default["steps"] != "1" {
			of = k
		}
	}
	if of.Name == "" {
		t.Fatal("no kernel decides on steps")
	}
	compiled := func(accepted bool, change choice.Point, edit func(*records.Record)) ([]byte, string) {
		rec := records.Record{
			Version: records.Version, Key: records.Key(of.Record), Point: change, Stage: records.Network, Accepted: accepted, Ratio: 0.9, Low: 0.8, High: 0.95, Network: "other",
			Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), By: records.By{Rules: compile.Rules},
		}
		edit(&rec)
		path := filepath.Join(t.TempDir(), "records.json")
		w, err := records.Append(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		var notes strings.Builder
		b := bytesOf(t, lathe.CompileOptions{Records: []string{path}, Notes: func(s string) { notes.WriteString(s + "\n") }})
		return b, notes.String()
	}
	none := func(*records.Record) {}
	given := map[string]map[string]string{}
	for _, s := range of.Steps {
		given[stepName(t, s)] = map[string]string{"steps": "1"}
	}
	want := bytesOf(t, lathe.CompileOptions{Choices: given})
	if b, notes := compiled(true, choice.Point{"steps": "1"}, none); !bytes.Equal(b, want) || bytes.Equal(b, plain) || !strings.Contains(notes, "1 of them proved in another network") {
		t.Errorf("an accepted record does not make the package of its point: %s", notes)
	}
	for name, c := range map[string]struct {
		accepted bool
		point    choice.Point
		edit     func(*records.Record)
		note     string
	}{
		"refused":        {false, choice.Point{"steps": "1"}, none, "0 of"},
		"another kernel": {true, choice.Point{"steps": "1"}, func(r *records.Record) { r.Kernel = "0" }, "0 of"},
		"another class":  {true, choice.Point{"steps": "1"}, func(r *records.Record) { r.Class = "l1=1" }, "0 of"},
		"another target": {true, choice.Point{"steps": "1"}, func(r *records.Record) { r.Target = "arm" }, "0 of"},
		"a search":       {true, choice.Point{"steps": "1"}, func(r *records.Record) { r.Stage = records.Search }, "0 of"},
		"unfit":          {true, choice.Point{"steps": "5"}, none, `has no value "5"`},
	} {
		if b, notes := compiled(c.accepted, c.point, c.edit); !bytes.Equal(b, plain) || !strings.Contains(notes, c.note) {
			t.Errorf("%s: the package is another than without records, or nothing is said: %s", name, notes)
		}
	}
	log := filepath.Join(t.TempDir(), "autotvm.json")
	line := `{"input": ["llvm", "conv2d_NCHWc.x86", [["TENSOR", [1, 3, 224, 224], "float32"]], {}], "config": {"index": 1, "code_hash": null, "entity": []}, "result": [[0.1], 0, 1.0, 1.0], "version": 0.2, "tvm_version": "0.19.0"}`
	if err := os.WriteFile(log, []byte(line+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := lathe.Compile(t.Context(), digitsModel(t), lathe.CompileOptions{Records: []string{log}}); err == nil || !strings.Contains(err.Error(), "AutoTVM") {
		t.Errorf("a log of AutoTVM: %v", err)
	}
}

// TestPublicTuning: what a program of a user sees of a tuning are types that it can name.
func TestPublicTuning(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(of string, typ reflect.Type)
	walk = func(of string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		if strings.Contains(typ.PkgPath(), "/internal/") {
			t.Errorf("%s is of type %s", of, typ)
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(of, typ.Elem())
			if typ.Kind() == reflect.Map {
				walk(of, typ.Key())
			}
		case reflect.Func:
			for i := range typ.NumIn() {
				walk(of, typ.In(i))
			}
			for i := range typ.NumOut() {
				walk(of, typ.Out(i))
			}
		case reflect.Struct:
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() {
					walk(of+"."+f.Name, f.Type)
				}
			}
		}
		for m := range typ.Methods() {
			walk(of+"."+m.Name, m.Type)
		}
	}
	walk("Tune", reflect.TypeOf(lathe.Tune))
	walk("TuneTasks", reflect.TypeOf(lathe.TuneTasks))
}
