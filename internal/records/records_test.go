package records

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lathe/internal/choice"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// record is one of kernel k in a network.
func record(k string, stage Stage, accepted bool, network, tile string, ratio float64) Record {
	at = at.Add(time.Second)
	return Record{
		Version: 1, Key: Key{Kernel: k, Anchor: "anchor", Target: "x86_64 avx2", Class: "c", Workers: 2}, Point: choice.Point{"tile": tile},
		Times: []float64{1, 2}, Host: []float64{2, 3}, Ratio: ratio, Low: ratio - 0.01, High: ratio + 0.01, Stage: stage, Accepted: accepted,
		Network: network, Name: "conv", Time: at, By: By{Lathe: "1", Rules: 7, Seed: 1, Trial: 3, Tuner: "xgb"},
		Built: &Built{Taken: choice.Point{"tile": tile, "steps": "4"}, Cost: 1.1, Code: 100}, Work: &Work{Ops: []string{"nn.conv2d"}, FLOPs: 1e9},
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	var want []Record
	for i, cut := range []int{0, 7, 1, 300} {
		w, err := Append(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r := record(fmt.Sprint("k", i), Search, false, "net", "14 x 2", 0.9)
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
			want = append(want, r)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || os.Truncate(path, st.Size()-int64(cut)) != nil {
			t.Fatal(err)
		}
		if cut > 1 {
			want = want[:len(want)-1]
		}
	}
	c, err := ReadFiles(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.Damaged != 2 || !reflect.DeepEqual(c.Records, want) {
		t.Errorf("%d damaged, %d records instead of %d", c.Damaged, len(c.Records), len(want))
	}
}

// TestTogether: processes that append at once do not mix their lines.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	var all sync.WaitGroup
	for i := range 4 {
		r := record(fmt.Sprint("k", i), Search, false, "net", strings.Repeat("x", 3000), 0.9)
		all.Go(func() {
			w, err := Append(path)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				if err := w.Write(r); err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if c, err := ReadFiles(path); err != nil || len(c.Records) != 200 || c.Damaged != 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestCut cuts a file at every byte and continues with another: nothing of the other is lost.
func TestCut(t *testing.T) {
	var one bytes.Buffer
	if err := Write(&one, []Record{record("a", Search, false, "net", "1 x 1", 0.8)}); err != nil {
		t.Fatal(err)
	}
	for n := range one.Len() {
		c, err := Read(bytes.NewReader(append(bytes.Clone(one.Bytes()[:n]), one.Bytes()...)))
		if err != nil || len(c.Records) != 1 || (c.Damaged == 1) != (n > 0) {
			t.Fatalf("cut at %d: %d records, %d damaged, %v", n, len(c.Records), c.Damaged, err)
		}
	}
}

func TestRead(t *testing.T) {
	good, err := Line(record("a", Search, false, "net", "1 x 1", 0.8))
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string {
		out := strings.Replace(string(good), old, new, 1)
		if out == string(good) {
			t.Fatalf("no %s", old)
		}
		return out
	}
	for _, c := range []struct {
		name, text                                   string
		records, newer, damaged, foreign, startsSize int
	}{
		{"a record", string(good), 1, 0, 0, 0, 0},
		{"no end of line", strings.TrimSpace(string(good)), 1, 0, 0, 0, 0},
		{"empty lines and comments", "\n# text\r\n" + string(good) + "\n", 1, 0, 0, 0, 0},
		{"a later version", change(`"v":1`, `"v":2`), 0, 1, 0, 0, 0},
		{"more keys", change(`"v":1`, `"v":1,"colour":"red"`), 1, 0, 0, 0, 0},
		{"an unknown stage", change(`"search"`, `"guess"`), 0, 0, 1, 0, 0},
		{"an unknown fault", change(`"error":0`, `"error":9`), 0, 0, 1, 0, 0},
		{"a negative time", change(`"us":[1,`, `"us":[-1,`), 0, 0, 1, 0, 0},
		{"no target", change(`"x86_64 avx2"`, `""`), 0, 0, 1, 0, 0},
		{"a list", "[1]\n", 0, 0, 1, 0, 0},
		{"a number beyond all", change(`"ratio":0.8`, `"ratio":1e999`), 0, 0, 1, 0, 0},
		{"a line too long", `{"v":1,"x":"` + strings.Repeat("a", longestLine) + "\"}\n" + string(good), 1, 0, 1, 0, 0},
		{"deep", strings.Repeat(`{"v":`, 100_000) + "\n", 0, 0, 1, 0, 0},
		{"AutoTVM without parts", `{"input": [1], "version": 0.2}` + "\n" + `{"i": [1], "v": 0.1}` + "\n" + `{"i": [1], "v": "v0.6"}`, 0, 0, 3, 0, 0},
	} {
		got, err := Read(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(got.Records) != c.records || got.Newer != c.newer || got.Damaged != c.damaged || len(got.Foreign) != c.foreign || len(got.Starts) != c.startsSize {
			t.Errorf("%s: %d records, %d newer, %d damaged, %v", c.name, len(got.Records), got.Newer, got.Damaged, got.Foreign)
		}
	}
	dir := t.TempDir()
	none := filepath.Join(dir, "none.json")
	if err := os.WriteFile(none, []byte("PK\x03\x04 what is no record"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{none: "there are no tuning records", filepath.Join(dir, "absent"): "no such file", dir: "is a directory"} {
		if _, err := ReadFiles(path); err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), path) != 1 {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestTVM(t *testing.T) {
	c, err := ReadFiles("testdata/tvm.json")
	if err != nil {
		t.Fatal(err)
	}
	shapes := [][]int{{1, 64, 56, 56}, {64, 64, 3, 3}}
	want := []Start{
		{Writer: "AutoTVM 0.2", Task: "conv2d_NCHWc.x86", Shapes: shapes, Rows: 14, Channels: 32, Steps: 8, Seconds: 0.00064, Passed: []string{"unroll_kw"}},
		{Writer: "AutoTVM 0.1", Task: "topi_x86_conv2d_NCHWc", Shapes: shapes, Rows: 7, Channels: 16, Steps: 16, Seconds: 0.0012, Passed: []string{"unroll_kw"}},
		{Writer: "Ansor v0.6", Task: "d09dc1a6bb90d59c91b68989ad3492ff", Shapes: [][]int{{1, 56, 56, 64}, {3, 3, 64, 64}, {1, 1, 1, 64}, {1, 56, 56, 64}},
			Rows: 7, Channels: 32, Steps: 1, Seconds: 0.0007},
	}
	if got := PassedOver(c.Starts); !slices.Equal(got, []string{"unroll_kw"}) {
		t.Errorf("passed over: %v", got)
	}
	if !reflect.DeepEqual(c.Starts, want) || len(c.Records) != 0 || c.Damaged != 0 {
		t.Errorf("got %+v", c)
	}
	if err := c.Applicable(); err == nil || !strings.Contains(err.Error(), "records of Ansor v0.6, AutoTVM 0.1, AutoTVM 0.2 say") {
		t.Errorf("compiling says %v", err)
	}
	asked := []choice.Decision{
		{Name: "tile(conv)", Values: choice.Texts("2 x 7 x 2", "14 x 1", "14 x 2", "7 x 1")},
		{Name: "steps(conv)", Values: choice.Texts("1", "2", "4", "8"), Default: 2},
	}
	for i, p := range []choice.Point{{"tile(conv)": "14 x 2", "steps(conv)": "8"}, {"tile(conv)": "7 x 1"}, {"steps(conv)": "1"}} {
		s := &c.Starts[i]
		if !s.Fits(shapes) || s.Fits(shapes[:1]) {
			t.Errorf("start %d does not fit its shapes", i)
		}
		if got := s.Point(asked, 16); !reflect.DeepEqual(got, p) {
			t.Errorf("start %d is the point %v instead of %v", i, got, p)
		}
	}
	if got := c.Starts[0].Point(choice.Log{}.Asked, 0); got != nil {
		t.Errorf("without decisions: %v", got)
	}
}

func TestBest(t *testing.T) {
	key := Key{Kernel: "a", Anchor: "anchor", Target: "x86_64 avx2", Class: "c", Workers: 2}
	base := []Record{
		record("a", Search, false, "net", "1 x 1", 0.5),
		record("a", Confirm, true, "net", "2 x 1", 0.6),
		record("a", Network, false, "net", "3 x 1", 0.7),
		record("b", Network, true, "net", "4 x 1", 0.7),
	}
	other := record("a", Network, true, "other", "5 x 1", 0.8)
	own := record("a", Network, true, "net", "6 x 1", 0.9)
	better := record("a", Network, true, "other", "7 x 1", 0.75)
	back := record("a", Network, false, "net", "7 x 1", 0.75)
	ownBack := record("a", Network, false, "net", "6 x 1", 0.9)
	again := record("a", Network, true, "net", "6 x 1", 0.91)
	elsewhere := record("a", Network, true, "net", "8 x 1", 0.3)
	elsewhere.Class = "d"
	for i, c := range []struct {
		more []Record
		want string
	}{
		{nil, ""}, {[]Record{elsewhere}, ""}, {[]Record{other}, "5 x 1"}, {[]Record{other, better}, "7 x 1"}, {[]Record{better, other}, "7 x 1"},
		{[]Record{other, better, back}, "5 x 1"}, {[]Record{other, own}, "6 x 1"}, {[]Record{other, own, ownBack}, "5 x 1"},
		{[]Record{other, own, ownBack, again}, "6 x 1"},
	} {
		r, ok := NewBook(append(base[:4:4], c.more...)).Best(key, "net")
		if ok != (c.want != "") || r.Point["tile"] != c.want {
			t.Errorf("case %d: %v instead of %q", i, r.Point, c.want)
		}
	}
	book := NewBook(base)
	if near := book.Near(key); len(near) != 1 || near[0].Kernel != "b" {
		t.Errorf("near: %v", near)
	}
	pruned, err := Prune(append(base, other, better, back, own))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []Key{key, base[3].Key} {
		for _, network := range []string{"net", "other"} {
			want, _ := NewBook(append(base, other, better, back, own)).Best(k, network)
			if got, _ := NewBook(pruned).Best(k, network); !reflect.DeepEqual(got.Point, want.Point) {
				t.Errorf("pruning changes %s in %s from %v to %v", k.Kernel, network, want.Point, got.Point)
			}
		}
	}
	if len(pruned) != 3 {
		t.Errorf("%d records are left", len(pruned))
	}
}

func TestMerge(t *testing.T) {
	a, b, c := record("a", Search, false, "net", "1 x 1", 0.5), record("a", Search, false, "net", "1 x 1", 0.5), record("b", Search, false, "net", "1 x 1", 0.5)
	one, err := Merge([]Record{c, a, b, a})
	if err != nil {
		t.Fatal(err)
	}
	two, err := Merge([]Record{b, b, a, c})
	if err != nil || !reflect.DeepEqual(one, two) || len(one) != 3 || !reflect.DeepEqual(one[0], a) {
		t.Errorf("%d and %d records, %v", len(one), len(two), err)
	}
}

func TestSummaries(t *testing.T) {
	list := []Record{
		record("a", Search, false, "net", "1 x 1", 0.5), record("a", Search, false, "net", "2 x 1", 1.5), record("a", Confirm, true, "net", "1 x 1", 0.6),
		record("b", Search, false, "net", "1 x 1", 1.2), record("c", Search, false, "net", "1 x 1", 0.9),
		record("d", Network, true, "net", "1 x 1", 0.9), record("e", Network, false, "net", "1 x 1", 0.9),
	}
	list[1].Fault, list[1].Ratio = RuntimeDevice, 0
	var got []string
	for _, s := range Summarise(list) {
		got = append(got, fmt.Sprintf("%s %s %d %d", s.Kernel, s.Standing, s.Trials, s.Faults))
	}
	if want := "a confirmed 2 1, b rules 1 0, c searched 1 0, d accepted 0 0, e withdrawn 0 0"; strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
	if d := Diff(list, list); len(d) != 0 {
		t.Errorf("a file differs from itself: %v", d)
	}
	d := Diff(list[:3], append(list[3:4:4], record("a", Network, true, "net", "2 x 1", 0.6)))
	if len(d) != 2 || d[0].A.Kernel != "a" || d[0].B.Standing != Accepted || d[1].A != nil || d[1].B.Kernel != "b" {
		t.Errorf("differences %+v", d)
	}
}

func FuzzRead(f *testing.F) {
	line, err := Line(record("a", Network, true, "net", "1 x 1", 0.8))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(append(bytes.Clone(line[:40]), line...))
	tvm, err := os.ReadFile("testdata/tvm.json")
	if err != nil {
		f.Fatal(err)
	}
	for l := range bytes.Lines(tvm) {
		f.Add(bytes.Clone(l))
	}
	f.Add([]byte(`{"v":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		asked := []choice.Decision{{Name: "tile", Values: choice.Texts("1 x 1", "14 x 2")}}
		for _, s := range c.Starts {
			s.Fits([][]int{{1, 64, 56, 56}})
			s.Point(asked, 16)
		}
		var b bytes.Buffer
		if err := Write(&b, c.Records); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&b)
		if err != nil || len(again.Records) != len(c.Records) || again.Damaged+again.Newer != 0 {
			t.Fatalf("what was read is not read again: %v, %+v", err, again)
		}
		for _, r := range c.Records {
			NewBook(c.Records).Best(r.Key, r.Network)
		}
		if _, err := Prune(c.Records); err != nil {
			t.Fatal(err)
		}
		Summarise(c.Records)
	})
}
