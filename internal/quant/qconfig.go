package quant

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/tool/spelling"
)

// A setting is one of TVM's relay.quantize.qconfig.
type setting struct {
	name string
	// only are the values that mean what is done here anyway; nil: apply reads the value.
	only  []string
	why   string // why there are no others
	apply func(o *Options, value string) error
}

// settings are TVM's names. What TVM leaves to a setting that is not given is said by TVMDefaults.
var settings = []setting{
	{name: "nbit_input", only: []string{"8"}, why: "kernels multiply bytes"},
	{name: "nbit_weight", only: []string{"8"}, why: "kernels multiply bytes"},
	{name: "nbit_activation", only: []string{"32"}, why: "sums are int32"},
	{name: "dtype_input", apply: func(o *Options, v string) error { return o.setActivations(v) }},
	{name: "dtype_weight", only: []string{"int8"}, why: "weights are signed"},
	{name: "dtype_activation", only: []string{"int32"}, why: "sums are int32"},
	{name: "calibrate_mode", apply: func(o *Options, v string) error {
		if !slices.Contains(CalibrateModes, v) {
			return fmt.Errorf("must be one of %s", strings.Join(CalibrateModes, ", "))
		}
		o.CalibrateMode = v
		return nil
	}},
	{name: "global_scale", apply: func(o *Options, v string) error {
		f, err := strconv.ParseFloat(v, 32)
		if err != nil || !(f > 0) {
			return fmt.Errorf("must be a number above 0")
		}
		o.GlobalScale = f
		return nil
	}},
	{name: "weight_scale", apply: func(o *Options, v string) error {
		if v != "max" && v != "power2" {
			return fmt.Errorf("must be max or power2")
		}
		o.PowerOfTwoWeights = v == "power2"
		return nil
	}},
	{name: "skip_conv_layers", apply: func(o *Options, v string) error { return o.skipConvolutions(v) }},
	{name: "skip_dense_layer", apply: func(o *Options, v string) error {
		skip, err := strconv.ParseBool(v)
		o.SkipDense = skip
		return err
	}},
	{name: "rounding", only: []string{"TONEAREST"}, why: "ties go to even, as ONNX has it"},
	{name: "do_simulation", only: []string{"False", "false", "0"}, why: "what is written computes on integers"},
	{name: "partition_conversions", only: []string{"disabled"}, why: "conversions are part of the kernels around them"},
}

// SetQConfig sets options as TVM's qconfig(name=value, ...) does: what is not given has TVM's default (calibrate_mode global_scale,
// global_scale 8, weight_scale power2, skip_conv_layers [0], skip_dense_layer true), and nothing is corrected, for TVM corrects nothing.
func (o *Options) SetQConfig(given []string) error {
	o.CalibrateMode, o.GlobalScale, o.PowerOfTwoWeights = "global_scale", 8, true
	o.SkipConvolutions, o.SkipDense, o.Correct = []int{0}, true, false
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		k := slices.Index(names, name)
		if !ok || k < 0 {
			return fmt.Errorf("qconfig %q: must be NAME=VALUE with a name from %s%s", text, strings.Join(names, ", "), spelling.Hint(name, names))
		}
		s := settings[k]
		if s.apply == nil {
			if !slices.Contains(s.only, value) {
				return fmt.Errorf("qconfig %s=%s: only %s is supported (%s)", name, value, s.only[0], s.why)
			}
			continue
		}
		if err := s.apply(o, value); err != nil {
			return fmt.Errorf("qconfig %s=%s: %w", name, value, err)
		}
	}
	return nil
}

func (o *Options) setActivations(name string) error {
	for _, t := range activationTypes {
		if t.String() == name {
			o.Activations = t
			return nil
		}
	}
	return fmt.Errorf("must be one of %v", activationTypes)
}

// skipConvolutions reads a list of the numbers of convolutions, from 0 on: "[0,2]" or "0,2"; "[]" is none.
func (o *Options) skipConvolutions(text string) error {
	o.SkipConvolutions = nil
	for part := range strings.SplitSeq(strings.Trim(text, "[] "), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return fmt.Errorf("must be a list of numbers of convolutions, from 0 on")
		}
		o.SkipConvolutions = append(o.SkipConvolutions, n)
	}
	return nil
}
