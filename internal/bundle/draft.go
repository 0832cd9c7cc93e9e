package bundle

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
)

// A Draft is a package whose constants are being written while its code is still made. Their digest, which is a part of the code, is found on the way:
// constants that are packed as they are written are packed once.
type Draft struct {
	path    string
	to      destination
	cancel  context.CancelFunc
	written chan struct{} // closed when sum and err are known
	sum     uint32
	err     error
}

// Begin begins the package at path, as Write does, with its constants. Discard ends it, also behind a Write, and before it what params write from stays
// in use.
func Begin(ctx context.Context, path string, params []Param) (*Draft, error) {
	ctx, cancel := context.WithCancel(ctx)
	to, err := create(ctx, path)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("writing package %s: %w", path, err)
	}
	d := &Draft{path: path, to: to, cancel: cancel, written: make(chan struct{})}
	go func() {
		defer close(d.written)
		h := crc32.New(castagnoli)
		p := paramsPart(params)
		write := p.write
		p.write = func(w io.Writer) error { return write(io.MultiWriter(w, h)) }
		d.err = to.member(p)
		d.sum = h.Sum32()
	}()
	return d, nil
}

// digest waits for the constants' digest.
func (d *Draft) digest() (uint32, error) {
	<-d.written
	return d.sum, d.err
}

// Discard removes what Write has not named.
func (d *Draft) Discard() {
	d.cancel()
	<-d.written
	d.to.discard()
}
