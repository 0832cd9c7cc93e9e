package lathe_test

import (
	"bytes"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe"
	"lathe/internal/choice"
	"lathe/internal/records"
	"lathe/runtime"
)

// TestTuneFacts: where the machine has other facts than the target, the network is tried first as it is decided by them, once; where it has the target's nothing is. What a
// verdict accepted is compiled as for a target with those facts, whoever compiles, and what it refused, or what are no facts, changes no byte.
func TestTuneFacts(t *testing.T) {
	if goruntime.GOARCH != "amd64" {
		t.Skip("a kernel that other facts decide otherwise is known for x86-64")
	}
	const right, facts = "llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu -caches=32,512,16384 -fma-units=2 -clock=3000", "-caches=32,512,16384 -fma-units=2"
	const wrong = "llvm -mcpu=x86-64-v2 -mtriple=x86_64-linux-gnu -caches=1,2,0 -fma-units=1 -clock=3000"
	output := filepath.Join(t.TempDir(), "records.json")
	var notes []string
	o := lathe.TuneOptions{
		Target: wrong, Output: output, Facts: facts, Trials: 4, Number: 1, SearchOnly: true, Workers: 1, Seed: 1,
		Notes: func(s string) { notes = append(notes, s) },
	}
	r, err := lathe.Tune(t.Context(), digitsModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := records.ReadFiles(output)
	if err != nil {
		t.Fatal(err)
	}
	var tried, judged []records.Record
	for _, rec := range c.Records {
		if rec.Name == "graph" && rec.Stage == records.Search {
			tried = append(tried, rec)
		} else if rec.Name == "graph" {
			judged = append(judged, rec)
		}
	}
	if r.Graph == nil || r.Graph.Facts != facts || len(tried) != 1 || tried[0].Point["facts()"] != facts || len(judged) != 1 || judged[0].Accepted != r.Graph.Accepted {
		t.Fatalf("%+v, tried %v, judged %v", r.Graph, tried, judged)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "given facts differ from the target's: caches 32,512,16384 for 1,2,0, fma-units 2 for 1") {
		t.Errorf("notes: %s", text)
	}
	again, err := lathe.Tune(t.Context(), digitsModel(t), o)
	if err != nil || again.Graph == nil || !again.Graph.Earlier || again.Graph.Tried != 0 || again.Graph.Accepted != r.Graph.Accepted {
		t.Errorf("again: %+v, %v", again.Graph, err)
	}
	has := o
	has.Target, has.Trials, has.Output = right, 1, filepath.Join(t.TempDir(), "right.json")
	if r, err := lathe.Tune(t.Context(), digitsModel(t), has); err != nil || r.Graph != nil {
		t.Errorf("a target that has the facts: %+v, %v", r.Graph, err)
	}

	none := o
	none.Facts = "-mcpu=znver3"
	if _, err := lathe.Tune(t.Context(), digitsModel(t), none); err == nil || !strings.Contains(err.Error(), "is no fact of a machine") {
		t.Errorf("what are no facts: %v", err)
	}

	plain := bytesOf(t, lathe.CompileOptions{Target: wrong})
	rec := tried[0]
	rec.Stage, rec.Time = records.Network, time.Now().Add(time.Hour)
	compiled := func(facts string, accepted bool) ([]byte, string) {
		rec.Point, rec.Accepted = choice.Point{"facts()": facts}, accepted
		return byRecord(t, rec, lathe.CompileOptions{Target: wrong})
	}
	if got, notes := compiled(facts, true); !bytes.Equal(got, bytesOf(t, lathe.CompileOptions{Target: right})) || bytes.Equal(got, plain) || !strings.Contains(notes, facts) {
		t.Errorf("the package by records of facts is another than that for a target with them: %s", notes)
	}
	rec.Point, rec.Accepted = choice.Point{"facts()": facts}, true
	replay := o
	replay.Replay, replay.Output = recorded(t, rec), filepath.Join(t.TempDir(), "replayed.json")
	if _, err := lathe.Tune(t.Context(), digitsModel(t), replay); err != nil {
		t.Fatal(err)
	}
	if got := bytesOf(t, lathe.CompileOptions{Target: wrong, Records: []string{replay.Output}}); !bytes.Equal(got, bytesOf(t, lathe.CompileOptions{Target: right})) {
		t.Error("points are tried again in another network than that of their records")
	}
	rec.Accepted = false
	begun(t, o, right, "")
	begun(t, o, right, recorded(t, rec))
	if got, _ := compiled(facts, false); !bytes.Equal(got, plain) {
		t.Error("facts that were refused are compiled by")
	}
	for _, none := range []string{"-mcpu=znver3", "-fma-units=0", ""} {
		if got, notes := compiled(none, true); !bytes.Equal(got, plain) || none != "" && !strings.Contains(notes, "facts of the machine") {
			t.Errorf("%q, which is no fact, changes the package: %s", none, notes)
		}
	}
}

// begun tunes a kernel of which nothing follows from decisions on the graph, in a network that is not decided by the facts of the right target, since tasks are selected or
// since earlier records refused it: the kernel is begun with what the rules choose by those facts.
func begun(t *testing.T, o lathe.TuneOptions, right, earlier string) {
	t.Helper()
	name := "selected"
	o.Trials, o.Output = 12, filepath.Join(t.TempDir(), "selected.json")
	if earlier != "" {
		name, o.Output = "refused", earlier
	}
	o.Select = func(k lathe.TuneTask) bool { return strings.Contains(k.Name, "dense") }
	r, err := lathe.Tune(t.Context(), digitsModel(t), o)
	if err != nil || (r.Graph != nil) != (earlier != "") || r.Graph != nil && (!r.Graph.Earlier || r.Graph.Accepted) {
		t.Fatalf("%s: %+v, %v", name, r, err)
	}
	c, err := records.ReadFiles(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	p, err := lathe.Compile(t.Context(), digitsModel(t), lathe.CompileOptions{Target: right})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Records, func(r records.Record) bool { return strings.Contains(r.Name, "dense") })
	if i < 0 {
		t.Fatalf("%s: nothing of the kernel was tried", name)
	}
	first := c.Records[i]
	at := slices.IndexFunc(p.Info().Steps, func(s runtime.Step) bool { return s.Name == first.Name })
	if len(first.Point) == 0 || !matches(first.Point, p.Info().Steps[at].Point) {
		t.Errorf("%s: a kernel is begun with %v, and the rules choose %v by the facts of the machine", name, first.Point, p.Info().Steps[at].Point)
	}
}

// matches reports that all was decided as a point says.
func matches(p choice.Point, decided map[string]string) bool {
	for name, value := range p {
		if decided[name] != value {
			return false
		}
	}
	return true
}
