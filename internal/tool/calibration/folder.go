package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/tool/atomicfile"
	"lathe/runtime"
)

// Environment variables of TVM's Vitis AI flow.
const (
	sizeVariable   = "PX_QUANT_SIZE" // samples of a calibration
	folderVariable = "PX_BUILD_DIR"  // what it finds, and what is compiled with that
)

const defaultSamples = 128

// Names of what a folder holds.
const (
	tableName   = "positions.json"
	packageName = "module.tar"
)

// Samples is how many a calibration takes: PX_QUANT_SIZE, or 128.
func Samples() (int, error) {
	text := os.Getenv(sizeVariable)
	if text == "" {
		return defaultSamples, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<20 {
		return 0, fmt.Errorf("%s is %q, not a number of samples from 1 to %d", sizeVariable, text, 1<<20)
	}
	return n, nil
}

// Folder is PX_BUILD_DIR, or the given folder where that is not set; "" for none.
func Folder(given string) string { return cmp.Or(os.Getenv(folderVariable), given) }

// Table and Package are the files of a folder.
func Table(folder string) string   { return filepath.Join(folder, tableName) }
func Package(folder string) string { return filepath.Join(folder, packageName) }

// maxTable bounds the size of a table.
const maxTable = 64 << 20

// Load reads a table, and checks that it is one.
func Load(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTable+1))
	if err == nil && len(b) > maxTable {
		err = fmt.Errorf("larger than %d MiB", maxTable>>20)
	}
	if err == nil {
		_, err = positions.Decode(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Stored is the table of a file, or of a folder where the file is ""; nil where there is none yet.
func Stored(file, folder string) ([]byte, error) {
	if file != "" {
		return Load(file)
	}
	if folder = Folder(folder); folder == "" {
		return nil, nil
	}
	b, err := Load(Table(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// Store writes a table to a file and into a folder, where they are named. Nothing half-written is left behind.
func Store(table []byte, file, folder string) error {
	paths := []string{file}
	if folder = Folder(folder); folder != "" {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		paths = append(paths, Table(folder))
	}
	for _, path := range paths {
		if path == "" {
			continue
		}
		if err := atomicfile.Write(path, table); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Finished opens the package that a folder has for a module with regions to calibrate. The error is fs.ErrNotExist where there is none, or
// that of another model, of other options or for another machine, which is to be written over.
func Finished(folder string, m *runtime.Module, options ...runtime.Option) (*runtime.Module, error) {
	if _, err := os.Stat(Package(folder)); err != nil {
		return nil, err
	}
	made, err := runtime.Open(Package(folder), options...)
	if err != nil {
		return nil, err
	}
	is, want := made.Info(), m.Info()
	if is.Source != want.Source || is.Target.String != want.Target.String || is.Lathe != want.Lathe || !maps.Equal(is.Options, want.Options) || len(is.Taps) > 0 {
		return nil, errors.Join(fs.ErrNotExist, made.Close())
	}
	return made, nil
}
