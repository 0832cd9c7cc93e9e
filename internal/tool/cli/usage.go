package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func printHelp(cmd *cobra.Command, _ []string) {
	w := cmd.OutOrStdout()
	text := cmd.Long
	if text == "" {
		text = cmd.Short
	}
	fmt.Fprintf(w, "%s\n\n", strings.TrimSpace(text))
	_ = writeUsage(w, cmd)
}

func printUsage(cmd *cobra.Command) error { return writeUsage(cmd.OutOrStderr(), cmd) }

// writeUsage lists subcommands and flags; flags of tvmc that do not work yet are only named, or counted where they are many.
func writeUsage(w io.Writer, cmd *cobra.Command) error {
	fmt.Fprintf(w, "usage: %s\n", useLine(cmd))
	if cmd.HasAvailableSubCommands() {
		fmt.Fprint(w, "\ncommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				fmt.Fprintf(w, "  %-10s %s\n", c.Name(), c.Short)
			}
		}
	}
	fmt.Fprint(w, "\nflags:\n")
	for _, f := range flagsOf(cmd) {
		if !f.Hidden {
			writeFlag(w, f)
		}
	}
	later := refused(cmd)
	switch {
	case len(later) > fewFlags:
		fmt.Fprintf(w, "\n%d flags of tvmc are refused because they do not work yet: '%s %s' lists them.\n", len(later), cmd.CommandPath(), helpTVMC)
	case later != nil:
		fmt.Fprintf(w, "\nflags of tvmc that are refused because they do not work yet: %s\n", strings.Join(later, " "))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n'%s COMMAND --help' tells about a command.\n", cmd.CommandPath())
	}
	return nil
}

const (
	helpTVMC = "--help-tvmc"
	fewFlags = 4
)

// refused lists the command's own flags that tvmc has and that do not work yet.
func refused(cmd *cobra.Command) []string {
	var list []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if annotated(f, unusable) {
			list = append(list, "--"+f.Name)
		}
	})
	return list
}

// printRefused lists them.
func printRefused(cmd *cobra.Command) {
	fmt.Fprintf(cmd.OutOrStdout(), "flags of tvmc that are refused because they do not work yet:\n%s", wrap(strings.Join(refused(cmd), " "), 2, 100))
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " [flags] COMMAND"
	}
	_, args, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(cmd.CommandPath() + " [flags] " + args)
}

func writeFlag(w io.Writer, f *pflag.Flag) {
	head := "      --" + f.Name
	if f.Shorthand != "" {
		head = "  -" + f.Shorthand + ", --" + f.Name
	}
	kind, text := pflag.UnquoteUsage(f)
	if f.NoOptDefVal == "" && kind != "" {
		head += " " + strings.ToUpper(kind)
	}
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && f.NoOptDefVal == "" && !strings.Contains(text, "default") {
		text += " (default " + d + ")"
	}
	lines := wrap(text, 30, 110)
	if len(head) < 29 {
		fmt.Fprintf(w, "%-30s%s", head, strings.TrimLeft(lines, " "))
		return
	}
	fmt.Fprintf(w, "%s\n%s", head, lines)
}

// wrap breaks text into indented lines.
func wrap(text string, indent, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
			b.WriteString(strings.Repeat(" ", indent))
			column = indent
		case column+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	b.WriteString("\n")
	return b.String()
}

// ShapeText is a shape as messages show it: [1,3,224,224].
func ShapeText(shape []int) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(parts, ",") + "]"
}
