package bundle

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func mustManifest(t testing.TB) []byte {
	b, err := sampleManifest().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestManifestRoundTrip(t *testing.T) {
	got, err := ParseManifest(mustManifest(t))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, sampleManifest()) {
		t.Errorf("got %+v", got)
	}
	for range 10 {
		if !bytes.Equal(mustManifest(t), mustManifest(t)) {
			t.Fatal("equal manifests have different bytes")
		}
	}
	if s := got.RunSymbol(); s != "lathe_default_run" {
		t.Errorf("symbol %s", s)
	}
}

func TestManifestErrors(t *testing.T) {
	text := string(mustManifest(t))
	for _, c := range []struct{ old, new, want string }{
		{text, "", "there is no JSON"},
		{text, "[]", "an object is wanted, there is a list"},
		{`"format": 1`, `"format": 3`, "package format 3, written by lathe 0.1.0; this build reads format 2"},
		{`"abi": 2`, `"abi": 1`, "ABI 1, written by lathe 0.1.0; this build calls ABI 2"},
		{`"format": 1`, `"format": "1"`, "format: a whole number of 64 bits is wanted, there is a string"},
		{`"module": "default"`, `"module": "a b"`, `module name "a b"`},
		{`"module": "default"`, `"module": ""`, "module name"},
		{`"workspace": 4096`, `"workspace": -1`, "workspace is -1"},
		{`"workspace": 4096`, `"workspace": 9000000000000000000`, "workspace"},
		{`"workspace": 4096`, `"workspace": 1e300`, "workspace"},
		{`"scratch": 128`, `"scratch": 70368744177664`, "scratch"},
		{`"max_workers": 0`, `"max_workers": -3`, "max_workers"},
		{`"symbols": 1`, `"symbols": 1000000000`, "symbols"},
		{`"flops": 100`, `"flops": -1`, `step 0 ("conv")`},
		{`"dtype": "float32"`, `"dtype": "string"`, `input "data": unknown element type "string"`},
		{`"p0"`, `"mask"`, `parameter "mask" occurs twice`},
		{" 3\n", " -3\n", "impossible dimension -3"},
		{" 3\n", " 70368744177664,70368744177664\n", "larger than any memory"},
		{"        0\n", "        1\n", "symbol 1 of 1"},
		{" -1,\n", "\n", "1 symbol for 2 dimensions"},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("%q is not in the sample", c.old)
		}
		_, err := ParseManifest([]byte(changed))
		t.Run(c.new, func(t *testing.T) { wantError(t, err, "lathe.json", c.want) })
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(mustManifest(f))
	if b, err := withExternal().Manifest.Marshal(); err == nil {
		f.Add(b)
	}
	f.Add([]byte(`{"format": 1, "abi": 1, "module": "m"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseManifest(b)
		if err != nil {
			return
		}
		once, err := m.Marshal()
		if err != nil {
			t.Fatalf("accepted, but not written: %v", err)
		}
		again, err := ParseManifest(once)
		if err != nil {
			t.Fatalf("not read back: %v\n%s", err, once)
		}
		if twice, err := again.Marshal(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%v\n%s\n%s", err, once, twice)
		}
	})
}
