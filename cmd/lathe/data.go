package main

import (
	"lathe"
	"lathe/internal/bundle"
	"lathe/internal/byoc/codegens"
	"lathe/internal/target"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/machine"
)

// What --json prints. Keys are added, never renamed.
type (
	versionJSON struct {
		Version string `json:"version"`
		Build   string `json:"build"` // the version, with the commit where that is known
		LLVM    string `json:"llvm"`
	}
	passJSON struct {
		Name     string `json:"name"`
		Phase    string `json:"phase"`
		Level    int    `json:"level"`
		Required bool   `json:"required"`
		Doc      string `json:"doc"`
	}
	opJSON struct {
		Name            string   `json:"name"`
		Fusion          string   `json:"fusion"`
		Implementations []string `json:"implementations"`
		Doc             string   `json:"doc"`
	}
	targetsJSON struct {
		Presets    []presetJSON    `json:"presets"`
		Generators []generatorJSON `json:"generators"`
		CPUs       []cpuJSON       `json:"cpus"`
	}
	generatorJSON struct {
		Name   string `json:"name"`
		Target string `json:"target"` // that an alias stands for, else the name
		Doc    string `json:"doc"`
	}
	presetJSON struct {
		Name   string `json:"name"`
		Target string `json:"target"`
		Doc    string `json:"doc"`
	}
	cpuJSON struct {
		Name         string   `json:"name"`
		Architecture string   `json:"architecture"`
		Vectors      string   `json:"vectors"`
		Features     []string `json:"features"`
	}
	machineJSON struct {
		Name     string          `json:"name"`
		Target   string          `json:"target"` // with what was measured
		Measured map[string]int  `json:"measured"`
		Expected map[string]int  `json:"expected"`
		Peaks    []machine.Peaks `json:"peaks"`
	}
	// packageJSON is lathe.json, whose keys are its own, with what is known beside it.
	packageJSON struct {
		File string `json:"file"`
		*bundle.Manifest
		Memory bundle.Memory `json:"memory"`
	}
	verifyJSON struct {
		File     string    `json:"file"`
		Target   string    `json:"target"`
		OptLevel int       `json:"opt_level"`
		OK       bool      `json:"ok"`
		Tensors  []rowJSON `json:"tensors"`
	}
	rowJSON struct {
		Name      string     `json:"name"`
		Nodes     []string   `json:"nodes"`
		OK        bool       `json:"ok"`
		RelL2     cli.Number `json:"rel_l2"`
		Tolerance cli.Number `json:"allowed_rel_l2"`
		MaxAbs    cli.Number `json:"max_abs"`
		Note      string     `json:"note,omitempty"`
	}
)

func passData(passes []lathe.PassInfo) []passJSON {
	var list []passJSON
	for _, p := range passes {
		list = append(list, passJSON{p.Name, p.Phase, p.Level, p.Required, p.Doc})
	}
	return list
}

func opData(ops []lathe.OpInfo) []opJSON {
	var list []opJSON
	for _, o := range ops {
		list = append(list, opJSON{o.Name, o.Class, append([]string{}, o.Implementations...), o.Doc})
	}
	return list
}

// generatorData lists the external code generators that are built in, their other names behind each.
func generatorData() (list []generatorJSON) {
	for _, g := range codegens.Table {
		list = append(list, generatorJSON{g.Name, g.Name, g.Doc})
		for _, a := range g.Aliases {
			to := g.Name
			for _, o := range a.Options {
				to += " -" + o.Name + "=" + o.Value
			}
			list = append(list, generatorJSON{a.Name, to, ""})
		}
	}
	return list
}

func targetData() (*targetsJSON, error) {
	d := new(targetsJSON)
	for _, p := range target.Presets() {
		d.Presets = append(d.Presets, presetJSON{p.Name, p.Target, p.Doc})
	}
	d.Generators = generatorData()
	for _, arch := range target.Arches() {
		for _, cpu := range target.CPUs(arch) {
			t, err := target.OfCPU(arch, cpu)
			if err != nil {
				return nil, err
			}
			d.CPUs = append(d.CPUs, cpuJSON{cpu, string(arch), t.Vectors(), append([]string{}, t.Features...)})
		}
	}
	return d, nil
}

func reportData(path, target string, level int, r *lathe.VerifyReport) *verifyJSON {
	v := &verifyJSON{File: path, Target: target, OptLevel: level, OK: r.OK, Tensors: []rowJSON{}}
	for _, row := range r.Rows {
		v.Tensors = append(v.Tensors, rowJSON{
			row.Name, append([]string{}, row.Nodes...), row.OK, cli.Number(row.RelL2), cli.Number(row.Tolerance), cli.Number(row.MaxAbs), row.Note,
		})
	}
	return v
}
