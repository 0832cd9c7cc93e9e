// Command bench compares the packages Lathe compiles with peers on this machine: ONNX Runtime, in the same process, and
// PyTorch, in one of its own.
//
// The sides take turns in blocks of runs: Lathe, ONNX Runtime, ONNX Runtime, Lathe and so on. A block begins when all
// others have become idle, so that threads of another side that still look for work take nothing from it, and its
// first run is not counted. Reported are medians over all counted runs. Making inputs and reading outputs is not
// counted on any side; ONNX Runtime writes to outputs allocated before, as Lathe does.
//
// Absolute times move with the machine and with whatever else it does; the ratio is what counts.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lathe"
	"lathe/bench/zoo"
)

// settings are the flags.
type settings struct {
	models  []string // names in zoo, or files; none = all of zoo
	zoo     string   // folder of networks with weights
	peers   []peerSpec
	threads []int
	batch   []int
	repeat  int           // blocks of each side
	busy    float64       // of a processor, that other work takes while several threads are timed
	gap     time.Duration // before each run
	results string
	target  string
	level   int
}

// commands are what a first argument chooses instead of a comparison of networks.
var commands = map[string]func(args []string) error{
	compileCommand: compileChild, tableCommand: printTable, sweepCommand: runSweep, measureCommand: measureChild, zooCommand: writeZoo,
	convertCommand: convertModel, tuneCommand: tuneAll, qualityCommand: qualityAll, timesCommand: timesChild, busyCommand: busyChild,
}

func main() {
	if child, err := lathe.TuneChild(); child {
		if err != nil {
			os.Exit(1)
		}
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		if command := commands[args[0]]; command != nil {
			return command(args[1:])
		}
	}
	s, measure, err := readFlags(args)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "lathe-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if measure {
		return measureAll(s, work)
	}
	return compareAll(s, work)
}

func readFlags(args []string) (*settings, bool, error) {
	s := new(settings)
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	models := f.String("models", "", "networks: names in the zoo or files, separated by spaces or commas (default: the zoo)")
	threads := f.String("threads", "1 2", "numbers of threads")
	batch := f.String("batch", "1", "sizes of batches")
	peers := f.String("peers", "", "peers with what they need: onnxruntime=LIBRARY torch=PYTHON")
	measure := f.Bool("measure", false, "measure what compiling, opening and idling cost instead of comparing")
	f.StringVar(&s.zoo, "zoo", defaultZoo(), "folder of networks with weights, as scripts/fill-zoo.sh fills it")
	f.IntVar(&s.repeat, "repeat", 7, "blocks of runs of each side")
	f.Float64Var(&s.busy, "busy", 0, "part of a processor that a load takes while several threads are timed, from 0 to 1")
	f.DurationVar(&s.gap, "gap", 0, "rest before each run, as of a program that waits for its next input: 20ms")
	f.StringVar(&s.results, "results", "results", "folder for the results as JSON and as a page")
	f.StringVar(&s.target, "target", "llvm", "Lathe's target")
	f.IntVar(&s.level, "O", 3, "Lathe's optimisation level")
	if err := f.Parse(args); err != nil {
		return nil, false, err
	}
	if f.NArg() > 0 {
		return nil, false, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if !(s.busy >= 0 && s.busy <= 1) {
		return nil, false, fmt.Errorf("-busy %g: must be from 0 to 1", s.busy)
	}
	if s.gap < 0 || s.gap > time.Minute {
		return nil, false, fmt.Errorf("-gap %v: must be from 0 to 1m", s.gap)
	}
	if s.repeat < 1 {
		return nil, false, fmt.Errorf("-repeat %d: must be at least 1", s.repeat)
	}
	var err error
	if s.threads, err = numbers("threads", *threads); err != nil {
		return nil, false, err
	}
	if s.batch, err = numbers("batch", *batch); err != nil {
		return nil, false, err
	}
	if s.peers, err = parsePeers(*peers); err != nil {
		return nil, false, err
	}
	s.models, err = findModels(words(*models), s.zoo)
	return s, *measure, err
}

// numbers reads the value of a flag.
func numbers(name, text string) ([]int, error) {
	var list []int
	for _, w := range words(text) {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > 4096 {
			return nil, fmt.Errorf("-%s: %q is not a number from 1 to 4096", name, w)
		}
		list = append(list, n)
	}
	return list, nil
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
}

// defaultZoo is where scripts/fill-zoo.sh and continuous integration keep the networks.
func defaultZoo() string {
	if dir := os.Getenv("LATHE_ZOO"); dir != "" {
		return dir
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "lathe", "zoo")
}

// findModels returns the files of the named networks. Those that package zoo builds are written when they are missing.
func findModels(names []string, folder string) ([]string, error) {
	if len(names) == 0 {
		files, err := filepath.Glob(filepath.Join(folder, "*.onnx"))
		if err == nil && files == nil {
			err = fmt.Errorf("no networks in %q: fill it with scripts/fill-zoo.sh, or name it with LATHE_ZOO", folder)
		}
		return files, err
	}
	var files []string
	for _, name := range names {
		file := name
		network, isKeras := strings.CutSuffix(name, ".h5")
		switch {
		case strings.Contains(name, string(filepath.Separator)) || strings.HasSuffix(name, ".onnx"):
		case isKeras:
			file = filepath.Join(folder, name)
		default:
			file = filepath.Join(folder, name+".onnx")
		}
		_, err := os.Stat(file)
		if slices.Contains(zoo.Names(), network) && errors.Is(err, fs.ErrNotExist) {
			err = zoo.Write(folder, []string{network})
		}
		if err != nil {
			return nil, fmt.Errorf("network %s: %w", name, err)
		}
		files = append(files, file)
	}
	return files, nil
}

func modelName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".onnx") }
