package toolchain

import (
	"bytes"
	"sync"
	"testing"
)

// TestKnown: a text is compiled once for each machine and pipeline, and goroutines that ask at once get the same bytes.
func TestKnown(t *testing.T) {
	m, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{
		"define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n",
		"define i32 @f(i32 %x) {\n  %y = add i32 %x, 2\n  ret i32 %y\n}\n",
	}
	k := &Known{}
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			text := texts[i%2]
			want, _, err := m.Screen(text, "")
			if err != nil {
				t.Error(err)
			}
			if got, _, err := k.Screen(m, text, ""); err != nil || !bytes.Equal(got, want) {
				t.Errorf("text %d: other code, %v", i%2, err)
			}
		})
	}
	wait.Wait()
	if _, _, err := k.Screen(m.AsWritten(), texts[0], ""); err != nil || len(k.of) != 3 {
		t.Errorf("%d objects are kept, %v", len(k.of), err)
	}
	if _, _, err := k.Screen(m, "no IR", ""); err == nil || len(k.of) != 3 {
		t.Errorf("an error is kept: %d objects", len(k.of))
	}
}
