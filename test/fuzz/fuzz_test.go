package fuzz

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// childMark in the environment makes the test binary a child that runs cases.
const childMark = "LATHE_FUZZ_CHILD"

func TestMain(m *testing.M) {
	if mark := os.Getenv(childMark); mark != "" {
		check := Compiled
		if mark == "misbehave" {
			check = misbehave
		}
		if err := Serve(os.Stdin, os.Stdout, check); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	seedFlag    = flag.Uint64("seed", 0, "number of the first case")
	casesFlag   = flag.Int("cases", 0, "number of cases; 0: as the time allows")
	sourcesFlag = flag.String("sources", "", "sources of cases, separated by commas; empty: all")
	outFlag     = flag.String("findings", "", "folder for findings")
)

// fixedCases is how many cases an ordinary test run checks.
const fixedCases = 40

// TestFuzz checks random cases: a fixed few, or for LATHE_FUZZ_TIME, or as many as -cases says, from number -seed on. Damaged
// real models take part where LATHE_MODELS is set. Findings are written to -findings.
func TestFuzz(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	limit, count := time.Duration(0), fixedCases
	if text := os.Getenv("LATHE_FUZZ_TIME"); text != "" {
		var err error
		if limit, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
		count = 1 << 40
	}
	if *casesFlag > 0 {
		count = *casesFlag
	}
	h := &Hunt{Corpus: corpus(t, limit > 0 || *casesFlag > 0), Out: *outFlag, Command: func() *exec.Cmd {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childMark+"=1", "GOMAXPROCS=2", "GOTRACEBACK=all")
		return cmd
	}, Log: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	if *sourcesFlag != "" {
		h.Sources = strings.Split(*sourcesFlag, ",")
	}
	if _, err := NewSources(h.Corpus, h.Sources...); err != nil {
		t.Fatal(err)
	}
	if h.Out == "" {
		h.Out = t.TempDir()
	}
	h.Start()
	defer h.Close()
	start, done := time.Now(), 0
	for ; done < count && (limit == 0 || time.Since(start) < limit); done++ {
		h.Case(*seedFlag + uint64(done))
	}
	t.Logf("%d cases from number %d in %v: %v", done, *seedFlag, time.Since(start).Round(time.Second), h.Counts)
	for _, text := range slices.SortedFunc(maps.Keys(h.Refs), func(a, b string) int { return h.Refs[b] - h.Refs[a] })[:min(12, len(h.Refs))] {
		t.Logf("refused %d times: %s", h.Refs[text], text)
	}
	for _, f := range h.Found {
		t.Errorf("found %s", f)
	}
}

// corpus lists the models that are damaged: those of ONNX's backend tests and some small networks.
func corpus(t *testing.T, wanted bool) []string {
	root := os.Getenv("LATHE_MODELS")
	if root == "" || !wanted {
		return nil
	}
	var list []string
	for _, folder := range []string{"onnx_backend", "onnx"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".onnx" {
				return err
			}
			if info, err := d.Info(); err == nil && info.Size() < 300<<10 {
				list = append(list, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}
