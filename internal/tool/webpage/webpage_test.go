package webpage

import (
	"bytes"
	"html/template"
	"strings"
	"testing"

	"lathe/internal/tool/excerpt"
)

func TestEscapes(t *testing.T) {
	page := New(`<h1>{{.}}</h1>{{bar 50 120}}`, nil)
	var b bytes.Buffer
	if err := page.Write(&b, `</title><script>alert(1)</script>`, `<img src=x onerror="alert(2)">`); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, bad := range []string{"<script>alert", "<img", "http://", "https://", "ZgotmplZ"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "&lt;img", "table.sortable", `width:50.00%"></i><i class="light" style="width:50.00%"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// What a page prints, wherever its template does, is short and does nothing to a terminal or to the order of text.
func TestExcerpts(t *testing.T) {
	page := New(`<p title="{{.}}">{{.}}</p>{{with .}}{{.}}{{end}}{{if eq . "x"}}{{else}}{{.}}{{end}}{{range $i, $c := list}}{{$i}}{{$c}}{{else}}none{{end}}{{$x := .}}{{$x | printf "%s"}}`,
		template.FuncMap{"list": func() []string { return []string{"\u202e", "\x1b[2J"} }})
	for _, name := range []string{"\x1b[2J", "\u202e", "\x9b1m", "\x00", strings.Repeat("n", 1<<20)} {
		var b bytes.Buffer
		if err := page.Write(&b, name, name); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); len(got) > 20_000 || strings.ContainsFunc(got, excerpt.Hidden) {
			t.Errorf("%.40q: a page of %d bytes: %.300q", name, len(got), got[strings.Index(got, "<body>"):])
		}
	}
}
