package dpu

import (
	"cmp"
	"errors"
	"fmt"

	"lathe/internal/byoc"
	"lathe/internal/byoc/dpu/positions"
	"lathe/internal/graph"
	"lathe/internal/target"
	"lathe/internal/tool/spelling"
)

// Codegen is the external code generator for DPUs, under TVM's name. It generates no code, for the DPU's instruction set is not
// public: regions are emulated.
var Codegen = &byoc.Codegen{
	Name: "vitis-ai",
	Doc:  "DPUs in AMD (Xilinx) FPGAs: convolutional networks in 8-bit integers, emulated",
	Options: []target.OptionInfo{
		{Name: "dpu", Type: target.Text, Doc: "the DPU, by name such as DPUCZDX8G-zcu104, or by fingerprint (0x101000016010407)"},
		{Name: "target", Type: target.Text, Doc: "the same, by TVM's older name"},
		{Name: "load_runtime_module", Type: target.Text, Doc: "file with the positions that a calibration found"},
		{Name: "export_runtime_module", Type: target.Text, Doc: "file to write the positions to that a calibration finds"},
		{Name: "build_dir", Type: target.Text, Doc: "folder for what a calibration finds, as PX_BUILD_DIR"},
		{Name: "compile", Type: target.Switch, Doc: "1 has AMD's vai_c_xir compile what -f xmodel writes, by the program lathe-codegen-vitis-ai"},
		{Name: "arch", Type: target.Text, Doc: "the board's arch.json, for -compile"},
		{Name: "equalize", Type: target.Switch, Doc: "0 leaves the weights of channels in the proportions that the model has"},
		{Name: "include_bias_corr", Type: target.Switch, Doc: "1 corrects biases by what rounding the weights adds to the means of channels"},
		{Name: "work_dir", Type: target.Text, Doc: "recorded, without effect"},
	},
	Aliases: aliases(),
	Fits: func(_ *target.Target, o byoc.Options) error {
		_, err := archOf(o)
		return err
	},
	Supports: func(n *graph.Node, o byoc.Options) error {
		a, err := archOf(o)
		if err != nil {
			return err
		}
		return Supports(a, n)
	},
	Pays:    pays,
	Emulate: emulate,
}

// FileOptions are the options that name files and folders.
var FileOptions = []string{"load_runtime_module", "export_runtime_module", "build_dir", "work_dir", "arch"}

// aliases are the DPUs' names as generators of their own.
func aliases() (list []byoc.Alias) {
	names := Names()
	for _, s := range sizes {
		names = append(names, sizePrefix+s.name)
	}
	for _, name := range names {
		list = append(list, byoc.Alias{Name: name, Options: byoc.Options{{Name: "dpu", Value: name}}})
	}
	return list
}

func archOf(o byoc.Options) (*Arch, error) {
	name := cmp.Or(o.Value("dpu"), o.Value("target"))
	if name == "" {
		return nil, fmt.Errorf("no DPU is named: -dpu=DPUCZDX8G-zcu104, say")
	}
	return Lookup(name)
}

// pays refuses regions without a layer that has weights: maps would cross to the DPU and back for little.
func pays(r byoc.Region, o byoc.Options) error {
	a, err := archOf(o)
	if err != nil {
		return err
	}
	n, err := Read(a, r.Graph)
	if err != nil {
		return err
	}
	for i := range n.Layers {
		if n.Layers[i].hasWeights() {
			return nil
		}
	}
	return fmt.Errorf("a region without convolutions does not pay")
}

func emulate(r byoc.Region, o byoc.Options) (byoc.Emulation, error) {
	a, err := archOf(o)
	if err != nil {
		return byoc.Emulation{}, err
	}
	n, err := Read(a, r.Graph)
	if err != nil {
		return byoc.Emulation{}, err
	}
	e := byoc.Emulation{Hash: graph.Hash(r.Graph, graph.ByValue)}
	if o.Value("equalize") != "0" {
		n.equalize()
	} else {
		e.Hash += "-as-it-is" // positions of equalised channels are others
	}
	estimate := n.Estimate()
	e.Cycles = estimate.Cycles
	about := fmt.Sprintf("%s: %s on %s, emulated", r.Symbol, spelling.Count(len(n.Layers), "layer"), a.title())
	cost := fmt.Sprintf("the device would compute about %.0f pictures a second (%.3g million operations and %.3g million cycles each)",
		estimate.PerSecond(a), float64(estimate.Ops)/1e6, float64(estimate.Cycles)/1e6)
	var names []string
	for _, t := range n.Tensors {
		names = append(names, t.Name)
	}
	if r.Calibration == nil && r.Form != byoc.Run {
		return byoc.Emulation{}, errors.New("it is not calibrated: --calibration SAMPLES does that")
	}
	if r.Calibration == nil {
		var values []*graph.Value
		if e.Graph, values, err = n.Float(r.Graph.Name); err != nil {
			return byoc.Emulation{}, err
		}
		for i, v := range values {
			e.Taps = append(e.Taps, byoc.Tap{Name: names[i], Value: v})
		}
		e.Notes = []string{about + "; not calibrated: it computes in float32", cost}
		return e, nil
	}
	table, err := positions.Decode(r.Calibration)
	if err != nil {
		return byoc.Emulation{}, err
	}
	known, err := table.Of(e.Hash, names)
	if err != nil {
		return byoc.Emulation{}, err
	}
	wanted := make([]int, len(known))
	for i, t := range known {
		if wanted[i] = t.Position; o.Value("include_bias_corr") == "1" && len(t.Means) == n.Tensors[i].Shape[1] {
			n.Tensors[i].Means = t.Means
		}
	}
	f, err := n.Fix(wanted)
	if err != nil {
		return byoc.Emulation{}, err
	}
	switch r.Form {
	case byoc.QDQ:
		e.Graph, err = f.QDQ(r.Graph.Name)
	case byoc.XModel:
		e.File = f.XModel(r.Symbol).Encode()
		fallthrough
	default:
		e.Graph, err = f.Emulate(r.Graph.Name)
	}
	e.Notes = []string{fmt.Sprintf("%s in 8-bit integers, calibrated with %s", about, spelling.Count(table.Samples, "sample")), cost}
	return e, err
}

// CompilerOptions are what the vendor's compiler is told of a device, and whether -compile asks for it.
func CompilerOptions(o byoc.Options) (told map[string]string, wanted bool, err error) {
	if o.Value("compile") != "1" {
		return nil, false, nil
	}
	a, err := archOf(o)
	if err != nil {
		return nil, false, err
	}
	return map[string]string{"dpu": a.Name, "arch": o.Value("arch"), "fingerprint": a.fingerprint()}, true, nil
}

// title is what people call the configuration.
func (a *Arch) title() string {
	if a.Configuration == "" {
		return a.Name
	}
	return fmt.Sprintf("%s (%s)", a.Name, a.Configuration)
}
