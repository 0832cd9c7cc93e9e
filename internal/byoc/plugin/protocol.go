// Package plugin has external code generators that are programs of their own: an executable lathe-codegen-NAME answers requests, one JSON
// object a line, on its standard input and output. Networks cross as ONNX files in a folder of their own, results as files in it. What a
// program answers is checked; its time and the length of what it says are limited.
package plugin

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/target"
)

// Version is that of the protocol.
const Version = 1

// A request is a line for a program. Which fields count depends on the kind: hello has the protocol's version; claim a network and the
// options; compile a region, its symbol and a folder for what is generated.
type request struct {
	Request  string            `json:"request"` // hello, claim or compile
	Protocol int               `json:"protocol,omitempty"`
	Graph    string            `json:"graph,omitempty"` // an ONNX file
	Symbol   string            `json:"symbol,omitempty"`
	Folder   string            `json:"folder,omitempty"`
	Target   string            `json:"target,omitempty"`
	Options  map[string]string `json:"options,omitempty"`
}

// A failure is the answer to a request that a program cannot do.
type failure struct {
	Error *struct {
		Node  string `json:"node"`
		Cause string `json:"cause"`
		Fix   string `json:"fix"`
	} `json:"error"`
}

func (f failure) err() error {
	if f.Error == nil {
		return nil
	}
	text := line(f.Error.Cause)
	if text == "" {
		text = "it does not say why"
	}
	if f.Error.Node != "" {
		text = fmt.Sprintf("node %q: %s", line(f.Error.Node), text)
	}
	if f.Error.Fix != "" {
		text += " (" + line(f.Error.Fix) + ")"
	}
	return errors.New(text)
}

// hello is the answer to hello.
type hello struct {
	failure
	Protocol int          `json:"protocol"`
	Name     string       `json:"name"`
	Doc      string       `json:"doc"`
	Options  []optionInfo `json:"options"`
}

type optionInfo struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	Type string `json:"type"` // text, number, list or switch
}

var optionTypes = map[string]target.OptionType{"": target.Text, "text": target.Text, "number": target.Number, "list": target.List, "switch": target.Switch}

// claims is the answer to claim: the nodes that the program takes, those of a composite together, and why it does not take others. Names are
// those of the ONNX file.
type claims struct {
	failure
	Claims []struct {
		Composite string   `json:"composite"`
		Nodes     []string `json:"nodes"`
	} `json:"claims"`
	Refused []struct {
		Node   string `json:"node"`
		Reason string `json:"reason"`
	} `json:"refused"`
}

// compiled is the answer to compile.
type compiled struct {
	failure
	Kind       string   `json:"kind"`    // blob, object, ir or c
	File       string   `json:"file"`    // in the folder
	Runtime    string   `json:"runtime"` // of a blob
	WhenFaster bool     `json:"when_faster"`
	Cycles     int64    `json:"cycles"`
	Notes      []string `json:"notes"`
}

// line is a text of a program as part of a message.
func line(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
