package tflite

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"strings"

	"lathe/internal/frontend"
)

// A metadata is what TensorFlow Lite's metadata (metadata_schema.fbs) say of the first graph, for those who make inputs and read outputs. The
// files that they name are members of a zip archive behind the flatbuffer.
type metadata struct {
	inputs, outputs []tensorMetadata
}

type tensorMetadata struct {
	mean, std []float64
	labels    []string
}

const (
	metadataName  = "TFLITE_METADATA"
	metadataMagic = "M001"

	axisLabels     = 2 // TENSOR_AXIS_LABELS, of the classes along an axis
	normalization  = 1 // the union's tag of NormalizationOptions
	maxLabelsBytes = 4 << 20
)

// metadata reads the metadata of a model. Trouble with them is a note: the model runs without.
func (d *decoder) metadata(model table) {
	for _, m := range model.tables(6, 48) {
		b := m.u32At(1)
		if m.str(0) != metadataName || b >= len(d.buffers) {
			continue
		}
		data := d.buffers[b]
		if len(data) < 8 || string(data[4:8]) != metadataMagic {
			d.file.notes = append(d.file.notes, "the model's metadata are not of the form M001, and are left out")
			continue
		}
		inner := newBuffer(data)
		var meta metadata
		if graphs := inner.root().tables(3, 0); len(graphs) > 0 {
			files := newMembers(d.data)
			room := min(d.room, roomPerByte*len(d.data)/maxMembers)
			meta.inputs, meta.outputs = described(graphs[0].tables(2, 200), files, room), described(graphs[0].tables(3, 200), files, room)
		}
		if inner.err != nil {
			d.file.notes = append(d.file.notes, "the model's metadata are left out: "+inner.err.Error())
			continue
		}
		d.file.meta = meta
	}
}

func described(list []table, files *members, room int) []tensorMetadata {
	out := make([]tensorMetadata, len(list))
	for i, t := range list {
		for _, unit := range t.tables(4, 0) {
			if unit.u8(0) == normalization {
				options := unit.child(1)
				out[i].mean, out[i].std = doubles(options.floats(0)), doubles(options.floats(1))
			}
		}
		for _, f := range t.tables(6, 0) {
			if f.i8(2, 0) == axisLabels && out[i].labels == nil {
				out[i].labels = files.lines(f.str(0), room)
			}
		}
	}
	return out
}

func doubles(list []float32) []float64 {
	out := make([]float64, len(list))
	for i, f := range list {
		out[i] = float64(f)
	}
	return out
}

// members is the archive behind a model, of which a few files are read, each once.
type members struct {
	files []*zip.File
	read  map[string][]string
}

// maxMembers bounds the files that are read, and maxLabelsBytes the size of one, which is at most roomPerByte times that of the model, too: a small
// archive can hold much.
const maxMembers = 4

func newMembers(data []byte) *members {
	m := &members{read: map[string][]string{}}
	if r, err := zip.NewReader(bytes.NewReader(data), int64(len(data))); err == nil {
		m.files = r.File
	}
	return m
}

// lines are those of a member; nil where it is not there, or cannot be read.
func (m *members) lines(name string, room int) []string {
	if lines, done := m.read[name]; done || len(m.read) == maxMembers {
		return lines
	}
	m.read[name] = nil
	at := slices.IndexFunc(m.files, func(f *zip.File) bool { return f.Name == name })
	if at < 0 || m.files[at].UncompressedSize64 > uint64(min(room, maxLabelsBytes)) {
		return nil
	}
	r, err := m.files[at].Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	text := make([]byte, m.files[at].UncompressedSize64)
	if _, err := io.ReadFull(r, text); err != nil || 16*bytes.Count(text, []byte{'\n'}) > room {
		return nil
	}
	lines := strings.Split(strings.TrimRight(string(text), "\r\n \t"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	m.read[name] = lines
	return lines
}

// meaning is what the file says of the numbers of input or output i of the first graph.
func (x *tensorInfo) meaning(said []tensorMetadata, i int, aliases []string) frontend.Meaning {
	var m frontend.Meaning
	if x.quantized() && len(x.quant.scale) == 1 && x.quant.scale[0] > 0 {
		m.Scale, m.Zero = float64(x.quant.scale[0]), x.zero()
	}
	m.Aliases = aliases
	if i >= len(said) {
		return m
	}
	classes := 1
	for _, n := range slices.Backward(x.shape) {
		if classes = n; n != 1 {
			break
		}
	}
	if len(said[i].labels) == classes {
		m.Labels = said[i].labels
	}
	if s := said[i]; len(s.mean) == len(s.std) && !slices.Contains(s.std, 0) && x.pixels() {
		m.Mean, m.Std = s.mean, s.std
	}
	return m
}

// pixels reports whether the shape can be that of an image.
func (x *tensorInfo) pixels() bool {
	n := len(x.shape)
	return n == 4 && (x.shape[n-1] == 1 || x.shape[n-1] == 3)
}

// aliases are the names that signatures give to tensors of the first graph, by index, beside their own.
func (m *model) aliases(of func(signature) map[string]int) map[*tensorInfo][]string {
	list := map[*tensorInfo][]string{}
	for _, s := range m.signatures {
		if s.graph != 0 {
			continue
		}
		for name, i := range of(s) {
			if i >= len(m.graphs[0].tensors) {
				continue
			}
			if x := m.graphs[0].tensors[i]; name != x.name && name != "" && !slices.Contains(list[x], name) {
				list[x] = append(list[x], name)
			}
		}
	}
	for _, names := range list {
		slices.Sort(names)
	}
	return list
}

// say adds to inputs and outputs of the first graph what the file says of their numbers.
func (m *model) say(g *frontend.Graph) {
	inputs := m.aliases(func(s signature) map[string]int { return s.inputs })
	for i, x := range m.graphs[0].inputs {
		g.Inputs[i].Meaning = x.meaning(m.meta.inputs, i, inputs[x])
	}
	outputs := m.aliases(func(s signature) map[string]int { return s.outputs })
	for i, x := range m.graphs[0].outputs {
		g.Outputs[i].Meaning = x.meaning(m.meta.outputs, i, outputs[x])
	}
}
