package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/evaluate"
	"lathe/internal/testkit/realmodels"
	"lathe/internal/tool/markdown"
)

func resultsOf(t *testing.T, folder string) *evaluate.Report {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	r := new(evaluate.Report)
	if err := json.Unmarshal(b, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestConformanceLab runs the commands of docs/lab.md on real models and pictures, and holds the page to what it says of the results.
func TestConformanceLab(t *testing.T) {
	models := realmodels.Folder(t)
	page, err := os.ReadFile(repository + "/docs/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for from, to := range map[string]string{"tflite/mlperf_tiny/ic_resnet8_fp32.tflite": "fp32.tflite", "tflite/mlperf_tiny/ic_resnet8_int8.tflite": "int8.tflite", "images/cifar10": "pictures",
		"datasets/kws01": "kws01", "tflite/mlperf_tiny/kws_ref_int8.tflite": "kws.tflite"} {
		if err := os.Symlink(filepath.Join(models, from), to); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	for _, b := range markdown.Blocks(string(page)) {
		if b.Language == "json" {
			write(t, "lab.json", []byte(b.Text))
		}
		if b.Language != "lab" {
			continue
		}
		for _, c := range b.Commands() {
			ran++
			if out, errs, code := latheCommand(t, strings.Fields(c)[1:]...); code != 0 {
				t.Fatalf("%s: %d\n%s%s", c, code, out, errs)
			}
		}
	}
	if ran != 2 {
		t.Fatalf("%d commands", ran)
	}
	kws := resultsOf(t, "results/kws")
	if v := kws.Variants[0]; v.Samples != 1000 || v.Quality.Accuracy.Value < 0.9 {
		t.Errorf("keyword spotting: %d samples, %+v", v.Samples, v.Quality)
	}
	r := resultsOf(t, "results")
	codes := map[string][]string{}
	for _, v := range r.Variants {
		for _, c := range v.Causes {
			codes[v.Name] = append(codes[v.Name], c.Code)
			if c.Code == "W02" && !strings.Contains(c.Text, "qnn.conv2d") {
				t.Errorf("%s: %s", v.Name, c)
			}
		}
		if v.Error != "" || v.Samples != 100 || v.Quality.Accuracy.Value != 0.7 || v.Lab["top5"] != 0.099 {
			t.Errorf("%s: %s, %d samples, %+v, %v", v.Name, v.Error, v.Samples, v.Quality, v.Lab)
		}
		if strings.HasPrefix(v.Name, "int8") && (v.Against.Lost != 2 || v.Against.Won != 2 || v.Against.Agreement.Value != 0.94) {
			t.Errorf("%s: %+v", v.Name, v.Against)
		}
	}
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"fp32-free", "W01", false}, {"fp32-free", "W02", false}, {"fp32-free", "W03", false}, {"int8-free", "W01", false}, {"int8-free", "W02", false}, {"int8-free", "W03", false},
		{"fp32-nhwc", "W01", true}, {"fp32-nchw-O3", "W01", true}, {"fp32-nchw-O1", "W04", true}, {"fp32-nchw-O2", "W04", true}, {"fp32-nchw-O3", "W04", false},
		{"int8-nchw-missed", "W02", true}, {"int8-nchw", "W02", false}, {"int8-nchw", "W01", true}, {"int8-free", "W06", false},
	} {
		if slices.Contains(codes[c.name], c.code) != c.want {
			t.Errorf("%s: %s is found: %t, want %t (%v)", c.name, c.code, !c.want, c.want, codes[c.name])
		}
	}
}
