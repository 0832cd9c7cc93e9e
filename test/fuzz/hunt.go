package fuzz

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A Hunt looks for findings, each of which it reports once.
type Hunt struct {
	Sources  []string
	Corpus   []string
	Variants []string
	Out      string // folder for findings
	Command  func() *exec.Cmd
	Log      func(format string, args ...any)
	Known    map[string]bool // signatures that are not reported again
	Peer     string          // see Child

	child  Child
	last   string         // what the smallest model so far gives
	Counts map[string]int // outcomes by kind
	Refs   map[string]int // messages of refusals
	Found  []string
}

// Start prepares a hunt.
func (h *Hunt) Start() {
	h.child.Command, h.child.Peer = h.Command, h.Peer
	h.Counts, h.Refs = map[string]int{}, map[string]int{}
	if h.Known == nil {
		h.Known = map[string]bool{}
	}
}

// Close ends its process.
func (h *Hunt) Close() { h.child.Stop() }

// Case checks the case with a number.
func (h *Hunt) Case(seed uint64) {
	k := Task{Seed: seed, Sources: h.Sources, Corpus: h.Corpus, Variants: h.Variants}
	reply := h.child.Run(k)
	o := reply.Outcome
	h.Counts[o.Kind]++
	if o.Kind == Refused {
		h.Refs[skeleton(o.Detail)]++
	}
	if !o.Finding() || h.Known[o.Signature] {
		return
	}
	h.Known[o.Signature] = true
	h.last, _, _ = strings.Cut(o.Detail, "\n")
	if reply.File == nil { // the process died with it
		k.Generate = true
		reply.Name, reply.File, reply.Data = func() (string, []byte, int) {
			r := h.child.Run(k)
			return r.Name, r.File, r.Data
		}()
	}
	small := reply.File
	if reply.File != nil {
		small = h.minimise(reply, seed)
	}
	h.report(seed, reply.Name, small, o)
}

// minimise keeps the kind of a finding, and its place where it has one.
func (h *Hunt) minimise(reply Reply, seed uint64) []byte {
	o := reply.Outcome
	variants := []string{o.Variant}
	if o.Kind == Differs {
		variants = []string{"all"}
	}
	return Minimise(reply.File, 80, func(file []byte) bool {
		r := h.child.Run(Task{File: file, Seed: seed, Data: reply.Data, Variants: variants})
		got := r.Outcome
		same := got.Kind == o.Kind && (got.Kind == Wrong || got.Kind == Unequal || got.Kind == RoundTrip || got.Signature == o.Signature)
		if same {
			h.last, _, _ = strings.Cut(got.Detail, "\n")
		}
		return same
	})
}

// report writes the finding into a folder of its own.
func (h *Hunt) report(seed uint64, name string, file []byte, o *Outcome) {
	h.Found = append(h.Found, o.Signature)
	dir := filepath.Join(h.Out, fmt.Sprintf("%s-%d", o.Kind, seed))
	text := fmt.Sprintf("%s: %s\nsource %s, seed %d, variant %s\n\n%s\n", o.Kind, o.Signature, name, seed, o.Variant, o.Detail)
	h.Log("%s", strings.SplitN(text, "\n\n", 2)[0])
	guard("", func() error {
		g, err := Load(file)
		if err == nil {
			text += "model.onnx, with fewer parts, gives\n" + h.last + "\n" + g.String()
		}
		return err
	})
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "what.txt"), []byte(text), 0o644)
	}
	if err == nil && file != nil {
		err = os.WriteFile(filepath.Join(dir, "model.onnx"), file, 0o644)
	}
	if err != nil {
		h.Log("%v", err)
	}
}
