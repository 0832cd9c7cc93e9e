package pickle

import (
	"archive/zip"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// text prints a value in one line, to some depth: values can contain themselves.
func text(v any, depth int) string {
	if depth == 0 {
		return "..."
	}
	items := func(list []any) string {
		var parts []string
		for _, x := range list {
			parts = append(parts, text(x, depth-1))
		}
		return strings.Join(parts, " ")
	}
	pairs := func(d *Dict) string {
		var parts []string
		for i, k := range d.Keys {
			parts = append(parts, text(k, depth-1)+":"+text(d.Values[i], depth-1))
		}
		return strings.Join(parts, " ")
	}
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []byte:
		return fmt.Sprintf("b%q", v)
	case Tuple:
		return "(" + items(v) + ")"
	case *List:
		return "[" + items(v.Items) + "]"
	case *Set:
		return "set{" + items(v.Items) + "}"
	case *Dict:
		return "{" + pairs(v) + "}"
	case Global:
		return v.String()
	case Persistent:
		return "persistent " + text(v.ID, depth-1)
	case *Object:
		s := text(v.Func, depth-1) + text(v.Args, depth-1)
		if v.Kwargs != nil {
			s += "**{" + pairs(v.Kwargs) + "}"
		}
		if v.State != nil {
			s += " state " + text(v.State, depth-1)
		}
		if v.Items != nil {
			s += " items " + items(v.Items)
		}
		if v.Pairs.Keys != nil {
			s += " pairs " + pairs(&v.Pairs)
		}
		return s
	case nil, bool, int64, float64:
		return fmt.Sprint(v)
	case *big.Int:
		return v.String()
	}
	return fmt.Sprintf("%T?", v)
}

func example(t testing.TB, protocol int) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("protocol%d.pkl", protocol)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestProtocols reads the same values (testdata/make.py) in all protocols.
func TestProtocols(t *testing.T) {
	for protocol := 2; protocol <= 5; protocol++ {
		v, rest, err := Read(append(example(t, protocol), "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Errorf("protocol %d: %q %v", protocol, rest, err)
			continue
		}
		got := text(v, 10)
		for _, want := range []string{
			"[<nil> true false 0 255 65535 -1 2147483648 -1099511627776 1180591620717411303424 -1180591620717411303424 1.5",
			`"text" "größe" `, ` () (1) (1 2) (1 2 3) (1 2 3 4) [] [1] [1 2] {} {"a":1} {"a":1 "b":[2]} `,
			`state {"x":[1 2.5 <nil>]}`, `__main__.B() items 1 2`, `__main__.C() pairs "a":1`, `__main__.D(1 "x") state {"s":2}`,
			`collections.OrderedDict() pairs "k":"v"`, `[[1] [1]]`, `persistent ("storage" "0")]`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("protocol %d: %s\nlacks %s", protocol, got, want)
			}
		}
		for _, want := range map[int][]string{3: {`b"bytes"`}, 4: {`b"bytes"`, "set{1}", "set{2}", `__main__.E(1)**{"k":2}`}, 5: {`b"ba"`}}[protocol] {
			if !strings.Contains(got, want) {
				t.Errorf("protocol %d: %s\nlacks %s", protocol, got, want)
			}
		}
	}
}

func TestShared(t *testing.T) {
	v, _, err := Read(example(t, 4))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range v.(*List).Items {
		if l, ok := x.(*List); ok && len(l.Items) == 2 {
			if a, ok := l.Items[0].(*List); ok && a == l.Items[1].(*List) {
				return
			}
		}
	}
	t.Error("a list that stands twice is two lists")
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "at byte 0: the pickle is cut short"},
		{"\x80\x02", "at byte 2: the pickle is cut short"},
		{"\x80\x09.", "protocol 9"},
		{"\x80\x00.", "protocol 0"},
		{"\x80\x02\xff", "opcode 0xff"},
		{"\x80\x02.", "operand is missing"},
		{"\x80\x02NN.", "1 values are left"},
		{"\x80\x02a.", "operand is missing"},
		{"\x80\x02NNa.", "items are added to <nil>"},
		{"\x80\x02}Ns.", "operand is missing"},
		{"\x80\x02}(Nu.", "key without a value"},
		{"\x80\x02t.", "mark is missing"},
		{"\x80\x02(a.", "in front of a mark"},
		{"\x80\x02h\x05.", "memo 5 is empty"},
		{"\x80\x02NNR.", "call with <nil>"},
		{"\x80\x02NNb.", "state for <nil>"},
		{"\x80\x02X\xff\xff\xff\xff.", "cut short"},
		{"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "cut short"},
	} {
		v, _, err := Read([]byte(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "pickle: at byte ") {
			t.Errorf("%.40q: %v (%v), want %q", c.in, text(v, 3), err, c.want)
		}
	}
}

func TestGet(t *testing.T) {
	d := &Dict{Keys: []any{"a", Tuple{int64(1)}, "a"}, Values: []any{int64(1), int64(2), int64(3)}}
	if v, ok := d.Get("a"); !ok || v != any(int64(3)) {
		t.Error(v, ok)
	}
	if v, ok := d.Get("b"); ok {
		t.Error(v)
	}
}

func FuzzRead(f *testing.F) {
	for protocol := 2; protocol <= 5; protocol++ {
		f.Add(example(f, protocol))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, _, err := Read(data)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 4*uint64(roomPerByte*len(data)+roomBase) {
			t.Errorf("%d bytes take %d bytes of memory", len(data), used)
		}
		if err == nil {
			text(v, 4)
		}
	})
}

// TestConformanceFiles reads the pickles in PyTorch's archives under $LATHE_MODELS.
func TestConformanceFiles(t *testing.T) {
	root := realmodels.Folder(t)
	files, err := filepath.Glob(filepath.Join(root, "torch", "*", "*.pt*"))
	if err != nil {
		t.Fatal(err)
	}
	pickles := 0
	for _, path := range files {
		z, err := zip.OpenReader(path)
		if err != nil {
			continue // older files are pickles one behind the other
		}
		defer z.Close()
		for _, member := range z.File {
			if filepath.Ext(member.Name) != ".pkl" {
				continue
			}
			r, err := member.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			pickles++
			if _, rest, err := Read(data); err != nil || len(rest) > 0 {
				t.Errorf("%s: %s: %v, %d bytes left", path, member.Name, err, len(rest))
			}
		}
	}
	if pickles < 5 {
		t.Errorf("only %d pickles in %d files", pickles, len(files))
	}
}
