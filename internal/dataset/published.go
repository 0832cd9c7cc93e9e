package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lathe/internal/tool/npz"
	"lathe/internal/tool/spelling"
)

// openPets takes the Oxford-IIIT Pet data set (Parkhi et al., Cats and Dogs, CVPR 2012): annotations/test.txt, or list.txt where
// that is all there is, with lines "IMAGE CLASS SPECIES BREED", classes from 1 on, over images/IMAGE.jpg. A class has the name
// of its images.
func openPets(path string, dir bool, o Options) (*Set, bool, error) {
	if !dir {
		return nil, false, nil
	}
	for _, list := range []string{"test.txt", "list.txt"} {
		b, err := os.ReadFile(filepath.Join(path, "annotations", list))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		s := &Set{read: readPicture}
		if err := s.pets(path, b); err != nil {
			return nil, false, fmt.Errorf("annotations/%s: %w", list, err)
		}
		return s, true, nil
	}
	return nil, false, nil
}

func (s *Set) pets(path string, list []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(list))
	number := 0
	for lines.Scan() {
		number++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		class := 0
		if len(fields) > 1 {
			class, _ = strconv.Atoi(fields[1])
		}
		if class < 1 || class > maxClasses {
			return fmt.Errorf("line %d is not of the form IMAGE CLASS SPECIES BREED", number)
		}
		for len(s.Classes) < class {
			s.Classes = append(s.Classes, fmt.Sprint(len(s.Classes)))
		}
		if at := strings.LastIndexByte(fields[0], '_'); at > 0 {
			s.Classes[class-1] = fields[0][:at]
		}
		name := "images/" + fields[0] + ".jpg"
		s.Samples = append(s.Samples, Sample{Name: name, Class: class - 1, file: filepath.Join(path, filepath.FromSlash(name))})
	}
	return lines.Err()
}

// openTiny takes the form of MLPerf Tiny's accuracy sets: y_labels.csv with lines "file,classes,label" over raw files that hold
// the elements of the input.
func openTiny(path string, dir bool, o Options) (*Set, bool, error) {
	list := filepath.Join(path, "y_labels.csv")
	if _, err := os.Stat(list); !dir || err != nil {
		return nil, false, nil
	}
	l, err := readLabels(list)
	if err != nil {
		return nil, false, err
	}
	if !l.named() {
		return nil, false, errors.New("y_labels.csv names no files")
	}
	s := &Set{read: readAny}
	return s, true, s.list(path, l, o)
}

// maxRaw bounds a raw sample.
const maxRaw = 1 << 30

// readRaw is the bytes of a file, which Fill takes for elements of the input.
func readRaw(x Sample) (Value, error) {
	st, err := os.Stat(x.file)
	if err != nil {
		return Value{}, err
	}
	if st.Size() > maxRaw || !st.Mode().IsRegular() {
		return Value{}, fmt.Errorf("is no file of a sample (%s)", spelling.Count(st.Size(), "byte"))
	}
	b, err := os.ReadFile(x.file)
	return Value{Arrays: []npz.Array{{DType: raw, Shape: []int{len(b)}, Data: b}}}, err
}

// CIFAR-10's binary form (Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009): records of a label and the
// planes red, green and blue of 32 x 32 pixels.
const (
	cifarSide   = 32
	cifarRecord = 1 + 3*cifarSide*cifarSide
)

// openCIFAR takes a .bin file of records, or a folder with test_batch.bin.
func openCIFAR(path string, dir bool, o Options) (*Set, bool, error) {
	file := path
	if dir {
		file = filepath.Join(path, "test_batch.bin")
	}
	st, err := os.Stat(file)
	if err != nil || strings.ToLower(filepath.Ext(file)) != ".bin" {
		return nil, false, nil
	}
	if st.Size() == 0 || st.Size()%cifarRecord != 0 {
		return nil, false, fmt.Errorf("%s are no records of %d", spelling.Count(st.Size(), "byte"), cifarRecord)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	s := &Set{read: readCIFAR}
	for i := range int(st.Size() / cifarRecord) {
		var label [1]byte
		if _, err := f.ReadAt(label[:], int64(i)*cifarRecord); err != nil {
			return nil, false, err
		}
		s.Samples = append(s.Samples, Sample{Name: fmt.Sprintf("%s[%d]", filepath.Base(file), i), Class: int(label[0]), file: file, row: i})
	}
	if names, err := os.ReadFile(filepath.Join(filepath.Dir(file), "batches.meta.txt")); err == nil {
		s.Classes = strings.Fields(string(names))
	}
	return s, true, nil
}

func readCIFAR(x Sample) (Value, error) {
	f, err := os.Open(x.file)
	if err != nil {
		return Value{}, err
	}
	defer f.Close()
	const plane = cifarSide * cifarSide
	b := make([]byte, 3*plane)
	if _, err := f.ReadAt(b, int64(x.row)*cifarRecord+1); err != nil {
		return Value{}, err
	}
	img := image.NewNRGBA(image.Rect(0, 0, cifarSide, cifarSide))
	for i := range plane {
		img.SetNRGBA(i%cifarSide, i/cifarSide, color.NRGBA{b[i], b[plane+i], b[2*plane+i], 255})
	}
	return Value{Picture: img}, nil
}
