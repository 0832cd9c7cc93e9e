package main

import (
	"strings"

	"lathe"
)

func formatNames() []string {
	var names []string
	for _, f := range lathe.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// outputNames are the files of all formats in the words of --help.
func outputNames() string {
	var names []string
	for _, f := range lathe.Formats() {
		name := f.Output
		if len(names) > 0 {
			name += " with -f " + f.Name
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// formatDocs describes the formats in the words of --help; the first is the default.
func formatDocs() string {
	var docs []string
	for _, f := range lathe.Formats() {
		docs = append(docs, f.Name+", "+f.Doc)
	}
	return strings.Join(docs, "; ") + " (default " + formatNames()[0] + ", or what the target is for)"
}
