package positions

import (
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := &Table{Version: Version, Samples: 128, Regions: []Region{{"other", nil}, {"hash", []Tensor{{"a", 5, nil}, {"b", -3, []float32{0.5, 2}}}}}}
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if table, err = Decode(b); err != nil {
		t.Fatal(err)
	}
	if p, err := table.Of("hash", []string{"b", "a"}); err != nil || p[0].Position != -3 || p[1].Position != 5 || !slices.Equal(p[0].Means, []float32{0.5, 2}) || p[1].Means != nil {
		t.Error(p, err)
	}
	if _, err := table.Of("gone", nil); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Error(err)
	}
	if _, err := table.Of("hash", []string{"c"}); err == nil || !strings.Contains(err.Error(), `none for "c"`) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"": "no table", `{"version": 2}`: "version 2", `{"version": 1} {}`: "more behind", `{"version": 1, "wave": 1}`: "wave",
		`{"version": 1, "regions": [{"tensors": [{"name": "a", "position": 200}]}]}`: "200",
		`{"version": 1, "regions": [{"tensors": [{"name": "a"}, {"name": "a"}]}]}`:   "twice",
		`{"version": 1, "regions": [{"hash": "a"}, {"hash": "a"}]}`:                  "twice",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version": 1, "samples": 2, "regions": [{"hash": "x", "tensors": [{"name": "a", "position": 2}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Decode(b)
		if err != nil {
			return
		}
		again, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(again); err != nil {
			t.Fatalf("%q: %v", again, err)
		}
	})
}
