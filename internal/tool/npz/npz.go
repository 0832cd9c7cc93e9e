// Package npz reads and writes numpy's .npz archives (and single .npy arrays) of tensors.
//
// Reading accepts every numeric element type, both byte orders, both memory orders and format versions 1 to 3, and gives
// dense row-major little-endian data. Writing is deterministic: equal arrays give equal bytes. Python objects, strings,
// structured and complex types are errors.
//
// A library was tried: github.com/sbinet/npyio takes shapes from Go types only, so that a tensor whose rank is known at
// run time cannot be written, has no float16, and allocates what a header claims before looking at the data.
package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"lathe/internal/tool/spelling"
)

// Array is a dense row-major array. DType is numpy's name of the element type; Data is little-endian.
type Array struct {
	Name  string // key in the archive
	DType string
	Shape []int
	Data  []byte
}

// ReadFile reads all arrays of an .npz file in the file's order. A file that holds a single .npy array gives one Array
// without a name.
func ReadFile(path string) ([]Array, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	arrays, err := Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return arrays, nil
}

// Read is ReadFile for the bytes of a file.
func Read(b []byte) ([]Array, error) {
	if bytes.HasPrefix(b, []byte(magic)) {
		a, err := readArray(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, err
		}
		return []Array{a}, nil
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, identify(b, err)
	}
	var arrays []Array
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if slices.ContainsFunc(arrays, func(a Array) bool { return a.Name == name }) {
			return nil, fmt.Errorf("array %q occurs twice", name)
		}
		a, err := readMember(f, len(b))
		if err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		a.Name = name
		arrays = append(arrays, a)
	}
	return arrays, nil
}

// maxRatio is more than deflate can compress.
const maxRatio = 1100

// readMember bounds what a member may unpack to by what the file can hold.
func readMember(f *zip.File, fileSize int) (Array, error) {
	if f.UncompressedSize64 > maxRatio*uint64(fileSize) {
		return Array{}, fmt.Errorf("claims %s, more than the file can hold", spelling.Count(f.UncompressedSize64, "byte"))
	}
	r, err := f.Open()
	if err != nil {
		return Array{}, err
	}
	defer r.Close()
	return readArray(r, int64(f.UncompressedSize64))
}

func identify(b []byte, err error) error {
	switch {
	case len(b) == 0:
		return errors.New("is empty")
	case bytes.HasPrefix(b, []byte("version https://git-lfs")):
		return errors.New("is a Git LFS pointer, not the file itself: run git lfs pull")
	case bytes.HasPrefix(b, []byte("\x80")):
		return errors.New("is a Python pickle; save the arrays with numpy.savez")
	case bytes.HasPrefix(b, []byte("PK")):
		return fmt.Errorf("broken .npz archive: %w", err)
	}
	return errors.New("is neither an .npz archive nor an .npy array; numpy.savez writes one")
}

// Write writes an .npz archive as numpy.savez does: stored members NAME.npy, without times.
func Write(w io.Writer, arrays []Array) error {
	z := zip.NewWriter(w)
	for i, a := range arrays {
		if slices.ContainsFunc(arrays[:i], func(b Array) bool { return a.Name == b.Name }) {
			return fmt.Errorf("array %q occurs twice", a.Name)
		}
		m, err := z.CreateHeader(&zip.FileHeader{Name: a.Name + ".npy", Method: zip.Store})
		if err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
		if err := writeArray(m, a); err != nil {
			return fmt.Errorf("array %q: %w", a.Name, err)
		}
	}
	return z.Close()
}
