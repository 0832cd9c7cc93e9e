package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe"
	"lathe/internal/testkit/golden"
	"lathe/internal/testkit/onnxtest"
	"lathe/internal/tool/cli"
)

// TestInspectModel pins what inspect prints, and types what it proposes.
func TestInspectModel(t *testing.T) {
	t.Run("in a folder with models", func(t *testing.T) {
		golds := map[string]string{}
		dir := t.TempDir()
		for _, g := range []*onnxtest.Graph{onnxtest.Decoder(), onnxtest.Detector()} {
			if err := os.WriteFile(filepath.Join(dir, g.Name+".onnx"), onnxtest.Model(g), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		t.Run("golden", func(t *testing.T) {
			t.Chdir(dir)
			for _, line := range []string{
				"inspect decoder.onnx", "inspect --input-shapes input_ids:[2,12],past_sequence_length=0 decoder.onnx",
				"inspect --fix sr=16000 detector.onnx", "inspect --json --fix sr=16000 --input-shapes input:[1,512] detector.onnx",
				"inspect --steps decoder.onnx", "inspect --explain decoder.onnx", "inspect --fix sr=1.5 detector.onnx", "compile -o x.tar detector.onnx",
				"compile --input-shapes batch=2,input_ids:[3,12] decoder.onnx", "inspect --fix sr decoder.onnx", "inspect --fix sr=1 --fix sr=2 decoder.onnx",
			} {
				out, errs, code := latheCommand(t, strings.Fields(line)...)
				golds["all"] += "$ lathe " + line + "\n" + out + errs + "exit code " + string(rune('0'+code)) + "\n\n"
			}
			out, _, _ := latheCommand(t, "inspect", "--fix", "sr=16000", "detector.onnx")
			_, try, ok := strings.Cut(out, "try: lathe ")
			if !ok {
				t.Fatalf("nothing is proposed: %s", out)
			}
			try, _, _ = strings.Cut(try, "\n")
			args := append(strings.Fields(strings.ReplaceAll(try, "'", "")), "-o", "proposed.tar")
			if _, errs, code := latheCommand(t, args...); code != cli.ExitOK {
				t.Errorf("lathe %s: %s", try, errs)
			}
			if out, errs, code := latheCommand(t, "run", "--print-top", "1", "proposed.tar"); code != cli.ExitOK {
				t.Errorf("run: %s%s", out, errs)
			}
		})
		// What a run takes depends on the vectors and cores of the machine.
		all := regexp.MustCompile(`(?m)^(memory +)\d.* for a run: work space .*, inputs (.*)$`).ReplaceAllString(golds["all"], "${1}SIZE for a run: work space SIZE, inputs $2")
		all = regexp.MustCompile(`(?m)^( {4}"(run_bytes|workspace_bytes|scratch_bytes|workers|weight_bytes)": )\d+`).ReplaceAllString(all, "${1}0")
		golden.Check(t, "inspect-model", []byte(all))
	})
}

// --json of inspect is the public type.
func TestInspectJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decoder.onnx")
	if err := os.WriteFile(path, onnxtest.Model(onnxtest.Decoder()), 0o666); err != nil {
		t.Fatal(err)
	}
	out, errs, code := latheCommand(t, "inspect", "--json", path)
	var info lathe.ModelInfo
	if err := json.Unmarshal([]byte(out), &info); code != cli.ExitOK || errs != "" || err != nil {
		t.Fatalf("exit code %d, %s, %v", code, errs, err)
	}
	if m := info.Memory; m == nil || m.Inputs != 152 || m.Outputs != 384 || m.Weights < 5120 || m.Run != m.Workspace+m.Scratch+m.Inputs+m.Outputs {
		t.Errorf("memory %+v", m)
	}
	if !info.Compiles || len(info.Sizes) != 3 || info.MACs != 1344 || info.Inputs[1].Declared[1] != "past_sequence_length+sequence_length" {
		t.Errorf("%+v", info)
	}
}
