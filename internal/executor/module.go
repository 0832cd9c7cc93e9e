// Package executor loads a package and executes its steps, as a whole or one by one, by its own code or by other code that a tuner
// tries. Package runtime is the way for programs: it has tensors, names and checks, and guards what must not happen at once.
package executor

import (
	"errors"
	"fmt"

	"lathe/internal/bundle"
	"lathe/runtime/external"
)

// Module is an open package with the memory for one run at a time. Of its methods, and those of its variants, no two may be
// called at once.
type Module struct {
	info     *bundle.Manifest
	lib      *library
	opts     Options
	mem      *memory
	pool     *pool
	variants []*Variant
	regions  []*openRegion // in the order of their steps
	notes    []string
	set      []bool
	ran      bool
}

// Options say how a package is opened.
type Options struct {
	// Workers is the number of threads of a run, 1 to 1024, or FromMachine. Packages may take fewer.
	Workers int
	// Check compares all weights with their digest, and refuses packages without one.
	Check bool
	// Mapped leaves weights in the file, of which runs bring into memory what they read, for all processes at once. Otherwise large
	// ones are read into memory of the process, in huge pages, which makes runs faster.
	Mapped bool
	// External are run-time modules for regions of external code generators, before those that are built in.
	External []external.Runtime
}

// Open maps the package at path, checks that this machine can run it and loads its library. The path is a tar, the triple
// beside NAME.so, NAME.so with the other files inside, or an unpacked directory.
func Open(path string, o Options) (*Module, error) {
	lib, err := openLibrary(path, o)
	if err != nil {
		return nil, err
	}
	m, err := newModule(lib, o)
	if err != nil {
		lib.release()
		return nil, fmt.Errorf("package %s: %w", path, err)
	}
	return m, nil
}

// newModule takes over the caller's reference to lib when it succeeds.
func newModule(lib *library, o Options) (*Module, error) {
	info := lib.pkg.Manifest
	workers, oversubscribed, err := workerCount(o.Workers, info.MaxWorkers)
	if err != nil {
		return nil, err
	}
	mem, err := newMemory(info, lib.params, workers, oversubscribed)
	if err != nil {
		return nil, err
	}
	m := &Module{info: info, lib: lib, opts: o, mem: mem, set: make([]bool, len(info.Inputs))}
	m.pool = newPool(lib.entry, mem, workers, len(info.Steps), oversubscribed)
	if err := m.openRegions(); err != nil {
		m.stop()
		return nil, err
	}
	return m, nil
}

// Clone returns a module that shares the package and its weights with m and has its own inputs, outputs, work space and
// threads. Each is closed by itself.
func (m *Module) Clone() (*Module, error) {
	m.lib.refs.Add(1)
	c, err := newModule(m.lib, m.opts)
	if err != nil {
		m.lib.release()
		return nil, err
	}
	return c, nil
}

// Close stops the threads and releases the memory, what Output returned included. It is called once.
func (m *Module) Close() error {
	return errors.Join(m.stop(), m.lib.release())
}

// stop ends the threads and gives the memory back.
func (m *Module) stop() error {
	m.pool.close()
	err := m.closeRegions()
	for _, v := range m.variants {
		err = errors.Join(err, v.unload())
	}
	return errors.Join(err, m.mem.release())
}

// Info returns the package's manifest, which the caller must not change; it lasts beyond Close.
func (m *Module) Info() *bundle.Manifest { return m.info }

// Memory returns what a run takes with the module's number of workers.
func (m *Module) Memory() bundle.Memory { return m.lib.pkg.Memory(m.Workers()) }

// Workers returns the number of threads a run uses.
func (m *Module) Workers() int { return m.pool.workers }
