package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"lathe/internal/spelling"
)

// unsupportedError is about a flag or command of tvmc that is understood and does not work.
type unsupportedError struct{ what, why string }

func (e *unsupportedError) Error() string {
	if e.why == "" {
		return e.what + " is not supported yet"
	}
	return e.what + " is not supported: " + e.why
}

// unusableFlag is a flag of tvmc that does not work yet. Values in harmless ask for nothing else than what happens
// anyway.
type unusableFlag struct {
	name, short string
	harmless    []string
	isSwitch    bool
	why         string // "" = not yet
}

// addUnusable defines the flags, so that they are recognised, abbreviated and refused by name.
func addUnusable(cmd *cobra.Command, flags []unusableFlag) {
	for _, u := range flags {
		cmd.Flags().StringArrayP(u.name, u.short, nil, "")
		f := cmd.Flags().Lookup(u.name)
		f.Annotations = map[string][]string{unusable: nil}
		f.Hidden = true
		if u.isSwitch {
			f.NoOptDefVal = "1"
		}
	}
}

// refuseUnusable returns an error for the first of the flags that was used.
func refuseUnusable(cmd *cobra.Command, flags []unusableFlag) error {
	for _, u := range flags {
		values, err := cmd.Flags().GetStringArray(u.name)
		if err != nil {
			return err
		}
		for _, v := range values {
			if !slices.Contains(u.harmless, v) {
				what := "flag --" + u.name
				if len(u.harmless) > 0 && u.harmless[0] != "" {
					what += " " + v
				}
				return &unsupportedError{what, u.why}
			}
		}
	}
	return nil
}

// markOurs marks flags that tvmc lacks.
func markOurs(cmd *cobra.Command, names ...string) {
	for _, n := range names {
		annotate(cmd, n, ours)
	}
}

func annotate(cmd *cobra.Command, name, key string) {
	if err := cmd.Flags().SetAnnotation(name, key, nil); err != nil {
		panic(err) // the flag was not defined
	}
}

// choice is a flag value out of a list.
type choice struct {
	to   *string
	from []string
}

func (c choice) String() string { return *c.to }
func (c choice) Type() string   { return "NAME" }

func (c choice) Set(v string) error {
	if !slices.Contains(c.from, v) {
		return fmt.Errorf("choose from %s%s", strings.Join(c.from, ", "), spelling.Hint(v, c.from))
	}
	*c.to = v
	return nil
}

func choiceVar(fs *pflag.FlagSet, to *string, name, value string, from []string, usage string) {
	choiceVarP(fs, to, name, "", value, from, usage)
}

func choiceVarP(fs *pflag.FlagSet, to *string, name, short, value string, from []string, usage string) {
	*to = value
	fs.VarP(choice{to, from}, name, short, usage)
}

// number is an integer flag within bounds.
type number struct {
	to       *int
	min, max int
}

func (n number) String() string { return strconv.Itoa(*n.to) }
func (n number) Type() string   { return "N" }

func (n number) Set(v string) error {
	i, err := strconv.Atoi(v)
	if err != nil || i < n.min || i > n.max {
		return fmt.Errorf("must be a whole number from %d to %d", n.min, n.max)
	}
	*n.to = i
	return nil
}

func numberVar(fs *pflag.FlagSet, to *int, name, short string, value, min, max int, usage string) {
	*to = value
	fs.VarP(number{to, min, max}, name, short, usage)
}

// parsed is a flag value that a function reads.
type parsed[T any] struct {
	to   *T
	read func(string) (T, error)
	text string
	kind string
}

func (p *parsed[T]) String() string { return p.text }
func (p *parsed[T]) Type() string   { return p.kind }

func (p *parsed[T]) Set(v string) error {
	t, err := p.read(v)
	if err == nil {
		*p.to, p.text = t, v
	}
	return err
}

func parsedVar[T any](fs *pflag.FlagSet, to *T, name, kind string, read func(string) (T, error), usage string) {
	fs.Var(&parsed[T]{to: to, read: read, kind: kind}, name, usage)
}

// commaList splits a list as tvmc does; tvmc's help shows brackets around it.
func commaList(text string) []string {
	var list []string
	for s := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}
