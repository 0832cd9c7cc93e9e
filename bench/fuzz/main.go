// Command fuzz compares the definitions of Lathe's operators with ONNX Runtime on random models: the cases of test/fuzz.
// Both may be wrong; the text of ONNX decides.
//
//	fuzz -library libonnxruntime.so.1 [-seed N] [-cases N] [-time 1h] [-sources grown,mixed] [-findings DIR]
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"lathe/test/fuzz"
)

// childMark in the environment makes the process a child that runs cases; its value is ONNX Runtime's library.
const childMark = "LATHE_ORT_FUZZ_CHILD"

func main() {
	library := flag.String("library", "", "ONNX Runtime's shared library")
	seed := flag.Uint64("seed", 0, "number of the first case")
	cases := flag.Int("cases", 0, "number of cases; 0: as the time allows")
	limit := flag.Duration("time", time.Minute, "how long to look")
	sources := flag.String("sources", "grown,mixed,network,control", "sources of cases")
	out := flag.String("findings", "findings", "folder for findings")
	flag.Parse()
	err := serve(os.Getenv(childMark))
	if err == nil && os.Getenv(childMark) == "" {
		err = hunt(*library, *seed, *cases, *limit, strings.Split(*sources, ","), *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func serve(library string) error {
	if library == "" {
		return nil
	}
	ort.SetSharedLibraryPath(library)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return fmt.Errorf("%s: %w", library, err)
	}
	return fuzz.Serve(os.Stdin, os.Stdout, compare)
}

func hunt(library string, seed uint64, cases int, limit time.Duration, sources []string, out string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	h := &fuzz.Hunt{Sources: sources, Out: out, Peer: peerStep, Command: func() *exec.Cmd {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childMark+"="+library, "GOMAXPROCS=2")
		return cmd
	}, Log: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	h.Start()
	defer h.Close()
	start, done := time.Now(), 0
	for ; cases > 0 && done < cases || cases == 0 && time.Since(start) < limit; done++ {
		h.Case(seed + uint64(done))
	}
	fmt.Printf("%d cases from number %d in %v: %v\n", done, seed, time.Since(start).Round(time.Second), h.Counts)
	for _, text := range slices.SortedFunc(maps.Keys(h.Refs), func(a, b string) int { return h.Refs[b] - h.Refs[a] }) {
		fmt.Printf("%6d times %s\n", h.Refs[text], text)
	}
	if len(h.Found) > 0 {
		return fmt.Errorf("%d findings in %s", len(h.Found), out)
	}
	return nil
}
