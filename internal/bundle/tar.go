package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"lathe/internal/tool/spelling"
)

// tarWriter writes members with fixed metadata, so that the archive's bytes depend on nothing but its members.
type tarWriter struct{ *tar.Writer }

func newTarWriter(w io.Writer) tarWriter { return tarWriter{tar.NewWriter(w)} }

func (w tarWriter) member(name string, size int, write func(io.Writer) error) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Size:     int64(size),
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
	}
	if err := w.WriteHeader(h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := write(w); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// maxTarMembers bounds the work spent on an archive that is not ours: a package has four, and one for each region of an
// external code generator.
const maxTarMembers = 4096

// parseTar finds the members of an archive. The values are parts of b: archive/tar reads the headers, and its position
// in b after a header is where the member's data starts.
func parseTar(b []byte) (map[string][]byte, error) {
	r := bytes.NewReader(b)
	t := tar.NewReader(r)
	found := make(map[string][]byte)
	for n := 0; ; n++ {
		h, err := t.Next()
		if err == io.EOF {
			return found, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("truncated tar archive: its %s end inside a member; copy it again", spelling.Count(len(b), "byte"))
		}
		if err != nil {
			return nil, fmt.Errorf("damaged tar archive: %w", err)
		}
		if n == maxTarMembers {
			return nil, fmt.Errorf("tar archive with more than %d members is not a package", maxTarMembers)
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := memberName(h)
		if err != nil {
			return nil, err
		}
		if _, dup := found[name]; dup {
			return nil, fmt.Errorf("tar archive holds %s twice", name)
		}
		off := int64(len(b) - r.Len())
		if h.Size < 0 || h.Size > int64(len(b))-off {
			return nil, fmt.Errorf("truncated tar archive: %s should have %s, %d are there; copy it again", name, spelling.Count(h.Size, "byte"), int64(len(b))-off)
		}
		found[name] = b[off : off+h.Size : off+h.Size]
	}
}

// memberName refuses anything but plain files with a name inside the archive. A leading "./" is what tar adds when a
// user packs a directory again.
func memberName(h *tar.Header) (string, error) {
	name := strings.TrimPrefix(h.Name, "./")
	if name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") {
		return "", fmt.Errorf("tar archive holds the suspicious path %q", h.Name)
	}
	if h.Typeflag != tar.TypeReg {
		return "", fmt.Errorf("tar archive holds %q, which is not a plain file", name)
	}
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, "GNU.sparse.") {
			return "", fmt.Errorf("tar archive holds %q as a sparse file, which cannot be mapped", name)
		}
	}
	return name, nil
}

// isTar reports whether b starts with a tar header.
func isTar(b []byte) bool {
	return len(b) >= 512 && string(b[257:262]) == "ustar"
}
