package markdown

import (
	"slices"
	"testing"
)

func TestBlocks(t *testing.T) {
	page := "# T\n\ntext `lathe a\nb` and ``\n\n    one \\\n      two\n    # no\n\n    three\n\ntext\n    not code\n\n```sh\n    four\n\nfive `x`\n```\n- item `c`\n"
	b := Blocks(page)
	if len(b) != 2 || b[0].Line != 6 || b[0].Text != "one \\\n  two\n# no\n\nthree\n" || b[1].Language != "sh" || b[1].Text != "    four\n\nfive `x`\n" {
		t.Fatalf("%+v", b)
	}
	if c := b[0].Commands(); !slices.Equal(c, []string{"one    two", "three"}) {
		t.Errorf("%q", c)
	}
	if s := Spans(page); !slices.Equal(s, []string{"lathe a b", "c"}) {
		t.Errorf("%q", s)
	}
}
