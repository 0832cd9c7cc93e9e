// Package dataset reads labelled samples as people keep them: folders of pictures, lists of labels, arrays of numpy and the
// published forms of well-known sets. It knows no network: a sample is a picture or arrays, which Fill makes an input of.
package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/tool/npz"
)

// Unlabelled is the class of samples whose class is not known.
const Unlabelled = -1

// A Set is a list of samples in a fixed order.
type Set struct {
	Kind    string   // the form it was found in, for people
	Path    string   // as it was given
	Classes []string // names of the classes by number; nil where nothing names them
	Samples []Sample
	Notes   []string // what was left out
	read    func(Sample) (Value, error)
}

// A Sample is one picture or one row of arrays.
type Sample struct {
	Name  string // unique in its set: a path below the set's folder, or a name and a row
	Class int    // Unlabelled, or from 0 on
	file  string // that holds it
	row   int    // of the file
}

// A Value is what a sample holds: a picture, or an array for each input, of which a single one needs no name.
type Value struct {
	Picture image.Image
	Arrays  []npz.Array
}

// Options say how to read a set.
type Options struct {
	Labels  string   // file of labels; "": the set's own
	Classes []string // names of the classes in the network's order; nil: in the set's
	Offset  int      // is added to labels that are numbers
}

// A form is a way to keep a set. It opens what it recognises; found is false for what is another form.
type form struct {
	name string
	open func(path string, dir bool, o Options) (s *Set, found bool, err error)
}

// forms are tried in order: those with a file of their own first.
var forms = []form{
	{"arrays of numpy", openArrays},
	{"CIFAR-10", openCIFAR},
	{"list of files", openList},
	{"Oxford-IIIT Pet", openPets},
	{"MLPerf Tiny", openTiny},
	{"folder for each class", openFolders},
	{"folder", openFlat},
}

// Open finds out in which form a set is kept, and lists its samples.
func Open(path string, o Options) (*Set, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", path, err)
	}
	for _, f := range forms {
		s, found, err := f.open(path, st.IsDir(), o)
		if err != nil {
			return nil, fmt.Errorf("data set %s (%s): %w", path, f.name, err)
		}
		if !found {
			continue
		}
		s.Kind, s.Path = f.name, path
		if err := s.check(o); err != nil {
			return nil, fmt.Errorf("data set %s (%s): %w", path, f.name, err)
		}
		return s, nil
	}
	return nil, fmt.Errorf("data set %s is of no known form (name a folder of pictures, a list file,label in .csv, or arrays in .npz)", path)
}

// maxClasses bounds the numbers of classes.
const maxClasses = 1 << 16

// check refuses sets that nothing can be learnt from, and classes that have no name.
func (s *Set) check(o Options) error {
	if len(s.Samples) == 0 {
		return fmt.Errorf("there are no samples in it")
	}
	if o.Classes != nil {
		s.Classes = o.Classes
	}
	limit := maxClasses
	if s.Classes != nil {
		limit = len(s.Classes)
	}
	seen := make(map[string]bool, len(s.Samples))
	for _, x := range s.Samples {
		if x.Class >= limit || x.Class < Unlabelled {
			return fmt.Errorf("sample %s has class %d, and classes are 0 to %d (labels that begin at 1 take --label-offset -1)", x.Name, x.Class, limit-1)
		}
		if seen[x.Name] {
			return fmt.Errorf("sample %s is there twice", x.Name)
		}
		seen[x.Name] = true
	}
	return nil
}

// Read returns what sample i holds. Its error names the sample.
func (s *Set) Read(i int) (Value, error) {
	v, err := s.read(s.Samples[i])
	if err != nil {
		return v, fmt.Errorf("sample %s: %w", s.Samples[i].Name, err)
	}
	return v, nil
}

// Labelled reports whether the class of every sample is known.
func (s *Set) Labelled() bool {
	return !slices.ContainsFunc(s.Samples, func(x Sample) bool { return x.Class == Unlabelled })
}

// ClassName is the name of a class, or its number.
func (s *Set) ClassName(class int) string {
	if class >= 0 && class < len(s.Classes) {
		return s.Classes[class]
	}
	return fmt.Sprint(class)
}

// Digest tells sets apart: by the samples, their classes, and size and time of the files that hold them.
func (s *Set) Digest() string {
	h := sha256.New()
	stamp := map[string]string{}
	for _, x := range s.Samples {
		if _, ok := stamp[x.file]; !ok {
			stamp[x.file] = ""
			if st, err := os.Stat(x.file); err == nil {
				stamp[x.file] = fmt.Sprint(st.Size(), st.ModTime().UnixNano())
			}
		}
		fmt.Fprintf(h, "%q %d %d %s\n", x.Name, x.Class, x.row, stamp[x.file])
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// below is a file's name as seen from a folder, with slashes.
func below(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil {
		file = rel
	}
	return filepath.ToSlash(file)
}

// isPicture goes by the name, as people list files.
func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".bmp"}, strings.ToLower(filepath.Ext(name)))
}
