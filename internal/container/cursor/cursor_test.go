package cursor

import "testing"

func TestCursor(t *testing.T) {
	c := Cursor{Rest: []byte{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 7}}
	if a, b, s := c.U32(), c.U64(), string(c.Bytes(2)); a != 1 || b != 2 || s != "ab" || c.Err != nil {
		t.Errorf("%d %d %q %v", a, b, s, c.Err)
	}
	if c.U32() != 0 || c.Err == nil {
		t.Error("four bytes of one")
	}
	first := c.Err
	if len(c.Bytes(1<<60)) > 8 || c.Err != first || len(c.Rest) != 1 {
		t.Errorf("%v", c.Err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		for c := (Cursor{Rest: data}); c.Err == nil; {
			c.Bytes(c.U64())
		}
	})
}
