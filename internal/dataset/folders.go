package dataset

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lathe/internal/tool/picture"
	"lathe/internal/tool/spelling"
)

// openFolders takes a folder with a folder for each class. Classes are numbered in the order of their names, or as the names
// that the caller gives are.
func openFolders(path string, dir bool, o Options) (*Set, bool, error) {
	if !dir || o.Labels != "" {
		return nil, false, nil
	}
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, false, err
	}
	s := &Set{read: readPicture}
	for _, e := range entries {
		if isFolder(path, e) && !strings.HasPrefix(e.Name(), ".") {
			s.Classes = append(s.Classes, e.Name())
		}
	}
	if len(s.Classes) == 0 {
		return nil, false, nil
	}
	numbers, err := numbered(s.Classes, o.Classes)
	if err != nil {
		return nil, false, err
	}
	others := 0
	for i, class := range s.Classes {
		files, left, err := pictures(filepath.Join(path, class))
		if err != nil {
			return nil, false, err
		}
		others += left
		for _, f := range files {
			s.Samples = append(s.Samples, Sample{Name: below(path, f), Class: numbers[i], file: f})
		}
	}
	s.leftOut(others)
	return s, true, nil
}

// numbered gives folders the numbers of their names in the network's list. Where it has none of them but is as long, it names
// the same classes in other words, in order.
func numbered(folders, classes []string) ([]int, error) {
	numbers := make([]int, len(folders))
	known := map[string]int{}
	for i, c := range classes {
		known[c] = i
	}
	missing := ""
	found := 0
	for i, f := range folders {
		numbers[i] = i
		if n, ok := known[f]; ok {
			numbers[i] = n
			found++
		} else {
			missing = f
		}
	}
	if classes == nil || missing == "" || found == 0 && len(folders) == len(classes) {
		return numbers, nil
	}
	return nil, fmt.Errorf("folder %q is none of the %s%s", missing, spelling.Count(len(classes), "class"), spelling.Hint(missing, classes))
}

// openFlat takes a folder of pictures with a list of labels, or without any.
func openFlat(path string, dir bool, o Options) (*Set, bool, error) {
	if !dir {
		return nil, false, nil
	}
	files, others, err := pictures(path)
	if err != nil || len(files) == 0 && o.Labels == "" {
		return nil, false, err
	}
	s := &Set{read: readPicture}
	s.leftOut(others)
	if o.Labels == "" {
		for _, f := range files {
			s.Samples = append(s.Samples, Sample{Name: below(path, f), Class: Unlabelled, file: f})
		}
		return s, true, nil
	}
	labels, err := readLabels(o.Labels)
	if err != nil {
		return nil, false, err
	}
	if labels.named() {
		return s, true, s.list(path, labels, o)
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = below(path, f)
	}
	return s, true, s.label(names, labels, o, func(i int) Sample { return Sample{Name: names[i], file: files[i]} })
}

// pictures lists the pictures below a folder in the order of their paths, and counts other files.
func pictures(dir string) (files []string, others int, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(e.Name(), ".") && path != dir
		switch {
		case err != nil:
			return err
		case e.IsDir() && hidden:
			return fs.SkipDir
		case e.IsDir() || hidden:
		case isPicture(e.Name()):
			files = append(files, path)
		default:
			others++
		}
		return nil
	})
	return files, others, err
}

func isFolder(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	st, err := os.Stat(filepath.Join(dir, e.Name()))
	return err == nil && st.IsDir()
}

func (s *Set) leftOut(others int) {
	if others > 0 {
		s.Notes = append(s.Notes, spelling.Count(others, "file")+" that are no pictures by their names are left out")
	}
}

func readPicture(x Sample) (Value, error) {
	img, err := picture.ReadFile(x.file)
	return Value{Picture: img}, err
}
