package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"lathe"
	"lathe/internal/pass"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/readjson"
	"lathe/internal/tool/spelling"
)

// options checks the flags and returns what they mean.
func (f *compileFlags) options(out io.Writer) (lathe.CompileOptions, error) {
	o := lathe.CompileOptions{
		OptLevel: lathe.OptLevel(strconv.Itoa(f.optLevel)), ModuleName: f.moduleName, Format: f.format, Output: f.output, Weights: f.weights,
		Denormals: lathe.Denormals(f.denormals), NoExternalFallback: f.noFallback, DesiredLayout: f.desiredLayout, DesiredLayoutOps: f.layoutOps, Choices: f.choices, Records: f.tuningRecords(), IROut: out,
	}
	var err error
	if o.Target, err = f.target.named(); err != nil {
		return o, err
	}
	if strings.ContainsFunc(f.moduleName, notInSymbol) {
		return o, cli.Usagef(f.command, "flag --module-name %s: must consist of letters, digits and underscores", f.moduleName)
	}
	for _, layout := range f.desiredLayout {
		if err := pass.CheckLayout(layout); err != nil {
			return o, cli.Usagef(f.command, "flag --desired-layout %w", err)
		}
	}
	for _, name := range f.layoutOps {
		if err := pass.CheckLayoutOp(name); err != nil {
			return o, cli.Usagef(f.command, "flag --desired-layout-ops %w", err)
		}
	}
	if len(f.layoutOps) > 0 && len(f.desiredLayout) == 0 {
		return o, cli.Usagef(f.command, "flag --desired-layout-ops needs --desired-layout")
	}
	if f.printTimes {
		o.PrintPassTimes = out
	}
	for _, l := range []struct {
		flag, text string
		to         *[]string
		known      []string
	}{
		{"disabled-pass", f.disabledPass, &o.DisabledPasses, passNames(optionalPass)},
		{"print-ir-before", f.printBefore, &o.PrintIRBefore, passNames(anyPass)},
		{"print-ir-after", f.printAfter, &o.PrintIRAfter, passNames(anyPass)},
		{"dump-code", f.dumpCode, &o.DumpCode, dumpFormats},
	} {
		for _, name := range cli.CommaList(l.text) {
			if l.flag == "disabled-pass" && f.always(name) {
				continue
			}
			if !slices.Contains(l.known, name) {
				return o, cli.Usagef(f.command, "flag --%s: unknown name %q (choose from %s)%s",
					l.flag, name, strings.Join(l.known, ", "), spelling.Hint(name, l.known))
			}
			if !slices.Contains(*l.to, name) {
				*l.to = append(*l.to, name)
			}
		}
	}
	return o, nil
}

// tuningRecords are the files; an empty name is none, as in tvmc.
func (f *compileFlags) tuningRecords() []string {
	return slices.DeleteFunc(slices.Clone(f.records), func(name string) bool { return name == "" })
}

// readChoices reads a file of decisions.
func readChoices(path string) (map[string]map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var choices map[string]map[string]string
	if err := readjson.Strict(data, &choices); err != nil {
		return nil, fmt.Errorf(`%w (the form is {"KERNEL": {"DECISION": "VALUE"}})`, err)
	}
	return choices, nil
}

// always tells about a pass that cannot be left out, or has no counterpart in Lathe: then there is nothing to do.
func (f *compileFlags) always(name string) bool {
	switch {
	case slices.Contains(passNames(requiredPass), name):
		f.note("--disabled-pass " + name + ": this pass always runs: nothing can be compiled without it")
	case slices.Contains(relayPasses, name) && !slices.Contains(passNames(anyPass), name):
		f.note("--disabled-pass " + name + ": a pass of TVM that Lathe does not have")
	default:
		return false
	}
	return true
}

// parseWeights reads whether weights are linked into the library, with Python's spellings too.
func parseWeights(text string) (lathe.Weights, error) {
	inside, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return lathe.WeightsByFormat, errors.New("must be true or false")
	case inside:
		return lathe.WeightsInside, nil
	}
	return lathe.WeightsBeside, nil
}

// parseFallback reads whether there are steps in place of modules, and returns whether there are none.
func parseFallback(text string) (bool, error) {
	keep, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return !keep, nil
}

func notInSymbol(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

func anyPass(lathe.PassInfo) bool { return true }

func requiredPass(p lathe.PassInfo) bool { return p.Required }

func optionalPass(p lathe.PassInfo) bool { return !p.Required }

// passNames lists the passes that fit: those without which nothing can be compiled cannot be left out.
func passNames(fit func(lathe.PassInfo) bool) []string {
	var names []string
	for _, p := range lathe.Passes() {
		if fit(p) {
			names = append(names, p.Name)
		}
	}
	return names
}
