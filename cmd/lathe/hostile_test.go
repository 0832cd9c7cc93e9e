package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"lathe/internal/testkit/onnxtest"
)

// TestHostileNames prints a model whose names would take over a terminal, or fill it, in every way there is.
func TestHostileNames(t *testing.T) {
	for name, bad := range map[string]string{
		"control": "\x1b[2J\x1b]0;x\a\x7f\u009b1m\u202eabc\u2066'\"<b>&", "long": strings.Repeat("n", 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			x := func(s string) string { return s + bad }
			g := &onnxtest.Graph{
				Name:   x("graph"),
				Inputs: []onnxtest.Value{onnxtest.V(x("in"), onnxtest.Float, x("batch"), 8)}, Outputs: []onnxtest.Value{onnxtest.V(x("out"), onnxtest.Float, nil, 4)},
				Weights: []onnxtest.Weight{onnxtest.Random(x("w"), 8, 4)},
				Nodes:   []onnxtest.Node{onnxtest.N("MatMul " + x("in") + " " + x("w") + " -> " + x("y")), onnxtest.N("Relu " + x("y") + " -> " + x("out"))},
			}
			unknown := *g
			unknown.Nodes = append(unknown.Nodes[:1:1], onnxtest.N(x("Odd")+" "+x("y")+" -> "+x("out")))
			for file, g := range map[string]*onnxtest.Graph{"m.onnx": g, "odd.onnx": &unknown} {
				if err := os.WriteFile(file, append(onnxtest.Model(g), metadata(x)...), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile("labels.txt", []byte(strings.Repeat("label"+bad+"\n", 4)), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				line  string
				code  int
				whole bool // programs are long by right
			}{
				{"inspect m.onnx", 0, false}, {"inspect --json m.onnx", 0, true}, {"inspect odd.onnx", 0, false}, {"compile odd.onnx", 4, false},
				{"compile -v -o m.tar --explain m.onnx", 0, false}, {"compile -o m.tar --print-ir-after FuseOps,LoopPartition m.onnx", 0, true},
				{"inspect --steps m.tar", 0, false}, {"inspect --json m.tar", 0, true}, {"inspect --explain m.tar", 0, false},
				{"compile -o m.so --explain=explain.txt m.onnx", 0, false},
				{"verify m.onnx", 0, false}, {"verify --per-op m.onnx", 0, false}, {"verify --json m.onnx", 0, true},
				{"run --repeat 3 --profile --labels labels.txt m.tar", 0, false}, {"run --repeat 3 --json --profile m.tar", 0, true}, {"run -i absent.npz m.tar", 4, false},
				{"run --repeat 3 --profile=profile.html m.tar", 0, false}, {"run --repeat 3 --profile=profile.txt m.tar", 0, false}, {"run --image x=absent.png m.tar", 4, false},
			} {
				out, errs, code := latheCommand(t, strings.Fields(c.line)...)
				if code != c.code {
					t.Errorf("%.80s: exit code %d, %s", c.line, code, errs)
				}
				checkText(t, c.line, out, c.whole)
				checkText(t, c.line, errs, false)
			}
			for _, file := range []string{"explain.txt", "profile.html", "profile.txt"} {
				b, err := os.ReadFile(filepath.Clean(file))
				if err != nil {
					t.Fatal(err)
				}
				checkText(t, file, string(b), false)
				if strings.Contains(string(b), "<b>&") && strings.HasSuffix(file, ".html") {
					t.Errorf("%s holds a name as HTML", file)
				}
			}
		})
	}
}

// metadata are fields of a model that say where it comes from and what it builds on, made by name; the last in a file count.
func metadata(name func(string) string) []byte {
	field := func(number byte, content string) string {
		return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content)))) + content
	}
	return []byte(field(2, name("producer")) + field(3, name("producer_version")) + field(4, name("domain")) + field(6, name("doc_string")) +
		field(8, field(1, name("opset"))+"\x10\x01") + field(14, field(1, name("key"))+field(2, name("value"))))
}

// checkText fails where text does something to a terminal, or is long for its content.
func checkText(t *testing.T, what, text string, whole bool) {
	t.Helper()
	for line := range strings.Lines(text) {
		at := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) })
		if at >= 0 {
			t.Errorf("%.80s prints %.300q", what, line[at:])
			return
		}
		if len(line) > 30_000 && !whole {
			t.Errorf("%.80s prints a line of %d bytes: %.300q", what, len(line), line)
			return
		}
	}
}
