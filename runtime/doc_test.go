package runtime

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"testing"
)

// Types that have their fields elsewhere list them in their documentation, each with its type.
func TestDocumentedFields(t *testing.T) {
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range []string{"module.go", "profile.go"} {
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	pkg, err := doc.NewFromFiles(files, parsed, "lathe/runtime")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, d := range pkg.Types {
		docs[d.Name] = d.Doc
	}
	for name, v := range map[string]any{"Info": Info{}, "TensorInfo": TensorInfo{}, "Step": Step{}, "Memory": Memory{}} {
		var check func(r reflect.Type)
		check = func(r reflect.Type) {
			for f := range r.NumField() {
				field := r.Field(f)
				if !field.IsExported() {
					continue
				}
				kind := regexp.QuoteMeta(regexp.MustCompile(`bundle\.`).ReplaceAllString(field.Type.String(), ""))
				if field.Type.Kind() == reflect.Struct {
					kind = "struct"
					check(field.Type)
				}
				if !regexp.MustCompile(`(?m)^\s+(\w+, )*` + field.Name + `(, \w+)* +` + kind + `\b?`).MatchString(docs[name]) {
					t.Errorf("the documentation of %s does not say: %s %s", name, field.Name, kind)
				}
			}
		}
		check(reflect.TypeOf(v))
	}
}
