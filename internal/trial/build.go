// Package trial carries out what a tuner proposes: builders compile candidates, and measurers race them, in child processes that are
// replaced when a candidate ends them.
package trial

import (
	"errors"
	"fmt"
	"io"
	"lathe/internal/executor"
	"os"
	"path/filepath"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/child"
	"lathe/internal/choice"
	"lathe/internal/compile"
	"lathe/internal/records"
)

// A question is what a builder is asked. One of its fields is set.
type question struct {
	Open  *opening
	Build *build
	Text  *build // its assembly
	Pack  *packing
}

// An opening is a network: what Serve's caller reads, and the folder for libraries.
type opening struct {
	Network []byte
	Folder  string
	Prefix  string               // of files
	Relief  map[int]choice.Point // that packing without points told of
}

type build struct {
	Task  int
	Point choice.Point
}

type packing struct {
	Points map[int]choice.Point
	Path   string
	Walk   string // path for the library of the walk: it is the host, without points; "": it is not
}

// A host is what is known of the network without points.
type host struct {
	Relief map[int]choice.Point
	Walk   executor.VariantInfo
	Steps  int
}

// An answer is what comes back, by the question.
type answer struct {
	Tasks []compile.Task
	Asked map[string][]choice.Decision // on the graph, by node
	Evict int
	Host  *host
	Info  *bundle.Manifest
	Built candidate
	Text  string
}

// A candidate is one that was built, or the fault by which it was not.
type candidate struct {
	Code    executor.VariantInfo
	Taken   choice.Point
	Asked   []choice.Decision
	Digest  string
	Size    int
	Cycles  float64
	Spills  float64
	Fault   records.Fault
	Message string
	Took    time.Duration
}

// ServeBuilds answers the questions of a tuner. open reads a network, and takes it to its plan of memory.
func ServeBuilds(in io.Reader, out io.Writer, open func(network []byte) (*compile.Session, error)) error {
	b := &builder{}
	return child.Serve(in, out, func(q question) (a answer, err error) {
		switch {
		case q.Open != nil:
			b.opening = *q.Open
			if b.session, err = open(q.Open.Network); err != nil {
				return a, err
			}
			b.session.Relieve(q.Open.Relief)
			a.Tasks, a.Asked, a.Evict = b.session.Tasks(), b.session.Asked(), b.session.Evict()
		case b.session == nil:
			err = errors.New("no network is open")
		case q.Build != nil:
			a.Built, err = b.build(*q.Build)
		case q.Text != nil:
			a.Text, err = b.session.Assembly(q.Text.Task, q.Text.Point)
		case q.Pack != nil:
			a.Info, a.Host, err = b.pack(*q.Pack)
		}
		return a, err
	})
}

// A builder is the work of a building process.
type builder struct {
	opening
	session *compile.Session
	n       int // libraries written
}

// build writes a candidate's library. What the point is to blame for is a fault of the candidate.
func (b *builder) build(q build) (candidate, error) {
	start := time.Now()
	c, err := b.session.Build(q.Task, q.Point)
	took := time.Since(start)
	switch {
	case errors.Is(err, compile.ErrPoint):
		return candidate{Fault: records.Instantiation, Message: err.Error(), Took: took}, nil
	case err != nil:
		return candidate{Fault: records.CompileHost, Message: err.Error(), Took: took}, nil
	}
	b.n++
	path := filepath.Join(b.Folder, fmt.Sprintf("%s%d.so", b.Prefix, b.n))
	if err := os.WriteFile(path, c.Library, 0o700); err != nil {
		return candidate{}, err
	}
	return candidate{
		Code:  executor.VariantInfo{Path: path, Run: c.RunSymbol, Part: c.PartSymbol, Scratch: c.Scratch},
		Taken: c.Taken, Asked: c.Asked, Digest: c.Digest, Size: c.Code, Cycles: c.Cycles, Spills: c.Spills, Took: took,
	}, nil
}

func (b *builder) pack(q packing) (*bundle.Manifest, *host, error) {
	if q.Walk != "" {
		return b.packHost(q)
	}
	r, err := b.session.Package(q.Points)
	if err != nil {
		return nil, nil, err
	}
	return r.Contents.Manifest, nil, bundle.Write(q.Path, &r.Contents)
}

func (b *builder) packHost(q packing) (*bundle.Manifest, *host, error) {
	r, err := b.session.Host()
	if err != nil {
		return nil, nil, err
	}
	h := &host{Relief: r.Relief, Steps: r.Steps}
	if r.Walk != nil {
		h.Walk = executor.VariantInfo{Path: q.Walk, Run: r.WalkSymbol, Scratch: r.Scratch}
		if err := os.WriteFile(q.Walk, r.Walk, 0o700); err != nil {
			return nil, nil, err
		}
	}
	return r.Contents.Manifest, h, bundle.Write(q.Path, &r.Contents)
}
