package dpu

import (
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	n := &Network{Tensors: []Tensor{{Name: "a"}, {Name: "b"}}}
	b, err := n.NewTable("hash", 128, []int{5, -3}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	table, err := DecodeTable(b)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := table.For(n, "hash"); err != nil || !slices.Equal(p, []int{5, -3}) {
		t.Error(p, err)
	}
	if _, err := table.For(n, "other"); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Error(err)
	}
	n.Tensors = append(n.Tensors, Tensor{Name: "c"})
	if _, err := table.For(n, "hash"); err == nil || !strings.Contains(err.Error(), "no position of c") {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"":                  "no table",
		`{"version": 2}`:    "version 2",
		`{"version": 1} {}`: "more behind",
		`{"version": 1, "positions": [{"tensor": "a", "position": 200}]}`:                               "position 200",
		`{"version": 1, "positions": [{"tensor": "a", "position": 2}, {"tensor": "a", "position": 3}]}`: "two positions",
		`{"version": 1, "wave": 1}`: "wave",
	} {
		if _, err := DecodeTable([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzDecodeTable(f *testing.F) {
	f.Add([]byte(`{"version": 1, "region": "x", "samples": 2, "positions": [{"tensor": "a", "position": 2}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := DecodeTable(b)
		if err != nil {
			return
		}
		again, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeTable(again); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}
