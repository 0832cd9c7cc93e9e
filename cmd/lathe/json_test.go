package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/tool/cli"
)

// shape lists the keys of a JSON value with the types of what they hold.
func shape(v any, path string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			shape(x, path+"."+k, into)
		}
	case []any:
		into[path+": list"] = true
		for _, x := range v {
			shape(x, path+"[]", into)
		}
	case nil:
		into[path+": null"] = true
	default:
		into[path+": "+map[string]string{"float64": "number", "string": "text", "bool": "bool"}[fmt.Sprintf("%T", v)]] = true
	}
}

// plainKey is how a key of --json is written. Keys of lathe.json's options are names of flags, and digests and opsets go by name.
var (
	plainKey = regexp.MustCompile(`^(\.[a-z][a-z0-9]*(_[a-z0-9]+)*|\[\])*: `)
	byName   = regexp.MustCompile(`^\.(options|digests|opsets)\.`)
)

// TestJSON holds the keys of what --json prints: programs rely on them.
func TestJSON(t *testing.T) {
	pkg := copyPackage(t, []int{1, 4}, data14)
	labels := filepath.Join(t.TempDir(), "labels.txt")
	if err := os.WriteFile(labels, []byte("a\nb\nc\nd\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const digits = "../../examples/demo/digits.onnx"
	var b strings.Builder
	for _, c := range [][]string{
		{"version"}, {"passes"}, {"ops"}, {"targets"}, {"verify", digits}, {"verify", "--per-op", digits},
		{"inspect", digits}, {"inspect", pkg}, {"run", pkg}, {"run", "--print-time", "--repeat", "3", "--profile", "--labels", labels, pkg},
	} {
		out, errs, code := latheCommand(t, append([]string{c[0], "--json"}, c[1:]...)...)
		d := json.NewDecoder(strings.NewReader(out))
		var v any
		if err := d.Decode(&v); err != nil || code != cli.ExitOK || errs != "" {
			t.Fatalf("%s: exit code %d, %v, %s", c, code, err, errs)
		}
		if err := d.Decode(new(any)); err != io.EOF {
			t.Errorf("%s: more than one document", c)
		}
		keys := map[string]bool{}
		shape(v, "", keys)
		delete(keys, ".profile.doubt: text") // is there where the machine is busy
		fmt.Fprintf(&b, "# %s\n", strings.Join(slices.DeleteFunc(slices.Clone(c), func(a string) bool { return strings.Contains(a, "/") }), " "))
		for _, k := range slices.Sorted(func(yield func(string) bool) {
			for k := range keys {
				if !yield(k) {
					return
				}
			}
		}) {
			fmt.Fprintln(&b, k)
			if !plainKey.MatchString(k) && !byName.MatchString(k) {
				t.Errorf("%s: the key %s is not in lower case with underscores", c, k)
			}
		}
	}
	golden.Check(t, "json", []byte(b.String()))
}
