package bundle

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// signatures are the beginnings of files that users meet instead of a package.
var signatures = []struct {
	prefix, what string
}{
	{"version https://git-lfs", "is a Git LFS pointer, not the file itself: run git lfs pull"},
	{wasmHeader[:4], "is a WebAssembly module: run it with the JavaScript loader that was written beside it"},
	{"!<arch>\n", "is a static library: C programs link it (docs/deploy-static.md)"},
	{"\x1f\x8b", "is compressed with gzip; packages are read in place: decompress it with gunzip first"},
	{"\x28\xb5\x2f\xfd", "is compressed with zstd; packages are read in place: decompress it first"},
	{"\xfd7zXZ\x00", "is compressed with xz; packages are read in place: decompress it first"},
	{"BZh", "is compressed with bzip2; packages are read in place: decompress it first"},
	{"PK\x03\x04", "is a zip archive, not a package"},
}

// modelExtensions are files that go to the compiler, not to the runtime.
var modelExtensions = []string{".onnx", ".tflite", ".pb", ".pbtxt", ".meta", ".h5", ".hdf5", ".keras", ".pth", ".pt", ".pt2", ".ts", ".jit",
	".torchscript", ".prototxt", ".cfg", ".pdmodel", ".mlmodel", ".relay"}

// identify says what a file is by its first bytes, or "" when it is none of the usual mistakes.
func identify(b []byte) string {
	if len(b) == 0 {
		return "is empty"
	}
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.prefix)) {
			return s.what
		}
	}
	head := bytes.ToLower(bytes.TrimSpace(b[:min(len(b), 512)]))
	if bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) {
		return "is an HTML page, probably saved instead of a download"
	}
	for _, begin := range []string{"/*", "//", "#include", "#ifndef", "#pragma"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return "is C source: a C compiler makes a program of it (docs/deploy-c-source.md)"
		}
	}
	return ""
}

// identifyFile is identify with the name as a further hint; it always has an answer.
func identifyFile(path string, b []byte) string {
	if what := identify(b); what != "" {
		return what
	}
	for _, ext := range modelExtensions {
		if strings.EqualFold(filepath.Ext(path), ext) {
			return "is a model, not a package: compile it first with lathe compile"
		}
	}
	return "is not a package: neither a tar archive nor a shared library"
}

// Recognises reports whether a file begins as one of the forms of compiled models, whatever it is called.
func Recognises(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	return bytes.HasPrefix(head, []byte(wasmHeader[:4])) || bytes.HasPrefix(head, []byte("\x7fELF")) || bytes.HasPrefix(head, []byte("!<arch>\n")) ||
		len(head) > 262 && string(head[257:262]) == "ustar"
}
