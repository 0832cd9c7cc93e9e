package prototext

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// text prints a message in one form.
func text(m *Message) string {
	var parts []string
	for _, f := range m.Fields {
		switch {
		case f.Message != nil:
			parts = append(parts, fmt.Sprintf("%s{%s}", f.Name, text(f.Message)))
		case f.Quoted:
			parts = append(parts, fmt.Sprintf("%s=%q", f.Name, f.Text))
		default:
			parts = append(parts, f.Name+"="+f.Text)
		}
	}
	return strings.Join(parts, " ")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"# only a comment", ""},
		{"a: 1 b: -2.5e-3 c: true", "a=1 b=-2.5e-3 c=true"},
		{"a: 1, b: 2; c: 0x1F", "a=1 b=2 c=0x1F"},
		{"a { b: 1 } a: { b: 2 } a < b: 3 > a: < b: 4 >", "a{b=1} a{b=2} a{b=3} a{b=4}"},
		{"a: [1, 2, 3] b: [] c [{d: 1}, {d: 2}]", "a=1 a=2 a=3 c{d=1} c{d=2}"},
		{"s: \"one\" 'two'\n\"three\" # comment\n t: ''", `s="onetwothree" t=""`},
		{`s: "\n\t\\\"\'\?\101\x41\7\u00e9\U0001F600"`, `s="\n\t\\\"'?AA\aé😀"`},
		{"[type.googleapis.com/x.Y] { a: 1 }", "type.googleapis.com/x.Y{a=1}"},
		{"pool: MAX v: -inf w: nan f: 1.5f", "pool=MAX v=-inf w=nan f=1.5f"},
		{"\ufeffa:1\r\nb:2\r\n", "a=1 b=2"},
	} {
		m, err := Parse([]byte(c.in))
		if err != nil || text(m) != c.want {
			t.Errorf("%q: %v, want %s (%v)", c.in, m, c.want, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a: 1\nb {", "line 2: the text ends within a message"},
		{"a", "where a value should be"},
		{"a 1", "a colon is missing"},
		{"a: 1\n\n}", "line 3: \"}\" where a field's name should be"},
		{"a: \"x\ny\"", "does not end"},
		{`a: "\q"`, `escape \q`},
		{`a: "\u12"`, "lacks digits"},
		{"a: [1 2]", "lacks a comma"},
		{"a { b: 1 >", "where a field's name"},
		{strings.Repeat("a{", 100), "nested"},
		{"[a", "brackets"},
		{"a: [1", "lacks a comma"},
		{"\x00\x01", "where a field's name"},
	} {
		m, err := Parse([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "prototext: line ") {
			t.Errorf("%q: %v (%v), want %q", c.in, m, err, c.want)
		}
	}
}

func TestGet(t *testing.T) {
	m, err := Parse([]byte("a: 1\nb: 2\na: 3"))
	if err != nil {
		t.Fatal(err)
	}
	if f := m.Get("a"); f == nil || f.Text != "3" || f.Line != 3 {
		t.Errorf("%v", f)
	}
	if f := m.Get("c"); f != nil {
		t.Errorf("%v", f)
	}
}

// FuzzParse: what is read prints as a text that reads as the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: 1 b { c: \"x\\001\" 'y' } d: [1, 2] [e.f/g] < h: -inf > # i"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		again, err := Parse([]byte(printed(m)))
		if err != nil || text(again) != text(m) {
			t.Errorf("%q reads as %s, and that as %v (%v)", data, text(m), again, err)
		}
	})
}

// printed is a message in the text format.
func printed(m *Message) string {
	var b strings.Builder
	for _, f := range m.Fields {
		name := f.Name
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+") != "" {
			name = "[" + name + "]"
		}
		switch {
		case f.Message != nil:
			fmt.Fprintf(&b, "%s { %s } ", name, printed(f.Message))
		case f.Quoted:
			fmt.Fprintf(&b, "%s: \"", name)
			for _, c := range []byte(f.Text) {
				fmt.Fprintf(&b, "\\%03o", c)
			}
			b.WriteString("\" ")
		default:
			fmt.Fprintf(&b, "%s: %s ", name, f.Text)
		}
	}
	return b.String()
}

// TestConformanceFiles reads the prototxt and pbtxt files under $LATHE_MODELS.
func TestConformanceFiles(t *testing.T) {
	root := realmodels.Folder(t)
	files, err := filepath.Glob(filepath.Join(root, "caffe", "*", "*.prototxt"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(data)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		layers := 0
		for _, f := range m.Fields {
			if f.Message != nil && (f.Name == "layer" || f.Name == "layers") {
				layers++
			}
		}
		if layers != strings.Count("\n"+string(data), "\nlayer") || layers == 0 {
			t.Errorf("%s: %d layers", path, layers)
		}
	}
}
