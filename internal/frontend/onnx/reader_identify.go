package onnx

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// signatures are what files begin with that users take for ONNX models.
var signatures = []struct {
	at   int
	mark string
	what string
}{
	{0, "version https://git-lfs", "it is a Git LFS pointer in place of the file; run git lfs pull"},
	{4, "TFL3", "it is a TensorFlow Lite model"},
	{4, "ORTM", "it is a model in ONNX Runtime's own format (.ort); use the .onnx file it was made from"},
	{0, "\x89HDF\r\n\x1a\n", "it is an HDF5 file, such as a Keras model (.h5)"},
	{0, "\x93NUMPY", "it is a numpy array (.npy)"},
	{0, "GGUF", "it is a GGUF model"},
	{0, "\x7fELF", "it is a program or shared library"},
	{0, "!<arch>\n", "it is a static library, which C programs link"},
	{0, "\x00asm", "it is a WebAssembly module"},
	{0, "\x1f\x8b", "it is compressed with gzip; decompress it with gunzip first"},
	{0, "\x28\xb5\x2f\xfd", "it is compressed with zstd; decompress it first"},
	{0, "\xfd7zXZ\x00", "it is compressed with xz; decompress it first"},
	{0, "BZh", "it is compressed with bzip2; decompress it first"},
	{0, "7z\xbc\xaf\x27\x1c", "it is a 7z archive; unpack it first"},
	{257, "ustar", "it is a tar archive: unpack it first, or, if it is a compiled package, run it with lathe run"},
	{0, "%PDF", "it is a PDF document"},
	{0, "\x89PNG", "it is a PNG picture"},
	{0, "\xff\xd8\xff", "it is a JPEG picture"},
	{0, "\x80\x02", "it is a Python pickle, such as a PyTorch checkpoint; export the model with torch.onnx.export"},
	{0, "\x80\x03", "it is a Python pickle; export the model to ONNX"},
	{0, "\x80\x04", "it is a Python pickle; export the model to ONNX"},
	{0, "\x80\x05", "it is a Python pickle; export the model to ONNX"},
}

// Diagnose says what a file that begins with head is, as a clause, or "" where it may be a model.
func Diagnose(head []byte) string { return identify(head) }

// identify says what a file is by its first bytes, or "" if it may be an ONNX model.
func identify(b []byte) string {
	if what := identifyForeign(b); what != "" {
		return what
	}
	return identifyProtobuf(b)
}

// identifyForeign recognises files that are no binary protobuf at all.
func identifyForeign(b []byte) string {
	if len(b) == 0 {
		return "the file is empty"
	}
	for _, s := range signatures {
		if len(b) >= s.at && bytes.HasPrefix(b[s.at:], []byte(s.mark)) {
			return s.what
		}
	}
	switch {
	case bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06")):
		return identifyZip(b)
	case isSafetensors(b):
		return "it is a safetensors file: weights without a model"
	case len(bytes.Trim(b[:min(len(b), 4096)], "\x00")) == 0:
		return "it consists of zeros, as after a broken download"
	}
	return identifyText(b)
}

// identifyZip tells zip archives apart by the names of their first members.
func identifyZip(b []byte) string {
	head := b[:min(len(b), 4096)]
	switch {
	case bytes.Contains(head, []byte("data.pkl")) || bytes.Contains(head, []byte(".data/serialization_id")):
		return "it is a PyTorch file (.pt, .pth); export the model with torch.onnx.export"
	case bytes.Contains(head, []byte("config.json")) && bytes.Contains(head, []byte("metadata.json")):
		return "it is a Keras model (.keras)"
	case bytes.Contains(head, []byte(".npy")):
		return "it is a numpy archive (.npz)"
	}
	return "it is a zip archive; unpack it first"
}

// isSafetensors recognises a 64-bit header size followed by JSON.
func isSafetensors(b []byte) bool {
	size, n := protowire.ConsumeFixed64(b)
	return n > 0 && len(b) > 9 && b[8] == '{' && (b[9] == '"' || b[9] == '}') && size < 1<<32
}

// identifyText tells kinds of text apart. Binary models begin with byte 8, which text does not.
func identifyText(b []byte) string {
	head := bytes.TrimLeft(bytes.TrimPrefix(b[:min(len(b), 512)], []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(head) == 0 {
		return "it consists of white space"
	}
	lower := bytes.ToLower(head)
	starts := func(marks ...string) bool {
		for _, m := range marks {
			if bytes.HasPrefix(lower, []byte(m)) {
				return true
			}
		}
		return false
	}
	switch {
	case starts("<!doctype html", "<html"):
		return "it is an HTML page, saved in place of a download"
	case starts("<?xml", "<net "):
		return "it is an XML file, such as an OpenVINO model or an error page of a download"
	case starts("ir_version", "producer_name", "opset_import", "graph {", "graph{"):
		return "it is an ONNX model in text form; convert it to the binary form with onnx.save"
	case starts("<ir_version", "< ir_version", "<\n"):
		return "it is an ONNX model in the textual syntax; convert it to the binary form with onnx.save"
	case starts("{", "["):
		return "it is a JSON file, such as an MXNet or Relay graph, an error reply of a download, or an ONNX model in JSON form"
	case starts("7767517\n"):
		return "it is an ncnn model"
	case starts("name:", "layer {", "layers {", "input:"):
		return "it is a Caffe model in text form (.prototxt)"
	case starts("node {", "node{"):
		return "it is a TensorFlow graph in text form (.pbtxt)"
	case starts("/*", "//", "#include", "#ifndef", "#define", "#pragma"):
		return "it is source in C or C++"
	case isText(head):
		return "it is a text file"
	}
	return ""
}

// isText reports whether there are no control characters: binary models have some among their first bytes.
func isText(head []byte) bool {
	return bytes.IndexFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == utf8.RuneError }) < 0
}

// identifyProtobuf recognises protobuf messages of other kinds by their first fields. A ModelProto begins, like those
// of every known exporter, with ir_version, or at least with one of its own fields in its own wire type.
func identifyProtobuf(b []byte) string {
	num, typ, n := protowire.ConsumeTag(b)
	switch {
	case n < 0:
		return "its first bytes are no protobuf field"
	case num == 1 && typ == protowire.BytesType:
		return identifyNamed(b[n:])
	case num == 2 && typ == protowire.VarintType:
		return "it is a single value (TensorProto, SequenceProto or OptionalProto)"
	case num == 1 && typ == protowire.VarintType:
		_, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return ""
		}
		second, typ, k := protowire.ConsumeTag(b[n+m:])
		if k > 0 && (second == 1 || second == 2) && typ == protowire.VarintType {
			return "it is a single tensor (TensorProto)"
		}
		if k > 0 && second == 2 && typ == protowire.BytesType {
			if isDescription(b[n+m+k:]) {
				return "it is a Core ML model (.mlmodel)"
			}
			return identifySavedModel(b[n+m+k:])
		}
	}
	return identifyNoise(b)
}

// isDescription reports whether a field of Core ML's models begins here, which is a message that begins with one where a ModelProto has
// the name of its producer.
func isDescription(b []byte) bool {
	_, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return false
	}
	num, typ, k := protowire.ConsumeTag(b[n:])
	if k < 0 || num != 1 || typ != protowire.BytesType {
		return false
	}
	_, m := protowire.ConsumeVarint(b[n+k:])
	if m < 0 {
		return false
	}
	num, typ, k = protowire.ConsumeTag(b[n+k+m:])
	return k > 0 && num == 1 && typ == protowire.BytesType
}

// graphField is the number of ModelProto's field graph, by far the longest part of a model.
const graphField = 7

// identifyNoise recognises bytes that end being protobuf before there is a graph, which a model cut short does within its
// graph or behind it.
func identifyNoise(b []byte) string {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if num == graphField && typ == protowire.BytesType {
			return ""
		}
		if n < 0 {
			return "it does not look like one"
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 && (num > graphField || typ != protowire.VarintType && typ != protowire.BytesType || len(b) > 1<<10) {
			return fmt.Sprintf("it does not look like one: field %d is no field of a model", num)
		}
		if m < 0 {
			return "" // the first bytes of a model
		}
		b = b[n+m:]
	}
	return ""
}

// identifyNamed looks into a message whose first field is a text or message: a name in Caffe's models and in ONNX's
// sequences and functions, a node in TensorFlow's graphs.
func identifyNamed(rest []byte) string {
	first, n := protowire.ConsumeBytes(rest)
	if n > 0 && len(first) > 2 && first[0] == 0x0a {
		name, m := protowire.ConsumeBytes(first[1:])
		if m > 0 && len(name) > 0 && len(first) > 1+m && first[1+m] == 0x12 {
			return "it is a frozen TensorFlow graph (GraphDef)"
		}
	}
	if n > 0 && len(rest) > n && rest[n] == 0x10 {
		return "it is a single value (TensorProto, SequenceProto or OptionalProto)"
	}
	return "it is a protobuf of another kind, such as a TensorFlow graph or a Caffe model"
}

// identifySavedModel recognises a TensorFlow MetaGraphDef, a message with a message as its first field, where a
// ModelProto has the name of its producer.
func identifySavedModel(rest []byte) string {
	size, n := protowire.ConsumeVarint(rest)
	if n > 0 && size > 64 && len(rest) > n+2 && rest[n] == 0x0a {
		for _, mark := range []string{"serve", "tensorflow", "saved_model"} {
			if bytes.Contains(rest[:min(len(rest), 1<<16)], []byte(mark)) {
				return "it is a TensorFlow SavedModel"
			}
		}
	}
	return ""
}

// DescribeFolder says what a folder given in place of a model file is.
func DescribeFolder(path string) string {
	for _, mark := range []struct{ file, what string }{
		{"saved_model.pb", "it is a folder with a TensorFlow SavedModel, not an ONNX model"},
		{"model.onnx", "it is a folder; the model is the file model.onnx in it"},
	} {
		if _, err := os.Stat(filepath.Join(path, mark.file)); err == nil {
			return mark.what
		}
	}
	if names, err := filepath.Glob(filepath.Join(escapeGlob(path), "*.onnx")); err == nil && len(names) == 1 {
		return fmt.Sprintf("it is a folder; the model may be the file %s in it", filepath.Base(names[0]))
	}
	return "it is a folder, not a model file"
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
