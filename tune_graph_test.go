package lathe_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lathe"
	"lathe/internal/choice"
	"lathe/internal/records"
)

// TestTuneGraph: each decision on the graph that is tried is a record. What a verdict accepted of them is compiled as if it were given by
// hand, what was withdrawn or cannot be is not, and a tuning that finds a verdict in its records tries nothing again.
func TestTuneGraph(t *testing.T) {
	output := filepath.Join(t.TempDir(), "records.json")
	o := lathe.TuneOptions{Output: output, Facts: lathe.FactsOfTarget, Graph: true, Trials: 8, Number: 1, SearchOnly: true, Workers: 1}
	r, err := lathe.Tune(t.Context(), digitsModel(t), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := records.ReadFiles(output)
	if err != nil {
		t.Fatal(err)
	}
	var tried []records.Record
	verdicts := 0
	for _, rec := range c.Records {
		switch {
		case rec.Name != "graph":
		case rec.Stage == records.Network:
			verdicts++
		case rec.Fault != records.None:
			t.Errorf("%v has no time: %d", rec.Point, rec.Fault)
		default:
			tried = append(tried, rec)
		}
	}
	if r.Graph == nil || r.Graph.Earlier || len(tried) != 2 || r.Graph.Tried != 2 || verdicts != 1 { // a quarter of the trials
		t.Fatalf("%+v, %d tried, %d verdicts", r.Graph, len(tried), verdicts)
	}
	if again, err := lathe.Tune(t.Context(), digitsModel(t), o); err != nil || !again.Graph.Earlier || again.Graph.Tried != 0 || again.Graph.Accepted != r.Graph.Accepted {
		t.Errorf("again: %+v, %v", again.Graph, err)
	}

	plain := bytesOf(t, lathe.CompileOptions{})
	rec := tried[0]
	rec.Stage, rec.Time = records.Network, time.Now().Add(time.Hour)
	choices := map[string]map[string]string{}
	illegal := choice.Point{"algorithm(no such node)": "direct"}
	for at, value := range rec.Point {
		name, node, _ := strings.Cut(strings.TrimSuffix(at, ")"), "(")
		if choices[node] == nil {
			choices[node] = map[string]string{}
		}
		choices[node][name] = value
		illegal[at] = "no such value"
	}
	compiled := func(point choice.Point, accepted bool) ([]byte, string) {
		rec.Point, rec.Accepted = point, accepted
		return byRecord(t, rec, lathe.CompileOptions{})
	}
	point := rec.Point
	if got, notes := compiled(point, true); !bytes.Equal(got, bytesOf(t, lathe.CompileOptions{Choices: choices})) || bytes.Equal(got, plain) || !strings.Contains(notes, "on the graph by records") {
		t.Errorf("the package by a record is not that of %v: %s", choices, notes)
	}
	if got, _ := compiled(point, false); !bytes.Equal(got, plain) {
		t.Error("decisions that were withdrawn are compiled")
	}
	if got, notes := compiled(illegal, true); !bytes.Equal(got, plain) || !strings.Contains(notes, `has no value "no such value" here`) || !strings.Contains(notes, `node "no such node"`) {
		t.Errorf("what does not fit changes the package: %s", notes)
	}
}

// recorded is a file with a record.
func recorded(t *testing.T, r records.Record) string {
	t.Helper()
	line, err := records.Line(r)
	path := filepath.Join(t.TempDir(), "one.records")
	if err == nil {
		err = os.WriteFile(path, line, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// byRecord is the package by a record, and what is said of it.
func byRecord(t *testing.T, r records.Record, o lathe.CompileOptions) (pack []byte, notes string) {
	t.Helper()
	var said []string
	o.Records, o.Notes = []string{recorded(t, r)}, func(s string) { said = append(said, s) }
	return bytesOf(t, o), strings.Join(said, "\n")
}
