package quantizing

import (
	"bytes"
	"strings"
	"testing"

	"lathe/internal/quant"
)

// evil is a name that neither a terminal nor a page must take for its own text.
const evil = "<script>alert(1)</script>\x1b[2J"

// TestReport: both forms name every layer and every value, and escape what a model calls them.
func TestReport(t *testing.T) {
	r := &Report{Title: evil, Head: []string{"of 4 samples"}, Report: &quant.Report{
		Samples: 4, TrialSamples: 2, Trials: 7, SQNR: 31.5, Equalized: 0.5, Corrected: true, FloatBytes: 400, Bytes: 100,
		Judged: &quant.Judgement{Samples: 200, Same: 199, Labelled: true, Right: 190, FloatRight: 192},
		Layers: []quant.LayerReport{{Name: "stem", Operator: "nn.conv2d", Bits: 8, SQNR: 40}, {Name: evil, Operator: "nn.dense", Bits: 32, Gain: 2.5, Why: "it was asked to stay float"}},
		Points: []quant.PointReport{{Name: "data", Mode: "minmax", Min: -1, Max: 1, Scale: 0.0078, Zero: 128, Clipped: 0.001, SQNR: 45}},
	}}
	for _, all := range []bool{false, true} {
		var text bytes.Buffer
		if err := r.Text(&text, all); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1 of 2 on integers", "31.5 dB", "25.0 %", "99.50 % of 200 samples", "1.00 points", "asked to stay float"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the text has no %q:\n%s", want, text.String())
			}
		}
		if strings.Contains(text.String(), "\x1b") {
			t.Error("a name reaches the terminal as it is")
		}
		if strings.Contains(text.String(), "0.0078") != all {
			t.Error("values are told when they were not asked for, or not when they were")
		}
	}
	var html bytes.Buffer
	if err := r.HTML(&html); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(html.String(), "<script>alert") || strings.Contains(html.String(), "\x1b") {
		t.Error("a name is text of the page")
	}
	for _, want := range []string{"31.5 dB", "1 of 2", "stem", "0.0078", "asked to stay float"} {
		if !strings.Contains(html.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
