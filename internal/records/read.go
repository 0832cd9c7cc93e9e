package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Limits of what is read: files come from anywhere.
const (
	longestLine  = 1 << 20
	mostRecords  = 200_000
	mostSamples  = 100_000
	mostTexts    = 4096 // decisions of a point, operators, shapes
	longestText  = 4096
	mostDamage   = 1 << 20 // lines that are none
	lineReadSize = 64 << 10
)

// Contents is what is in files of records.
type Contents struct {
	Records []Record
	Starts  []Start        // of TVM's logs
	Foreign map[string]int // lines of TVM's logs by their writer, such as AutoTVM 0.2
	Newer   int            // lines of versions that are not known here
	Damaged int            // lines that are cut, too long, or no records
}

// ReadFiles reads files one after the other. An error names the file.
func ReadFiles(paths ...string) (*Contents, error) {
	c := &Contents{}
	for _, path := range paths {
		if err := c.file(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return c, nil
}

func (c *Contents) file(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return cause(err)
	}
	defer f.Close()
	before := *c
	if err := c.Add(f); err != nil {
		return cause(err)
	}
	if c.Damaged > before.Damaged && len(c.Records) == len(before.Records) && len(c.Starts) == len(before.Starts) && c.Newer == before.Newer {
		return errors.New("there are no tuning records (JSON lines, as lathe tune writes them)")
	}
	return nil
}

// cause is err without the name of the file.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// Read reads records. Lines may be cut and glued together: what cannot be read is counted.
func Read(r io.Reader) (*Contents, error) {
	c := &Contents{}
	return c, c.Add(r)
}

// Add reads further records.
func (c *Contents) Add(r io.Reader) error {
	in := bufio.NewReaderSize(r, lineReadSize)
	for {
		line, whole, err := nextLine(in)
		if text := bytes.TrimSpace(line); !whole {
			c.Damaged++
		} else if len(text) > 0 && text[0] != '#' {
			c.line(text)
		}
		switch {
		case len(c.Records)+len(c.Starts) > mostRecords:
			return fmt.Errorf("there are more than %d records (lathe records --prune keeps those that count)", mostRecords)
		case c.Damaged > mostDamage:
			return errors.New("there are no tuning records (JSON lines, as lathe tune writes them)")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// nextLine is the next line, which is not whole where it is too long.
func nextLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= longestLine; whole {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, whole, err
		}
	}
}

// line takes in a line, or the last record of one in which a cut record is followed by others without a break.
func (c *Contents) line(text []byte) {
	if c.record(text) {
		return
	}
	c.Damaged++
	if at := bytes.LastIndex(text, []byte(`{"v":`)); at > 0 {
		c.record(text[at:])
	}
}

// record takes in a line that is a record of whatever writer.
func (c *Contents) record(text []byte) bool {
	var head struct {
		V       json.RawMessage `json:"v"`
		Version json.RawMessage `json:"version"`
	}
	if text[0] != '{' || json.Unmarshal(text, &head) != nil {
		return false
	}
	switch v := string(head.V); {
	case v == fmt.Sprint(Version):
		var r Record
		if json.Unmarshal(text, &r) != nil || r.check() != nil {
			return false
		}
		c.Records = append(c.Records, r)
		return true
	case head.Version != nil, strings.HasPrefix(v, `"`), strings.HasPrefix(v, "0."):
		return c.foreign(text, head.V, head.Version)
	case v != "" && strings.Trim(v, "0123456789") == "":
		c.Newer++
		return true
	}
	return false
}

// check refuses what no tuner writes.
func (r *Record) check() error {
	texts := []string{r.Kernel, r.Anchor, r.Target, r.Class, r.Network, r.Name, r.By.Lathe, r.By.LLVM, r.By.Machine, r.By.Tuner}
	numbers := []float64{r.Ratio, r.Low, r.High}
	points := []map[string]string{r.Point}
	if r.Built != nil {
		points = append(points, r.Built.Taken)
		numbers = append(numbers, r.Built.Cost, r.Built.Cycles, r.Built.Spills)
	}
	if r.Rule != nil {
		points = append(points, r.Rule.Taken)
		numbers = append(numbers, r.Rule.Cost, r.Rule.Cycles, r.Rule.Spills)
	}
	if r.Work != nil {
		texts = append(append(texts, r.Work.Ops...), r.Work.Shapes...)
		numbers = append(numbers, r.Work.FLOPs, r.Work.Bytes, r.Work.Time, r.Work.Peak)
	}
	if r.Verdict != nil {
		numbers = append(numbers, r.Verdict.Ratio, r.Verdict.Low, r.Verdict.High)
	}
	for _, p := range points {
		if len(p) > mostTexts {
			return errors.New("too many decisions")
		}
		for name, text := range p {
			texts = append(texts, name, text)
		}
	}
	if len(r.Times) > mostSamples || len(r.Host) > mostSamples {
		return errors.New("too many samples")
	}
	for _, v := range append(append(numbers, r.Times...), r.Host...) {
		if !(v >= 0) || math.IsInf(v, 0) {
			return errors.New("a number that is negative or none")
		}
	}
	if len(texts) > 3*mostTexts {
		return errors.New("too many texts")
	}
	for _, t := range texts {
		if len(t) > longestText {
			return errors.New("a text is too long")
		}
	}
	switch {
	case r.Kernel == "" || r.Target == "":
		return errors.New("neither kernel nor target")
	case r.Workers < 0 || r.Raced < 0 || r.By.Trial < 0:
		return errors.New("a negative number")
	case r.Fault < None || r.Fault > UnknownFailure:
		return errors.New("an unknown fault")
	case r.Stage != Search && r.Stage != Confirm && r.Stage != Network:
		return errors.New("an unknown stage")
	}
	return nil
}
