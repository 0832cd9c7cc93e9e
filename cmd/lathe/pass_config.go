package main

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/byoc"
	"lathe/internal/byoc/codegens"
	"lathe/internal/byoc/dpu"
	"lathe/internal/target"
	"lathe/internal/tool/spelling"
)

// vitisConfig begins TVM's names of the options of its Vitis AI flow.
const vitisConfig = "relay.ext.vitis_ai.options."

// applyPassConfig sets the options of external code generators that --pass-config gives, under TVM's names. A DPU that is named there
// needs no other mention.
func applyPassConfig(spec *target.Spec, config []string) error {
	for _, text := range config {
		key, value, ok := strings.Cut(text, "=")
		name, known := strings.CutPrefix(key, vitisConfig)
		switch {
		case !ok || value == "":
			return fmt.Errorf("flag --pass-config %s: write KEY=VALUE", text)
		case !known:
			return fmt.Errorf("flag --pass-config %s: not supported; there are %s*", key, vitisConfig)
		case !slices.ContainsFunc(dpu.Codegen.Options, func(o target.OptionInfo) bool { return o.Name == name }):
			var names []string
			for _, o := range dpu.Codegen.Options {
				names = append(names, o.Name)
			}
			return fmt.Errorf("flag --pass-config %s: unknown option (there are %s)%s", key, strings.Join(names, ", "), spelling.Hint(name, names))
		}
		if setGenerator(spec, dpu.Codegen.Name, name, value) {
			continue
		}
		if name != "dpu" && name != "target" {
			return fmt.Errorf("flag --pass-config %s: the target has no DPU: name it first, %starget=DPUCZDX8G-zcu104, or in --target \"DPUCZDX8G-zcu104, llvm\"", key, vitisConfig)
		}
		spec.Generators = append(spec.Generators, target.Generator{Name: dpu.Codegen.Name, Options: []target.Option{{Name: name, Value: value}}})
	}
	return nil
}

// setGenerator sets an option of the target's generator of that name, or of an alias of it, and reports whether there is one.
func setGenerator(spec *target.Spec, generator, name, value string) bool {
	names := []string{generator}
	if i := slices.IndexFunc(codegens.Table, func(c *byoc.Codegen) bool { return c.Name == generator }); i >= 0 {
		for _, a := range codegens.Table[i].Aliases {
			names = append(names, a.Name)
		}
	}
	for _, g := range spec.Generators {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, g.Name) }) {
			return spec.SetGenerator(g.Name, name, value)
		}
	}
	return false
}
