package evaluate

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"
)

// A record file keeps what a variant made of the samples, in their order, so that an interrupted evaluation goes on where it
// ended. It is a line of JSON, and for each sample the time in ns as int64 and the scores as float32, little endian. It belongs
// to one package and one data set: what was kept for others is dropped.
type records struct {
	f       *os.File
	head    recordHead
	start   int64 // of the first record
	done    int
	pending []byte
}

type recordHead struct {
	Format  int    `json:"format"`
	Key     string `json:"key"` // package, data set and how samples become inputs
	Classes int    `json:"classes"`
}

const recordFormat = 1

// unreadable is the time of a sample that could not be read.
const unreadable = -1

func (h recordHead) size() int { return 8 + 4*h.Classes }

// openRecords opens or begins a file. What a crash left half-written at its end is dropped.
func openRecords(path, key string, classes int) (*records, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	r := &records{f: f, head: recordHead{recordFormat, key, classes}}
	if err := r.resume(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// maxHead bounds the first line.
const maxHead = 4096

func (r *records) resume() error {
	line, err := json.Marshal(r.head)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	first := make([]byte, min(len(line), maxHead))
	n, err := io.ReadFull(r.f, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	r.start = int64(len(line))
	if n != len(line) || !bytes.Equal(first, line) {
		if err := r.f.Truncate(0); err != nil {
			return err
		}
		_, err := r.f.WriteAt(line, 0)
		return err
	}
	st, err := r.f.Stat()
	if err != nil {
		return err
	}
	r.done = int((st.Size() - r.start) / int64(r.head.size()))
	return r.f.Truncate(r.start + int64(r.done)*int64(r.head.size()))
}

// add appends a record; flush writes what was added.
func (r *records) add(took time.Duration, scores []float32) {
	r.pending = binary.LittleEndian.AppendUint64(r.pending, uint64(took))
	for i := range r.head.Classes {
		v := float32(0)
		if took != unreadable {
			v = scores[i]
		}
		r.pending = binary.LittleEndian.AppendUint32(r.pending, math.Float32bits(v))
	}
}

func (r *records) flush() error {
	if len(r.pending)%r.head.size() != 0 {
		return errors.New("a record was added in part")
	}
	if _, err := r.f.WriteAt(r.pending, r.start+int64(r.done)*int64(r.head.size())); err != nil {
		return err
	}
	r.done += len(r.pending) / r.head.size()
	r.pending = r.pending[:0]
	return nil
}

// all reads the first n records. A record that could not be read has no scores.
func (r *records) all(n int) ([]outcome, error) {
	b := make([]byte, n*r.head.size())
	if _, err := r.f.ReadAt(b, r.start); err != nil {
		return nil, err
	}
	list := make([]outcome, n)
	for i := range list {
		rec := b[i*r.head.size():]
		list[i].took = time.Duration(int64(binary.LittleEndian.Uint64(rec)))
		if list[i].took == unreadable {
			continue
		}
		list[i].scores = make([]float32, r.head.Classes)
		for j := range list[i].scores {
			list[i].scores[j] = math.Float32frombits(binary.LittleEndian.Uint32(rec[8+4*j:]))
		}
	}
	return list, nil
}

func (r *records) close() error { return r.f.Close() }

// An outcome is what a variant made of a sample.
type outcome struct {
	took   time.Duration // 0 where it is not known
	scores []float32     // of the classes; nil where the sample could not be read
}
