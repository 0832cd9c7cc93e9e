package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/tool/cli"
)

// Records as lathe tune writes them, of two kernels in one network: the first was accepted with one point and withdrawn with another, of
// the second there is a search with a fault.
const (
	searched  = `{"v":1,"key":"aaaaaaaaaaaa","anchor":"","target":"x86_64 256 avx2","class":"c","workers":2,"point":{"tile":"6 x 2"},"ratio":0.8,"low":0.78,"high":0.82,"error":0,"stage":"search","network":"nnnnnnnnnnnn","name":"conv","time":"2026-01-01T00:00:00Z","by":{"lathe":"1","rules":1,"seed":1,"trial":1}}`
	accepted  = `{"v":1,"key":"aaaaaaaaaaaa","anchor":"","target":"x86_64 256 avx2","class":"c","workers":2,"point":{"tile":"6 x 2"},"ratio":0.8,"low":0.75,"high":0.85,"error":0,"stage":"network","accepted":true,"network":"nnnnnnnnnnnn","name":"conv","time":"2026-01-01T00:01:00Z","by":{"lathe":"1","rules":1,"seed":1,"trial":1}}`
	withdrawn = `{"v":1,"key":"aaaaaaaaaaaa","anchor":"","target":"x86_64 256 avx2","class":"c","workers":2,"point":{"tile":"4 x 3"},"ratio":0.9,"low":0.85,"high":0.95,"error":0,"stage":"network","network":"nnnnnnnnnnnn","name":"conv","time":"2026-01-01T00:02:00Z","by":{"lathe":"1","rules":1,"seed":1,"trial":2}}`
	crashed   = `{"v":1,"key":"bbbbbbbbbbbb","anchor":"","target":"x86_64 256 avx2","class":"c","workers":2,"point":{"tile":"8 x 1"},"error":4,"stage":"search","network":"nnnnnnnnnnnn","name":"dense","time":"2026-01-01T00:03:00Z","by":{"lathe":"1","rules":1,"seed":1,"trial":3}}`
	newer     = `{"v":2,"key":"cccccccccccc"}`
	autoTVM   = `{"input": ["llvm", "conv2d_NCHWc.x86", [["TENSOR", [1, 64, 56, 56], "float32"], ["TENSOR", [64, 64, 3, 3], "float32"], [1, 1], [1, 1, 1, 1], [1, 1], "NCHW", "NCHW", "float32"], {}], "config": {"index": 228, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 8]], ["tile_oc", "sp", [-1, 32]], ["tile_ow", "sp", [-1, 14]], ["unroll_kw", "ot", false]]}, "result": [[0.00066], 0, 1.2, 1600000000.0], "version": 0.2, "tvm_version": "0.8.dev0"}`
)

// TestRecordsCommand: files of records are listed, put together, pruned and compared, whatever was cut of them.
func TestRecordsCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, lines := range map[string][]string{
		"a.json": {searched, accepted, crashed[:50]}, "b.json": {accepted, withdrawn, crashed, newer}, "tvm.json": {autoTVM, autoTVM[:80]},
	} {
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		line string
		out  []string // in the output
		errs []string // in the notes
		file string   // of the lines that follow
		want []string
	}{
		{line: "records a.json b.json", out: []string{"aaaaaaaa  conv", "accepted", "1.250", "1.176-1.333", "tile 6 x 2", "bbbbbbbb  dense", "rules"}, errs: []string{"1 line, cut or no records", "1 record of later versions"}},
		{line: "records -o all.json b.json a.json", file: "all.json", want: []string{searched, accepted, withdrawn, crashed}},
		{line: "records --prune -o few.json a.json b.json", file: "few.json", want: []string{accepted}},
		{line: "records --diff a.json b.json", out: []string{"bbbbbbbb  dense", "a.json", "b.json"}},
		{line: "records --diff a.json a.json", out: []string{"both say the same"}},
		{line: "records --json a.json", out: []string{`"standing": "accepted"`, `"gain": 1.25`, `"decision": "tile"`}},
		{line: "records tvm.json", errs: []string{"1 line of AutoTVM 0.2, for TVM"}},
	} {
		out, errs, code := latheCommand(t, strings.Fields(c.line)...)
		if code != cli.ExitOK {
			t.Errorf("%s: exit code %d: %s", c.line, code, errs)
		}
		for _, part := range c.out {
			if !strings.Contains(out, part) {
				t.Errorf("%s prints\n%s\nwithout %q", c.line, out, part)
			}
		}
		for _, part := range c.errs {
			if !strings.Contains(errs+out, part) {
				t.Errorf("%s tells\n%s\nwithout %q", c.line, errs, part)
			}
		}
		if c.file == "" {
			continue
		}
		b, err := os.ReadFile(c.file)
		if err != nil || strings.TrimSpace(string(b)) != strings.Join(c.want, "\n") {
			t.Errorf("%s writes\n%s\n%v", c.line, b, err)
		}
	}
}

// TestRecordsOfTVM: a package is not compiled by TVM's logs, and the refusal says what they are good for.
func TestRecordsOfTVM(t *testing.T) {
	log := filepath.Join(t.TempDir(), "autotuner_records.json")
	if err := os.WriteFile(log, []byte(autoTVM+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, errs, code := latheCommand(t, "compile", "--tuning-records", log, "-o", filepath.Join(t.TempDir(), "net.tar"), "../../examples/demo/digits.onnx")
	if code != cli.ExitFailed || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "AutoTVM 0.2") || !strings.Contains(errs, "lathe tune --tuning-records starts from them") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}
