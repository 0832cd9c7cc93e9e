package webpage

import (
	"bytes"
	"strings"
	"testing"
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
