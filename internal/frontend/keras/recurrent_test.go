package keras

import (
	"fmt"
	"math"
	"testing"
)

// rnn is a slow evaluation of what Keras's manual says of one sequence: a cell, with states that masked steps keep.
type rnn struct {
	units  int
	cell   func(x []float64, states [][]float64) [][]float64 // the new states, of which the first is the output
	states int
}

// run gives the outputs of steps in the order in which they are taken, and the last states. A masked step has the output of the one before.
func (r rnn) run(x [][]float64, counts []bool, start [][]float64, zeros bool) (ys [][]float64, states [][]float64) {
	states = start
	for len(states) < r.states {
		states = append(states, make([]float64, r.units))
	}
	y := make([]float64, r.units)
	for i := range x {
		out := make([]float64, r.units)
		if counts == nil || counts[i] {
			states = r.cell(x[i], states)
			y = states[0]
			out = y
		} else if !zeros {
			out = y
		}
		ys = append(ys, out)
	}
	return ys, states
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// product is a row times a matrix, plus a bias.
func product2(x []float64, w array, b []float32) []float64 {
	n := w.shape[1]
	y := make([]float64, n)
	for j := range y {
		for i := range x {
			y[j] += x[i] * float64(w.data[i*n+j])
		}
		if b != nil {
			y[j] += float64(b[j])
		}
	}
	return y
}

func lstmCell(units int, k, r, b array) rnn {
	return rnn{units, func(x []float64, s [][]float64) [][]float64 {
		a, c := product2(x, k, b.data), product2(s[0], r, nil)
		h, cell := make([]float64, units), make([]float64, units)
		for u := range units {
			gate := func(g int) float64 { return a[g*units+u] + c[g*units+u] }
			cell[u] = sigmoid(gate(1))*s[1][u] + sigmoid(gate(0))*math.Tanh(gate(2))
			h[u] = sigmoid(gate(3)) * math.Tanh(cell[u])
		}
		return [][]float64{h, cell}
	}, 2}
}

func gruCell(units int, k, r, b array) rnn { // reset in front of the product
	return rnn{units, func(x []float64, s [][]float64) [][]float64 {
		a := product2(x, k, b.data)
		c := product2(s[0], r, nil)
		z, h, reset := make([]float64, units), make([]float64, units), make([]float64, units)
		for u := range units {
			z[u] = sigmoid(a[u] + c[u])
			reset[u] = sigmoid(a[units+u]+c[units+u]) * s[0][u]
		}
		c = product2(reset, r, nil)
		for u := range units {
			h[u] = z[u]*s[0][u] + (1-z[u])*math.Tanh(a[2*units+u]+c[2*units+u])
		}
		return [][]float64{h}
	}, 1}
}

// stepsOf is batch entry b of [batch, steps, features].
func stepsOf(x array, b int) (out [][]float64) {
	steps, n := x.shape[1], x.shape[2]
	for s := range steps {
		row := make([]float64, n)
		for i := range n {
			row[i] = float64(x.data[(b*steps+s)*n+i])
		}
		out = append(out, row)
	}
	return out
}

func backwards[T any](list []T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[len(list)-1-i] = v
	}
	return out
}

func flatRows(rows ...[]float64) (out []float64) {
	for _, r := range rows {
		out = append(out, r...)
	}
	return out
}

const lstmOptions = `"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": true, "implementation": 2, "unit_forget_bias": true`

// Sequences of 6 steps with gaps: steps that are masked change nothing.
func TestMaskedRecurrent(t *testing.T) {
	x := waves(1, 2, 6, 2)
	counts := [][]bool{{false, true, true, false, true, false}, {true, false, true, true, true, true}}
	for b, list := range counts {
		for s, c := range list {
			if !c {
				x.data[(b*6+s)*2], x.data[(b*6+s)*2+1] = 0, 0
			}
		}
	}
	k, r, bias := waves(2, 2, 12), waves(3, 3, 12), waves(4, 12)
	h0, c0 := waves(5, 2, 3), waves(6, 2, 3)
	for _, c := range []struct {
		name             string
		sequences, zeros bool
		back, started    bool
	}{{"last", false, false, false, false}, {"all", true, false, false, false}, {"backwards", true, false, true, false}, {"zeros", true, true, false, false}, {"zeros last", false, true, true, false}, {"state", true, false, false, true}} {
		options := fmt.Sprintf(`%s, "return_sequences": %v, "return_state": true, "go_backwards": %v, "zero_output_for_mask": %v`, lstmOptions, c.sequences, c.back, c.zeros)
		in, from := []string{inputText("x", 2, 6, 2)}, "mask"
		data := []array{x}
		if c.started {
			in, from, data = append(in, inputText("h", 2, 3), inputText("c", 2, 3)), "mask h c", append(data, h0, c0)
		}
		layers := append(in, layerText("Masking", "mask", `"mask_value": 0.0`, "x"), layerText("LSTM", "lstm", options, from))
		out := evaluate(t, fileOf(functional("lstm lstm:1 lstm:2", layers...), "2.11.0", map[string][]array{"lstm": {k, r, bias}}), data...)
		var ys, hs, cs []float64
		for b := range 2 {
			steps, mask := stepsOf(x, b), counts[b]
			if c.back {
				steps, mask = backwards(steps), backwards(mask)
			}
			var start [][]float64
			if c.started {
				for _, s := range []array{h0, c0} {
					start = append(start, []float64{float64(s.data[3*b]), float64(s.data[3*b+1]), float64(s.data[3*b+2])})
				}
			}
			y, s := lstmCell(3, k, r, bias).run(steps, mask, start, c.zeros)
			if !c.sequences {
				y = y[5:]
			}
			ys, hs, cs = append(ys, flatRows(y...)...), append(hs, s[0]...), append(cs, s[1]...)
		}
		sameNumbers(t, c.name, out[0], ys...)
		sameNumbers(t, c.name+" h", out[1], hs...)
		sameNumbers(t, c.name+" c", out[2], cs...)
	}
}

// Both directions apart, with states, of a masked sequence.
func TestBidirectionalParts(t *testing.T) {
	x := waves(1, 1, 5, 2)
	x.data[8], x.data[9] = 0, 0
	mask := []bool{true, true, true, true, false}
	f, b := []array{waves(2, 2, 9), waves(3, 3, 9), waves(4, 9)}, []array{waves(5, 2, 9), waves(6, 3, 9), waves(7, 9)}
	inner := layerText("GRU", "gru", `"units": 3, "activation": "tanh", "recurrent_activation": "sigmoid", "reset_after": false, "return_sequences": true, "return_state": true`, "")
	for _, merge := range []string{"null", `"sum"`, `"concat"`} {
		outputs := "both both:1 both:2"
		if merge == "null" {
			outputs += " both:3"
		}
		config := functional(outputs, inputText("x", 1, 5, 2), layerText("Masking", "mask", `"mask_value": 0`, "x"), layerText("Bidirectional", "both", `"merge_mode": `+merge+`, "layer": `+inner, "mask"))
		out := evaluate(t, fileOf(config, "2.4.0", map[string][]array{"both": append(append([]array{}, f...), b...)}), x)
		yf, hf := gruCell(3, f[0], f[1], f[2]).run(stepsOf(x, 0), mask, nil, false)
		yb, hb := gruCell(3, b[0], b[1], b[2]).run(backwards(stepsOf(x, 0)), backwards(mask), nil, false)
		yb = backwards(yb)
		var first []float64
		switch merge {
		case "null":
			sameNumbers(t, "backwards", out[1], flatRows(yb...)...)
			out = out[1:]
			first = flatRows(yb...)
		case `"sum"`:
			for i := range yf {
				for u := range yf[i] {
					first = append(first, yf[i][u]+yb[i][u])
				}
			}
		default:
			for i := range yf {
				first = append(first, flatRows(yf[i], yb[i])...)
			}
		}
		sameNumbers(t, merge, out[0], first...)
		sameNumbers(t, merge+" forward state", out[1], hf[0]...)
		sameNumbers(t, merge+" backward state", out[2], hb[0]...)
	}
}

// A stack of cells is one after the other at each step; in both forms of files.
func TestStackedCells(t *testing.T) {
	x := waves(1, 1, 6, 2)
	a, b := []array{waves(2, 2, 12), waves(3, 3, 12), waves(4, 12)}, []array{waves(5, 3, 6), waves(6, 2, 6), waves(7, 6)}
	cellText := func(class string, units int) string {
		return fmt.Sprintf(`{"class_name": "%s", "config": {"name": "%s", "units": %d, "activation": "tanh", "recurrent_activation": "sigmoid"}}`, class, class, units)
	}
	stack := `"cell": {"class_name": "StackedRNNCells", "config": {"name": "s", "cells": [` + cellText("LSTMCell", 3) + ", " + cellText("GRUCell", 2) + `]}}, "return_sequences": true, "return_state": true`
	config := functional("rnn rnn:1 rnn:3", inputText("x", 1, 6, 2), layerText("RNN", "rnn", stack, "x"))
	first, sf := lstmCell(3, a[0], a[1], a[2]).run(stepsOf(x, 0), nil, nil, false)
	second, ss := gruCell(2, b[0], b[1], b[2]).run(first, nil, nil, false)
	for name, file := range map[string][]byte{
		"h5":    fileOf(config, "2.4.0", map[string][]array{"rnn": append(append([]array{}, a...), b...)}),
		"keras": archiveOf(t, config, map[string][]array{"layers/rnn/cell/cells/lstm_cell": a, "layers/rnn/cell/cells/gru_cell": b}),
	} {
		out := evaluate(t, file, x)
		sameNumbers(t, name, out[0], flatRows(second...)...)
		sameNumbers(t, name+" h", out[1], sf[0]...)
		sameNumbers(t, name+" last", out[2], ss[0]...)
	}
}

// An LSTM for cuDNN has two biases, which add up.
func TestCuDNN(t *testing.T) {
	x, k, r, bias := waves(1, 1, 5, 2), waves(2, 2, 12), waves(3, 3, 12), waves(4, 24)
	out := evaluate(t, fileOf(functional("l", inputText("x", 1, 5, 2), layerText("CuDNNLSTM", "l", `"units": 3, "return_sequences": true, "unit_forget_bias": true`, "x")), "2.2.4", map[string][]array{"l": {k, r, bias}}), x)
	sum := array{[]int{12}, make([]float32, 12)}
	for i := range 12 {
		sum.data[i] = bias.data[i] + bias.data[12+i]
	}
	y, _ := lstmCell(3, k, r, sum).run(stepsOf(x, 0), nil, nil, false)
	sameNumbers(t, "CuDNNLSTM", out[0], flatRows(y...)...)
}

// convLSTM is element by element what Shi et al. have: kernels [k, k, in, 4*units], windows that stay inside for the input and that may reach
// over the border for the state.
func TestConvLSTM(t *testing.T) {
	const steps, side, channels, units, size = 5, 4, 2, 2, 3
	const places = side - size + 1
	x := waves(1, 1, steps, side, side, channels)
	k, r, bias := waves(2, size, size, channels, 4*units), waves(3, size, size, units, 4*units), waves(4, 4*units)
	h, c := make([]float64, places*places*units), make([]float64, places*places*units)
	var ys []float64
	for s := range steps {
		nh := make([]float64, len(h))
		nc := make([]float64, len(c))
		for py := range places {
			for px := range places {
				var g [4 * units]float64
				for o := range g {
					g[o] = float64(bias.data[o])
					for dy := range size {
						for dx := range size {
							for i := range channels {
								g[o] += float64(x.data[((s*side+py+dy)*side+px+dx)*channels+i]) * float64(k.data[((dy*size+dx)*channels+i)*4*units+o])
							}
							if yy, xx := py+dy-1, px+dx-1; yy >= 0 && yy < places && xx >= 0 && xx < places {
								for i := range units {
									g[o] += h[(yy*places+xx)*units+i] * float64(r.data[((dy*size+dx)*units+i)*4*units+o])
								}
							}
						}
					}
				}
				for u := range units {
					at := (py*places+px)*units + u
					nc[at] = sigmoid(g[units+u])*c[at] + sigmoid(g[u])*math.Tanh(g[2*units+u])
					nh[at] = sigmoid(g[3*units+u]) * math.Tanh(nc[at])
				}
			}
		}
		h, c = nh, nc
		ys = append(ys, h...)
	}
	config := func(sequences bool) string {
		return functional("l", inputText("x", 1, steps, side, side, channels), layerText("ConvLSTM2D", "l",
			fmt.Sprintf(`"filters": 2, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "data_format": "channels_last", "dilation_rate": [1, 1], "activation": "tanh", "recurrent_activation": "sigmoid", "return_sequences": %v`, sequences), "x"))
	}
	weights := []array{k, r, bias}
	sameNumbers(t, "all", evaluate(t, fileOf(config(true), "2.4.0", map[string][]array{"l": weights}), x)[0], ys...)
	sameNumbers(t, "last", evaluate(t, archiveOf(t, config(false), map[string][]array{"layers/conv_lstm2d/cell": weights}), x)[0], h...)
}
