package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lathe/runtime"
)

// A peer is what Lathe is compared with.
type peer interface {
	name() string
	version() string
	// open loads a model with its inputs set. Outputs have the given types. An errUnsupported is no failure: the peer
	// has nothing to say about the model.
	open(model string, threads int, inputs []runtime.Tensor, m *runtime.Module) (session, error)
	close() error
}

// A session is a loaded model, in this process or another, with its inputs set.
type session interface {
	// block makes one run that wakes threads and fills caches, and n that are counted, each behind a gap. When it returns, no thread of
	// another process works any more.
	block(n int, gap time.Duration) (block, error)
	// outputs are what the last run computed.
	outputs() ([][]float64, error)
	close() error
}

var errUnsupported = errors.New("not supported")

// peerSpec names a peer and what it needs: a library or an interpreter.
type peerSpec struct{ name, file string }

// peers are the known ones.
var peers = map[string]func(file string) (peer, error){"onnxruntime": startORT, "torch": startTorch}

// parsePeers reads "onnxruntime=LIBRARY torch=PYTHON"; "none" stands for none.
func parsePeers(text string) ([]peerSpec, error) {
	var list []peerSpec
	for _, w := range words(text) {
		name, file, ok := strings.Cut(w, "=")
		if w == "none" {
			continue
		}
		if _, known := peers[name]; !known || !ok || file == "" {
			return nil, fmt.Errorf("-peers: %q is not onnxruntime=LIBRARY or torch=PYTHON", w)
		}
		if slices.ContainsFunc(list, func(p peerSpec) bool { return p.name == name }) {
			return nil, fmt.Errorf("-peers: %s is there twice", name)
		}
		list = append(list, peerSpec{name, file})
	}
	return list, nil
}

// startPeers starts all; the result ends them.
func startPeers(specs []peerSpec) (list []peer, stop func(), err error) {
	stop = func() {
		for _, p := range list {
			p.close()
		}
	}
	for _, s := range specs {
		p, err := peers[s.name](s.file)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		list = append(list, p)
	}
	return list, stop, nil
}
