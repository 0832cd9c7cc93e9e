package frontend

import (
	"errors"
	"fmt"
	"strings"
)

// A SizeError is an error of a model some of whose sizes nobody gave, which may be why.
type SizeError struct {
	Err  error
	note string
}

func (e *SizeError) Error() string { return e.Err.Error() + "; " + e.note }
func (e *SizeError) Unwrap() error { return e.Err }

func (s *Shapes) explain(err error) error {
	if note := s.Note(); note != "" {
		return &SizeError{err, note}
	}
	return err
}

// A NodeError says which node an error is about.
type NodeError struct {
	Op, Node string // operator, and the node as Node.Label names it
	Err      error
}

func (e *NodeError) Error() string { return e.Node + ": " + e.Err.Error() }
func (e *NodeError) Unwrap() error { return e.Err }

// inner is the error of the node that is meant: one in a body, where there is one.
func (e *NodeError) inner() *NodeError {
	if in, ok := errors.AsType[*NodeError](e.Err); ok {
		return in.inner()
	}
	return e
}

// Refused is the operator that an import ended at, "" when it was none.
func Refused(err error) string {
	if e, ok := errors.AsType[*NodeError](err); ok {
		return e.inner().Op
	}
	return ""
}

func quote(name string) string { return fmt.Sprintf("%q", name) }

// quoteAll lists names for a message.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ")
}
