package keras

import (
	"slices"

	"lathe/internal/frontend"
)

// A mask says which steps of a value count: bool [batch, steps]. Embedding and Masking make masks, most layers hand them on or drop them,
// and recurrent layers, attention and means read them (Keras's guide "Understanding masking and padding").

// Nodes that compute masks.
const (
	maskOfSteps   = "Masking's mask"
	maskOfIndices = "Embedding's mask"
	maskOfAll     = "mask of a merge"
	maskOfParts   = "mask of Concatenate"
)

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return set
}

var (
	// handsOn are layers whose result has the mask of their first input.
	handsOn = setOf("Activation", "ReLU", "LeakyReLU", "PReLU", "ELU", "ThresholdedReLU", "Softmax", "Dropout", "SpatialDropout1D", "AlphaDropout", "GaussianDropout",
		"GaussianNoise", "ActivityRegularization", "Dense", "BatchNormalization", "LayerNormalization", "UnitNormalization", "RMSNormalization", "GroupNormalization",
		"TimeDistributed", "Identity", "Masking", "Rescaling", "SpectralNormalization", "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention")
	// recurs are layers that hand masks on where they return sequences.
	recurs = setOf("LSTM", "GRU", "SimpleRNN", "RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "Bidirectional")
	// reads are the other layers that masks matter to.
	reads = setOf("GlobalAveragePooling1D", "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention", "Softmax")
	// merges are layers whose result counts where all their inputs do.
	merges = setOf("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
)

// mask gives a node the masks that matter to it, and its result a mask.
func (n *network) mask(node *frontend.Node, a *attributes, l *layer, explicit []string) {
	data := node.In[:a.data]
	of := make([]string, len(data))
	for i, in := range data {
		of[i] = n.masks[in]
	}
	copy(of, explicit)
	out, inner := node.Out[0], l
	if w, err := parseLayer(l.config["layer"]); l.class == "Bidirectional" && err == nil {
		inner = w
	}
	switch whole, _ := inner.config["return_sequences"].(bool); {
	case l.class == "Embedding":
		if zero, _ := l.config["mask_zero"].(bool); zero {
			n.maskNode(maskOfIndices, out, data[:1], frontend.Values{})
		}
	case l.class == "Masking":
		n.maskNode(maskOfSteps, out, data[:1], frontend.Values{"mask_value": l.config["mask_value"]})
	case len(data) == 0:
	case recurs[l.class] && whole || handsOn[l.class]:
		n.masks[out] = of[0]
	case merges[l.class] || l.class == "Concatenate":
		n.mergedMask(l, out, data, of)
	}
	if reads[l.class] && (l.class != "Softmax" || len(explicit) > 0) || recurs[l.class] {
		for i, m := range of {
			if m != "" {
				a.masks[i] = len(node.In)
				node.In = append(node.In, m)
			}
		}
	}
}

// maskNode adds a node for the mask of a value.
func (n *network) maskNode(kind, of string, in []string, options frontend.Values) {
	name := of + "/mask"
	a := plain(len(in))
	a.Values = options
	n.g.Nodes = append(n.g.Nodes, &frontend.Node{Op: kind, Name: name, In: slices.Clone(in), Out: []string{name}, Version: n.version, Attrs: a})
	n.masks[of] = name
}

func (n *network) mergedMask(l *layer, out string, data, of []string) {
	masks := slices.DeleteFunc(slices.Clone(of), func(m string) bool { return m == "" })
	switch {
	case len(masks) == 0:
	case l.class == "Concatenate": // operands are the inputs, and those masks that there are
		a := frontend.Values{"axis": l.config["axis"]}
		for i, m := range of {
			if m != "" {
				a["masked"] = append(slices.Clone(listOf(a["masked"])), float64(i))
			}
		}
		n.maskNode(maskOfParts, out, slices.Concat(data, masks), a)
	case len(masks) == 1:
		n.masks[out] = masks[0]
	default:
		n.maskNode(maskOfAll, out, masks, frontend.Values{})
	}
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// explicitMasks are those that a call names, one for each input.
func (n *network) explicitMasks(v any) (names []string, err error) {
	list := []any{v}
	if many, ok := v.([]any); ok {
		if _, one := asReference(v); !one {
			list = many
		}
	}
	for _, x := range list {
		name := ""
		if r, ok := asReference(x); ok {
			if name, err = n.value(r); err != nil {
				return nil, err
			}
		}
		names = append(names, name)
	}
	return names, nil
}
