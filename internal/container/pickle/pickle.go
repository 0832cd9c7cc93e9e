// Package pickle reads Python pickles (protocols 2 to 5, as Lib/pickletools.py describes them) as plain values. Nothing is
// called: a name of a class or function is a Global, and what would be made by calling it is an Object that keeps the
// arguments. PyTorch's archives hold their modules and tensors so.
package pickle

import (
	"errors"
	"fmt"
	"math/big"
)

// A value is nil, bool, int64, *big.Int, float64, string, []byte, Tuple, *List, *Dict, *Set, Global, *Object or Persistent. Lists,
// dictionaries, sets and objects can contain themselves, which who walks them has to bear.
type (
	// A Tuple is a Python tuple.
	Tuple []any
	// A List is a Python list.
	List struct{ Items []any }
	// A Set is a Python set or frozenset.
	Set struct{ Items []any }
	// A Dict is a Python dict, in the order of its insertions. Keys can be any value, and stand twice where a pickle sets them twice.
	Dict struct{ Keys, Values []any }
	// A Global is the name of a class or function.
	Global struct{ Module, Name string }
	// An Object is what a call of Func with Args would give.
	Object struct {
		Func   any // usually a Global
		Args   Tuple
		Kwargs *Dict // or nil
		State  any   // of BUILD: what __setstate__ would be given; nil for none
		Items  []any // appended to it
		Pairs  Dict  // set in it
	}
	// A Persistent is what the reader's owner keeps outside of the pickle, such as the elements of a tensor.
	Persistent struct{ ID any }
)

// Get is the value of a text key; the last counts.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if d.Keys[i] == any(key) {
			return d.Values[i], true
		}
	}
	return nil, false
}

// String is the name as Python writes it.
func (g Global) String() string { return g.Module + "." + g.Name }

// What values may take, for each byte of a pickle and for any. A byte can make a dictionary.
const (
	roomPerByte = 64
	roomBase    = 1 << 16
)

// Read reads one value. rest is what follows it: files can hold several pickles.
func Read(data []byte) (value any, rest []byte, err error) {
	m := &machine{data: data, rest: data, room: roomPerByte*len(data) + roomBase, memo: map[int64]any{}}
	for m.err == nil && !m.done {
		at := len(m.data) - len(m.rest)
		code := m.byte()
		if step := steps[code]; m.err == nil && step == nil {
			m.fail(fmt.Errorf("opcode %#02x is unknown or not supported", code))
		} else if m.err == nil {
			step(m)
		}
		if m.err != nil {
			return nil, nil, fmt.Errorf("pickle: at byte %d: %w", at, m.err)
		}
	}
	return m.stack[0], m.rest, nil
}

// A mark is where a list of operands begins on the stack.
type mark struct{}

// A machine runs a pickle: a stack of values, and a memo by which values are referred to again.
type machine struct {
	data, rest []byte
	stack      []any
	memo       map[int64]any
	room       int
	done       bool
	err        error
}

func (m *machine) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

var errCut = errors.New("the pickle is cut short or damaged")

// take are the next n bytes, in place.
func (m *machine) take(n uint64) []byte {
	if m.err != nil || n > uint64(len(m.rest)) {
		m.fail(errCut)
		return nil
	}
	b := m.rest[:n:n]
	m.rest = m.rest[n:]
	return b
}

func (m *machine) byte() byte {
	if b := m.take(1); b != nil {
		return b[0]
	}
	return 0
}

// uint is a little-endian integer of n bytes.
func (m *machine) uint(n uint64) (v uint64) {
	for i, b := range m.take(n) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// line is text up to the end of a line.
func (m *machine) line() string {
	for i, b := range m.rest {
		if b == '\n' {
			line := string(m.rest[:i])
			m.rest = m.rest[i+1:]
			return line
		}
	}
	m.fail(errCut)
	return ""
}

// pay accounts for memory.
func (m *machine) pay(n int) {
	if m.room -= n; m.room < 0 {
		m.fail(errors.New("it makes more values than any sensible pickle: damaged or made to harm"))
	}
}

func (m *machine) push(v any) {
	if m.pay(48); m.err == nil {
		m.stack = append(m.stack, v)
	}
}

// pop takes the top of the stack, which must be a value.
func (m *machine) pop() any {
	v := m.top()
	if m.err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v
}

func (m *machine) top() any {
	if len(m.stack) == 0 {
		m.fail(errors.New("an operand is missing"))
		return nil
	}
	v := m.stack[len(m.stack)-1]
	if _, ok := v.(mark); ok {
		m.fail(errors.New("an operand is missing in front of a mark"))
	}
	return v
}

// marked takes what lies above the last mark, and the mark.
func (m *machine) marked() []any {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			items := append([]any(nil), m.stack[i+1:]...)
			m.pay(16 * len(items))
			m.stack = m.stack[:i]
			return items
		}
	}
	m.fail(errors.New("a mark is missing"))
	return nil
}

// last takes n operands.
func (m *machine) last(n int) Tuple {
	t := make(Tuple, n)
	for i := n - 1; i >= 0; i-- {
		t[i] = m.pop()
	}
	return t
}

// add appends items to the list, set or object on top of the stack.
func (m *machine) add(items ...any) {
	switch c := m.top().(type) {
	case *List:
		c.Items = append(c.Items, items...)
	case *Set:
		c.Items = append(c.Items, items...)
	case *Object:
		c.Items = append(c.Items, items...)
	default:
		m.fail(fmt.Errorf("items are added to %T", c))
	}
	m.pay(32 * len(items))
}

// set sets keys to values, in turns, in the dictionary or object on top of the stack.
func (m *machine) set(pairs ...any) {
	var d *Dict
	switch c := m.top().(type) {
	case *Dict:
		d = c
	case *Object:
		d = &c.Pairs
	default:
		m.fail(fmt.Errorf("keys are set in %T", c))
		return
	}
	if len(pairs)%2 != 0 {
		m.fail(errors.New("a key without a value"))
		return
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
	m.pay(32 * len(pairs))
}

// call stands for a call of a function, whose arguments must be a tuple.
func (m *machine) call(f, args any, kwargs *Dict) {
	t, ok := args.(Tuple)
	if !ok {
		m.fail(fmt.Errorf("a call with %T for arguments", args))
	}
	m.pay(128)
	m.push(&Object{Func: f, Args: t, Kwargs: kwargs})
}

// build gives the object on top of the stack, below its state, that state.
func (m *machine) build() {
	state := m.pop()
	switch o := m.top().(type) {
	case *Object:
		o.State = state
	default:
		m.fail(fmt.Errorf("a state for %T", o))
	}
}

// global pushes a name.
func (m *machine) global(module, name any) {
	a, ok1 := module.(string)
	b, ok2 := name.(string)
	if !ok1 || !ok2 {
		m.fail(errors.New("a name that is no text"))
	}
	m.push(Global{a, b})
}

// get pushes what the memo holds.
func (m *machine) get(i int64) {
	v, ok := m.memo[i]
	if !ok {
		m.fail(fmt.Errorf("memo %d is empty", i))
	}
	m.push(v)
}

func (m *machine) put(i int64) {
	m.pay(64)
	v := m.top()
	if m.err == nil {
		m.memo[i] = v
	}
}

// text pushes a copy of n bytes.
func (m *machine) text(n uint64) {
	b := m.take(n)
	m.pay(len(b))
	m.push(string(b))
}

// long pushes a little-endian integer in two's complement.
func (m *machine) long(b []byte) {
	if len(b) <= 8 {
		var v uint64
		for i, x := range b {
			v |= uint64(x) << (8 * i)
		}
		shift := 64 - 8*len(b)
		m.push(int64(v<<shift) >> shift)
		return
	}
	m.pay(2 * len(b))
	reversed := make([]byte, len(b))
	for i, x := range b {
		reversed[len(b)-1-i] = x
	}
	v := new(big.Int).SetBytes(reversed)
	if b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	m.push(v)
}
