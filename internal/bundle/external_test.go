package bundle

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withExternal are the sample's contents with a region.
func withExternal() *Contents {
	c := sampleContents()
	c.External = [][]byte{[]byte("weights and what to do with them")}
	m := *c.Manifest
	m.Format = ExternalFormatVersion
	m.External = []External{{
		Symbol: "tvmgen_default_dnnl_main_0", Generator: "dnnl", Runtime: "dnnl", ABI: ExternalABI,
		Member: ExternalMember(0, "dnnl"), SHA256: ExternalDigest(c.External[0]), Fallback: [2]int{0, 1},
		Inputs:  []Operand{{Memory: "input", DType: "float32", Shape: []int{1, 3}}, {Memory: "param", Index: 1, DType: "float32", Shape: []int{}}},
		Outputs: []Operand{{Memory: "workspace", Offset: 64, DType: "float32", Shape: []int{1, 8}}}, Nodes: []string{"/conv1"},
	}}
	c.Manifest = &m
	return c
}

// TestExternal: regions come back from every form of a package, and damage of their members is noticed.
func TestExternal(t *testing.T) {
	dir := t.TempDir()
	for _, form := range []string{"net.tar", "net.so"} {
		path := filepath.Join(dir, form)
		if err := Write(path, withExternal()); err != nil {
			t.Fatal(err)
		}
		p, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.External) != 1 || !bytes.Equal(p.External[0], withExternal().External[0]) || p.Manifest.External[0].Symbol != "tvmgen_default_dnnl_main_0" {
			t.Errorf("%s: %q %+v", form, p.External, p.Manifest.External)
		}
		p.Close()
	}
	b, err := os.ReadFile(filepath.Join(dir, "net.tar"))
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte("weights and what"))
	b[i] ^= 1
	broken := filepath.Join(dir, "broken.tar")
	if err := os.WriteFile(broken, b, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Open(broken)
	wantError(t, err, "ext/000_dnnl.bin is damaged")
	if err := os.Remove(filepath.Join(dir, "net.000_dnnl.bin")); err != nil {
		t.Fatal(err)
	}
	_, err = Open(filepath.Join(dir, "net.so"))
	wantError(t, err, "net.000_dnnl.bin is missing (copy it beside net.so)")
}

// TestExternalErrors: what a manifest says of regions is held against what else it says.
func TestExternalErrors(t *testing.T) {
	for _, c := range []struct {
		change func(m *Manifest)
		want   string
	}{
		{func(m *Manifest) { m.External[0].Member = "ext/../../etc/passwd" }, "is not called ext/000_NAME.bin"},
		{func(m *Manifest) { m.External[0].Fallback = [2]int{0, 2} }, "steps [0,2) of 1"},
		{func(m *Manifest) { m.External[0].Fallback = [2]int{1, 0} }, "steps [1,0) of 1"},
		{func(m *Manifest) { m.External = append(m.External, m.External[0]) }, "steps [0,1) of 1, behind 1"},
		{func(m *Manifest) { m.External[0].Outputs = nil }, "no outputs"},
		{func(m *Manifest) { m.External[0].Cycles = -1 }, "-1 cycles"},
		{func(m *Manifest) { m.External[0].Inputs[0].Index = 1 }, "operand 0: input 1 of 1"},
		{func(m *Manifest) { m.External[0].Inputs[0].Shape = []int{4} }, `operand 0: 16 bytes in input "data" of 12`},
		{func(m *Manifest) { m.External[0].Inputs[1].Index = 5 }, "operand 1: constant 5 of 5"},
		{func(m *Manifest) { m.External[0].Outputs[0].Offset = 4096 - 31 }, "operand 0: bytes from 4065 on of a workspace of 4096"},
		{func(m *Manifest) { m.External[0].Outputs[0].Offset = -1 }, "bytes from -1 on"},
		{func(m *Manifest) { m.External[0].Outputs[0].Shape = []int{1 << 40, 1 << 40} }, "operand 0"},
		{func(m *Manifest) { m.External[0].Outputs[0].Memory = "input" }, `cannot have it in "input"`},
		{func(m *Manifest) { m.External[0].Outputs[0].Memory = "param" }, "operand 0"},
		{func(m *Manifest) { m.External[0].Outputs[0].DType = "string" }, "unknown element type"},
		{func(m *Manifest) { m.Format = FormatVersion }, "format 1"},
	} {
		m := withExternal().Manifest
		c.change(m)
		_, err := m.Marshal()
		wantError(t, err, c.want)
	}
	c := withExternal()
	c.External = nil
	wantError(t, Write(filepath.Join(t.TempDir(), "x.tar"), c), "0 external modules for 1 external region")
	m := withExternal().Manifest
	m.External = nil
	if _, err := m.Marshal(); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a package without regions of the format with some: %v", err)
	}
	if names := MemoryNames[:]; !slices.Equal(names, []string{"workspace", "input", "output", "param", "symbols"}) {
		t.Error(names)
	}
}
