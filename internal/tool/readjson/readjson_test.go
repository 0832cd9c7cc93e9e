package readjson

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

type inner struct {
	Name  string            `json:"name"`
	Count int               `json:"count"`
	Small uint8             `json:"small"`
	Share float64           `json:"share"`
	On    bool              `json:"on"`
	List  []string          `json:"list"`
	Map   map[string]string `json:"map"`
}

// Every kind of value in the place of every other is refused with the line and in JSON's words.
func TestKinds(t *testing.T) {
	values := map[string]string{"name": `"x"`, "count": `3`, "small": `4`, "share": `1.5`, "on": `true`, "list": `["a"]`, "map": `{"a": "b"}`}
	fits := func(key, value string) bool {
		return key == value || key == "share" && (value == "count" || value == "small") || key == "count" && value == "small" || key == "small" && value == "count"
	}
	for key := range values {
		for kind, value := range values {
			for _, deep := range []bool{false, true} {
				text, into := "{\n\n\""+key+"\": "+value+"}", any(new(inner))
				if deep {
					text, into = "{\"a\": [\n"+text+"]}", new(map[string][]inner)
				}
				want := "line 3: "
				if deep {
					want = "line 4: "
				}
				err := Strict([]byte(text), into)
				if fits(key, kind) {
					if err != nil {
						t.Errorf("%s: %v", text, err)
					}
					continue
				}
				if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), " is wanted, there is ") || jargon(err.Error()) {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	}
}

func jargon(s string) bool {
	for _, word := range []string{"Go ", "unmarshal", "struct", "json:", "map[", "EOF", "interface", "uint", "readjson"} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// Text that is cut or damaged anywhere is refused in words, or is other JSON.
func TestDamage(t *testing.T) {
	const text = "{\"a\": {\"tile\": \"1 x 2\", \"steps\": \"4\"},\n \"b\": {\"order\": \"panels outside\"}}\n"
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 3000 {
		b := []byte(text)
		if i < len(b)-1 {
			b = b[:i]
		} else {
			b[r.IntN(len(b))] = `{}[],:"1x`[r.IntN(9)]
		}
		var v map[string]map[string]string
		if err := Strict(b, &v); err != nil && jargon(err.Error()) {
			t.Errorf("%s: %v", b, err)
		} else if err == nil && !json.Valid(b) {
			t.Errorf("%s: no error", b)
		}
	}
}

func TestStrict(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": {"x": "1", "x": "2"}}`:                                  "line 1: the object has \"x\" twice",
		"{\"a\": {\"x\": \"1\"},\n\"b\": {},\n\"a\": {}}":              "line 3: the object has \"a\" twice",
		"{\"a\": {\"x\": \"a\"}, \"x\": {\"a\": \"a\", \"b\": \"a\"}}": "",
		"{} {}": "line 1: more text follows the value", "": "there is no JSON", "{\"a\": ": "the text ends before the value does",
	} {
		var v map[string]map[string]string
		if err := Strict([]byte(text), &v); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var list []any
	if err := Strict([]byte(`["k", "k", ["k"], {"k": ["k", "k"], "l": {"k": "k"}}]`), &list); err != nil {
		t.Error(err)
	}
}
