package torch

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// An archive is a zip whose members lie in one folder. Nothing is written to disk, so that names of members are names only.
type archive struct {
	data    []byte
	members map[string]*zip.File // without the folder
	names   []string             // in the order of the archive
	room    int64                // that members which are compressed may still take
}

// maxMembers bounds the members of an archive; packing ratio bounds what compressed ones take, for each byte of the archive.
const (
	maxMembers   = 1 << 18
	packingRatio = 64
)

func openArchive(data []byte) (*archive, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the archive: %w", err)
	}
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("the archive has %d members; up to %d are read", len(z.File), maxMembers)
	}
	a := &archive{data: data, members: map[string]*zip.File{}, room: int64(packingRatio*len(data) + 1<<20)}
	for _, f := range z.File {
		_, name, ok := strings.Cut(f.Name, "/")
		if !ok {
			name = f.Name
		}
		if a.members[name] == nil {
			a.names = append(a.names, name)
		}
		a.members[name] = f
	}
	return a, nil
}

func (a *archive) has(name string) bool { return a.members[name] != nil }

// read gives the bytes of a member, in place where it is stored as it is.
func (a *archive) read(name string) ([]byte, error) {
	f := a.members[name]
	if f == nil {
		return nil, fmt.Errorf("the archive has no %s: it is cut short or damaged", name)
	}
	if f.Method == zip.Store && f.CompressedSize64 == f.UncompressedSize64 {
		at, err := f.DataOffset()
		if err != nil || at < 0 || at > int64(len(a.data)) || f.CompressedSize64 > uint64(int64(len(a.data))-at) {
			return nil, fmt.Errorf("%s: beyond the end of the archive: cut short or damaged", name)
		}
		return a.data[at : at+int64(f.CompressedSize64)], nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, a.room+1))
	if err == nil && int64(len(b)) > a.room {
		err = fmt.Errorf("the archive holds more than %d bytes for each of its own: damaged or made to harm", packingRatio)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.room -= int64(len(b))
	return b, nil
}

// text is a short member as text, "" where there is none.
func (a *archive) text(name string) string {
	if !a.has(name) {
		return ""
	}
	b, err := a.read(name)
	if err != nil || len(b) > 1<<10 {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// hasFolder reports whether some member lies in a folder.
func (a *archive) hasFolder(prefix string) bool {
	return slices.ContainsFunc(a.names, func(name string) bool { return strings.HasPrefix(name, prefix) })
}
