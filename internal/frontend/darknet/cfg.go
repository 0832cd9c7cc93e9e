// Package darknet reads models of Darknet: the network in a .cfg, whose weights are in a .weights file beside it.
package darknet

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"lathe/internal/frontend"
)

// Format is Darknet.
var Format = frontend.Format{
	Name: "darknet", Doc: "Darknet networks (.cfg) with the .weights of their name beside them", Extensions: []string{".cfg"}, Companions: []string{".weights"},
	Identify: func(head []byte, _ string) bool { return begins.Match(bytes.TrimPrefix(head, []byte("\ufeff"))) },
	ReadWith: func(path string, w frontend.Weights) (*frontend.Model, error) {
		return frontend.ReadWithWeights(path, w, weightsFile, Read)
	},
}

var begins = regexp.MustCompile(`^(\s*([#;][^\n]*\n)?)*\[(net|network)\]`)

// weightsFile is the file of a network's weights.
func weightsFile(path string) (string, error) {
	file := strings.TrimSuffix(path, filepath.Ext(path)) + ".weights"
	if _, err := os.Stat(file); err != nil {
		return "", frontend.NoWeights("there is no file %s beside it", filepath.Base(file))
	}
	return file, nil
}

// A section is a layer, or the network's own in front.
type section struct {
	kind  string
	line  int
	attrs frontend.Values
}

const (
	maxCfg      = 16 << 20
	maxSections = 10_000
)

// parse reads sections of KEY=VALUE. Values with commas are lists.
func parse(text []byte) ([]section, error) {
	if len(text) > maxCfg {
		return nil, fmt.Errorf("a configuration of %d bytes; up to %d are read", len(text), maxCfg)
	}
	var list []section
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			if len(list) > maxSections || line[len(line)-1] != ']' {
				return nil, fmt.Errorf("line %d: %.40q is no section, or there are more than %d", n, line, maxSections)
			}
			list = append(list, section{line[1 : len(line)-1], n, frontend.Values{}})
		default:
			key, value, ok := strings.Cut(line, "=")
			if !ok || len(list) == 0 {
				return nil, fmt.Errorf("line %d: %.40q is no KEY=VALUE in a section", n, line)
			}
			list[len(list)-1].attrs[strings.TrimSpace(key)] = valueOf(value)
		}
	}
	if len(list) < 2 || list[0].kind != "net" && list[0].kind != "network" {
		return nil, errors.New("there is no section [net] with layers behind it")
	}
	return list, nil
}

func valueOf(text string) any {
	if before, _, ok := strings.Cut(text, "#"); ok {
		text = before
	}
	if !strings.Contains(text, ",") {
		return number(text)
	}
	items := []any{}
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) != "" {
			items = append(items, number(part))
		}
	}
	return items
}

func number(text string) any {
	text = strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	return text
}

// idle are keys of training, and of what is done with boxes behind the network.
var idle = map[string]bool{"jitter": true, "ignore_thresh": true, "truth_thresh": true, "random": true, "iou_thresh": true, "cls_normalizer": true, "iou_normalizer": true, "iou_loss": true,
	"nms_kind": true, "beta_nms": true, "probability": true, "dropblock": true, "resize": true, "max": true, "label_smooth_eps": true, "obj_normalizer": true, "max_delta": true,
	"object_scale": true, "noobject_scale": true, "class_scale": true, "coord_scale": true, "absolute": true, "thresh": true, "rescore": true, "bias_match": true, "objectness_smooth": true,
	"stopbackward": true, "assisted_excitation": true, "weights_type": true, "weights_normalization": true, "burnin_update": true, "cost": true, "counters_per_class": true, "map": true, "focal_loss": true}
