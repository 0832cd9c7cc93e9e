package evaluate

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lathe/internal/dataset"
	"lathe/internal/tool/npz"
)

var threeSamples = &dataset.Set{Classes: []string{"ant", "bee"}, Samples: []dataset.Sample{{Name: "a.png", Class: 0}, {Name: "b.png", Class: 1}, {Name: "c.png", Class: 1}}}

func predictions(t *testing.T, name, text string) (*External, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return ReadPredictions("x", path, threeSamples)
}

func TestPredictions(t *testing.T) {
	scores := bytes.Buffer{}
	if err := npz.Write(&scores, []npz.Array{
		{Name: "scores", DType: "uint8", Shape: []int{3, 2}, Data: []byte{9, 1, 2, 8, 7, 3}},
		{Name: "ms", DType: "uint8", Shape: []int{3}, Data: []byte{1, 2, 3}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file, text string
		hard, timed      bool
		scores           [][]float32
		second           time.Duration
	}{
		{"numbers", "p.csv", "file,predicted\nc.png,0\na.png,0\nb.png,1\nother.png,9\n", true, false, [][]float32{{1, 0}, {0, 1}, {1, 0}}, 0},
		{"names and times", "p.csv", "ms,file,prediction\n0.5,a.png,bee\n2,b.png,bee\n1,c.png,ant\n", true, true, [][]float32{{0, 1}, {0, 1}, {1, 0}}, 2 * time.Millisecond},
		{"scores", "p.csv", "file,score_0,score_1\na.png,0.5,-1\nb.png,1,2\nc.png,3,4\n", false, false, [][]float32{{0.5, -1}, {1, 2}, {3, 4}}, 0},
		{"a third class", "p.csv", "file,predicted\na.png,2\nb.png,1\nc.png,0\n", true, false, [][]float32{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, 0},
		{"arrays", "p.npz", scores.String(), false, true, [][]float32{{9, 1}, {2, 8}, {7, 3}}, 2 * time.Millisecond},
	} {
		e, err := predictions(t, c.file, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if e.hard != c.hard || e.timed != c.timed || e.outcomes[1].took != c.second {
			t.Errorf("%s: %+v", c.name, e)
		}
		for i, want := range c.scores {
			if !slices.Equal(e.outcomes[i].scores, want) {
				t.Errorf("%s: sample %d: %v, want %v", c.name, i, e.outcomes[i].scores, want)
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "is empty"}, {"a,b\n", "names no column file and predicted"}, {"file,predicted\na.png,0\n", "2 of 3 samples are not in it, such as b.png"},
		{"file,predicted\na.png,wasp\n", `"wasp" is none of the 2 classes`}, {"file,predicted\na.png,-1\n", "class -1 is outside"}, {"file,predicted,ms\na.png,0,soon\n", "no time in ms"},
		{"file,score_0,score_1\na.png,1,x\n", "line 2: \"x\" is no score"}, {"\x93NUMPY", "header"},
	} {
		if _, err := predictions(t, "p.csv", c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzPredictions(f *testing.F) {
	f.Add([]byte("file,predicted,ms\na.png,0,1\nb.png,1,1\nc.png,bee,1\n"))
	f.Add([]byte("file,score_0,score_1\na.png,0.5,-1\nb.png,1,2\nc.png,3,4\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := &External{outcomes: make([]outcome, len(threeSamples.Samples))}
		err := e.fromCSV(b, threeSamples)
		if bytes.HasPrefix(b, []byte("\x93NUMPY")) {
			err = e.fromArrays(b)
		}
		if err != nil {
			return
		}
		for _, o := range e.outcomes {
			if len(o.scores) != e.classes || e.classes < 2 {
				t.Errorf("%d scores of %d classes", len(o.scores), e.classes)
			}
		}
	})
}
