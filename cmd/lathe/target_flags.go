package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"lathe/internal/target"
)

// targetFlags are --target and --target-llvm-OPTION.
type targetFlags struct {
	text    string
	options []target.Option // in the table's order
}

func (f *targetFlags) define(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.text, "target", "llvm", "`target` to compile for: \"llvm -mcpu=NAME -mtriple=TRIPLE -mattr=+A,-B\", inline JSON or a file of either (default llvm, this machine)")
	infos := target.LLVMOptions()
	f.options = make([]target.Option, len(infos))
	for i, o := range infos {
		f.options[i].Name = o.Name
		name := "target-llvm-" + o.Name
		fs.StringVar(&f.options[i].Value, name, "", "the target's option -"+o.Name)
		fs.Lookup(name).Hidden = true
	}
}

// resolve returns the target as a plain string. What it leaves open is resolved by the compiler, which knows the host.
func (f *targetFlags) resolve() (string, error) {
	text := f.text
	if st, err := os.Stat(text); err == nil && st.Mode().IsRegular() {
		const limit = 1 << 20
		if st.Size() > limit {
			return "", fmt.Errorf("target %s: a file of %d bytes is not a target", text, st.Size())
		}
		b, err := os.ReadFile(text)
		if err != nil {
			return "", fmt.Errorf("target: %w", err)
		}
		text = string(b)
	} else if strings.HasSuffix(text, ".json") {
		return "", fmt.Errorf("target: there is no file %s", text)
	}
	spec, err := target.Parse(text)
	if err != nil {
		return "", err
	}
	for _, o := range f.options {
		if o.Value == "" {
			continue
		}
		if err := spec.Set(o.Name, o.Value); err != nil {
			return "", fmt.Errorf("flag --target-llvm-%s: %w", o.Name, err)
		}
	}
	return spec.String(), nil
}
