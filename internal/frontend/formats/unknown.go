package formats

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/frontend"
	"lathe/internal/frontend/onnx"
)

// Unknown is the error about the file or folder at path, for which Of knows no format. It says what the file is instead, as
// far as its name and its first bytes tell.
func Unknown(path string) error {
	head, err := head(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, frontend.Cause(err))
	}
	if head == nil {
		return fmt.Errorf("read %s: %s", path, onnx.DescribeFolder(path))
	}
	if f := companionOf(path); f != nil && len(head) > 0 {
		return fmt.Errorf("read %s: by its name it holds weights of the format %s and no network (name the %s file that they are for, and these with --weights)",
			path, f.Name, strings.Join(f.Extensions, " or "))
	}
	what := onnx.Diagnose(head)
	if named := extended(path); len(named) > 0 {
		return fmt.Errorf("read %s: not a model of the format %s: %s", path, strings.Join(named, " or "), what)
	}
	return fmt.Errorf("read %s: not a model of any format that lathe reads: %s", path, what)
}

// companionOf is the format whose weights the name of a file is for, or nil.
func companionOf(path string) *frontend.Format {
	for _, f := range Table {
		if slices.ContainsFunc(f.Companions, func(end string) bool { return strings.HasSuffix(strings.ToLower(path), end) }) {
			return f
		}
	}
	return nil
}

// extended names the formats whose files have the extension of path.
func extended(path string) []string {
	var names []string
	for _, f := range Table {
		if slices.Contains(f.Extensions, strings.ToLower(filepath.Ext(path))) {
			names = append(names, f.Name)
		}
	}
	return names
}
