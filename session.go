package lathe

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"lathe/internal/tool/calibration"
	"lathe/runtime"
)

// A Session runs a package whose regions are to be calibrated with what it is given anyway, as TVM's Vitis AI flow does: in float32 for
// the first runs, PX_QUANT_SIZE of them or 128, and then compiled again with what these have shown. Other packages it just runs.
// Its methods are for one goroutine at a time.
type Session struct {
	ctx    context.Context
	path   string
	module *runtime.Module
	next   *runtime.Module // that Module is to return from now on
	watch  *calibration.Watch
	size   int
	folder string
	own    bool // the folder is the session's
	float  bool // the calibration came to nothing
}

// NewSession opens the package at path. What a calibration finds goes into the folder PX_BUILD_DIR, or into one that Close removes; where
// the folder has it from an earlier session, that is used from the first run on. ctx ends compiling.
func NewSession(ctx context.Context, path string) (*Session, error) {
	s := &Session{ctx: ctx, path: path, folder: calibration.Folder("")}
	var err error
	if s.size, err = calibration.Samples(); err != nil {
		return nil, err
	}
	if s.module, err = runtime.Open(path); err != nil {
		return nil, err
	}
	if s.watch = calibration.New(s.module); s.watch == nil {
		return s, nil
	}
	table, err := calibration.Stored("", s.folder)
	if err == nil && table != nil {
		if err = calibration.Fits(table, s.module); err == nil {
			err = s.compile(table)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Module is what runs next: inputs are set there, and outputs read. Behind the run that ends the calibration it is another one, whose inputs
// are all to be set.
func (s *Session) Module() (*runtime.Module, error) {
	if s.next == nil {
		return s.module, nil
	}
	old := s.module
	s.module, s.next = s.next, nil
	return s.module, old.Close()
}

// Calibrated reports whether the next run is one in integers, or there is nothing to calibrate.
func (s *Session) Calibrated() bool { return s.watch == nil && !s.float }

// Run runs Module. The run that ends the calibration takes as long as compiling besides. Where what was found cannot be written, or the package not
// be compiled with it, that run returns the error, with the outputs in place, and the runs behind it go on in float32.
func (s *Session) Run() error {
	m, err := s.Module()
	if err != nil {
		return err
	}
	if err := m.Run(); err != nil || s.watch == nil {
		return err
	}
	if err := s.watch.See(); err != nil {
		return err
	}
	if s.watch.Samples() < s.size {
		return nil
	}
	if err := s.calibrated(); err != nil {
		s.watch, s.float = nil, true
		return err
	}
	return nil
}

// calibrated compiles the package again with what the runs have shown.
func (s *Session) calibrated() error {
	table, err := s.watch.Table().Encode()
	if err != nil {
		return err
	}
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "lathe-build-"); err != nil {
			return err
		}
		s.own = true
	}
	if err := calibration.Store(table, "", s.folder); err != nil {
		return err
	}
	return s.compile(table)
}

// compile has the package compiled with a table, unless the folder has that, and makes it the next module.
func (s *Session) compile(table []byte) error {
	to := calibration.Package(s.folder)
	m, err := calibration.Finished(s.folder, s.module)
	if errors.Is(err, fs.ErrNotExist) {
		var p *Package
		if p, err = Recompile(s.ctx, s.path, s.module.Info(), table); err != nil {
			return err
		}
		if err = p.SaveContext(s.ctx, to); err != nil {
			return err
		}
		m, err = runtime.Open(to)
	}
	if err != nil {
		return err
	}
	s.next, s.watch = m, nil
	return nil
}

// Close ends the session.
func (s *Session) Close() error {
	err := s.module.Close()
	if s.next != nil {
		err = errors.Join(err, s.next.Close())
	}
	if s.own {
		err = errors.Join(err, os.RemoveAll(s.folder))
	}
	return err
}
