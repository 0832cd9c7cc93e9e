// Package webpage makes pages of one file: style and script are inside, nothing is fetched, so that a page can be mailed
// and opened years later. It gives pages one look, in light and dark, tables that sort by a click, and escapes and cuts
// what it is given.
package webpage

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"text/template/parse"

	"lathe/internal/tool/excerpt"
)

//go:embed page.html style.css script.js
var files embed.FS

// A Template is a page whose content is a template of package html/template.
type Template struct{ page *template.Template }

// New parses the content of a page; the error of a template that does not parse is a panic, for templates are part of the
// program. Templates may call bar, and the functions given.
func New(content string, funcs template.FuncMap) *Template {
	own := template.FuncMap{"bar": bar, "fixed": fixed, "mega": func(n int64) string { return fixed(3, float64(n)/1e6) }}
	own["excerpt"] = quoted
	page := template.Must(template.New("page").Funcs(own).Funcs(funcs).Parse(text("page.html")))
	template.Must(page.New("content").Parse(content))
	for _, t := range page.Templates() {
		if t.Tree != nil {
			quote(t.Tree.Root)
		}
	}
	return &Template{page}
}

// quoted is a string as an excerpt, and anything else as it is.
func quoted(v any) any {
	if s, ok := v.(string); ok {
		return excerpt.Line(s)
	}
	return v
}

// quote lets everything that a template prints pass through quoted, as package html/template adds its escapers.
func quote(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, inner := range n.Nodes {
				quote(inner)
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier("excerpt").SetPos(n.Pos)}}
			n.Pipe.Cmds = append(n.Pipe.Cmds, call)
		}
	case *parse.IfNode:
		quote(n.List)
		quote(n.ElseList)
	case *parse.RangeNode:
		quote(n.List)
		quote(n.ElseList)
	case *parse.WithNode:
		quote(n.List)
		quote(n.ElseList)
	}
}

func text(name string) string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// Write writes the page.
func (t *Template) Write(w io.Writer, title string, data any) error {
	return t.page.Execute(w, struct {
		Title  string
		Style  template.CSS
		Script template.JS
		Data   any
	}{title, template.CSS(text("style.css")), template.JS(text("script.js")), data})
}

// bar is a horizontal bar whose parts are in percent of the widest.
func bar(solid, light float64) template.HTML {
	clamp := func(v float64) float64 { return max(0, min(100, v)) }
	solid = clamp(solid)
	return template.HTML(fmt.Sprintf(`<span class="bar"><i style="width:%.2f%%"></i><i class="light" style="width:%.2f%%"></i></span>`,
		solid, min(clamp(light), 100-solid)))
}

// fixed writes a number with digits behind the point.
func fixed(digits int, v float64) string { return fmt.Sprintf("%.*f", digits, v) }
