package host

import (
	"testing"
	"testing/fstest"
)

func TestHugePages(t *testing.T) {
	const file = "sys/kernel/mm/transparent_hugepage/enabled"
	for text, want := range map[string]bool{"always [madvise] never\n": true, "[always] madvise never\n": true, "always madvise [never]\n": false} {
		if got := hugePages(fstest.MapFS{file: {Data: []byte(text)}}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if hugePages(fstest.MapFS{}) {
		t.Error("a system that does not tell has huge pages")
	}
}
