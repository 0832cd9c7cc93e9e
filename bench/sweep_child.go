package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"lathe/bench/sweep"
)

// measureCommand makes this program measure one compiled model beside ONNX Runtime and end: every measurement has a process
// of its own, so that what one leaves behind does not change the next, and a crash ends one case.
const measureCommand = "measure-case"

// outcome is what the child prints.
type outcome struct {
	sweep.Measurement
	Missing string `json:"missing,omitempty"` // why the peer has no time
}

// measureChild is the child: LIBRARY THREADS BUDGET MODEL PACKAGE.
func measureChild(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("usage: bench %s LIBRARY THREADS BUDGET MODEL PACKAGE", measureCommand)
	}
	threads, err1 := strconv.Atoi(args[1])
	budget, err2 := time.ParseDuration(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	debug.SetGCPercent(-1) // the process is short, and its collector would run inside samples
	o, err := measureCase(args[0], threads, budget, args[3], args[4])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(o)
}

func measureCase(library string, threads int, budget time.Duration, model, pack string) (*outcome, error) {
	lathe, inputs, err := openOurs(pack, model, threads, 1)
	if err != nil {
		return nil, err
	}
	defer lathe.close()
	p, err := startORT(library)
	if err != nil {
		return nil, err
	}
	defer p.close()
	peer, err := p.open(model, threads, inputs, lathe.Module)
	if err != nil {
		return &outcome{Missing: err.Error()}, nil
	}
	defer peer.close()
	a, b, err := takeTurns(lathe, peer.(*ortSession), budget, threads)
	if err != nil {
		return nil, err
	}
	o := new(outcome)
	o.Lathe, o.Peer = a.side(), b.side()
	ours, err1 := lathe.outputs()
	theirs, err2 := peer.outputs()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for i, info := range lathe.Outputs() {
		// JSON has no infinity.
		d := math.MaxFloat64
		if len(ours[i]) == len(theirs[i]) {
			d = math.Min(d, distance(ours[i], theirs[i]))
		}
		o.Outputs = append(o.Outputs, sweep.Output{DType: info.DType, Distance: d})
	}
	return o, nil
}
