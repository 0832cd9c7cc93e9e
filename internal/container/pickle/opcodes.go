package pickle

import (
	"errors"
	"fmt"
	"math"
)

// oldest and newest are the protocols that are read. Those before 2 spell values as lines of text, which no framework does.
const oldest, newest = 2, 5

// steps says what each opcode does. Extension codes, which stand for classes that programs agree on, and buffers out of band
// are none of what a file can hold.
var steps = [256]func(m *machine){
	0x80: func(m *machine) {
		if v := m.byte(); v < oldest || v > newest {
			m.fail(fmt.Errorf("protocol %d is not supported; %d to %d are", v, oldest, newest))
		}
	},
	0x95: func(m *machine) { m.take(8) }, // FRAME: how many bytes belong together
	'.': func(m *machine) {
		v := m.pop()
		if m.err == nil && len(m.stack) > 0 {
			m.fail(fmt.Errorf("%d values are left", len(m.stack)))
		}
		m.stack, m.done = []any{v}, true
	},

	// The stack and the memo.
	'(': func(m *machine) { m.push(mark{}) },
	'0': func(m *machine) {
		if n := len(m.stack); n > 0 {
			m.stack = m.stack[:n-1]
		} else {
			m.fail(errors.New("an operand is missing"))
		}
	},
	'1':  func(m *machine) { m.marked() },
	'2':  func(m *machine) { m.push(m.top()) },
	'h':  func(m *machine) { m.get(int64(m.byte())) },
	'j':  func(m *machine) { m.get(int64(m.uint(4))) },
	'q':  func(m *machine) { m.put(int64(m.byte())) },
	'r':  func(m *machine) { m.put(int64(m.uint(4))) },
	0x94: func(m *machine) { m.put(int64(len(m.memo))) },

	// Scalars.
	'N':  func(m *machine) { m.push(nil) },
	0x88: func(m *machine) { m.push(true) },
	0x89: func(m *machine) { m.push(false) },
	'J':  func(m *machine) { m.push(int64(int32(m.uint(4)))) },
	'K':  func(m *machine) { m.push(int64(m.byte())) },
	'M':  func(m *machine) { m.push(int64(m.uint(2))) },
	0x8a: func(m *machine) { m.long(m.take(uint64(m.byte()))) },
	0x8b: func(m *machine) { m.long(m.take(m.uint(4))) },
	'G': func(m *machine) {
		var bits uint64
		for _, b := range m.take(8) {
			bits = bits<<8 | uint64(b)
		}
		m.push(math.Float64frombits(bits))
	},

	// Texts and bytes. Those of Python 2, without a coding, count as texts.
	'T':  func(m *machine) { m.text(m.uint(4)) },
	'U':  func(m *machine) { m.text(m.uint(1)) },
	'X':  func(m *machine) { m.text(m.uint(4)) },
	0x8c: func(m *machine) { m.text(m.uint(1)) },
	0x8d: func(m *machine) { m.text(m.uint(8)) },
	'B':  func(m *machine) { m.push(m.take(m.uint(4))) },
	'C':  func(m *machine) { m.push(m.take(m.uint(1))) },
	0x8e: func(m *machine) { m.push(m.take(m.uint(8))) },
	0x96: func(m *machine) { m.push(m.take(m.uint(8))) },

	// Containers.
	')':  func(m *machine) { m.push(Tuple{}) },
	't':  func(m *machine) { m.push(Tuple(m.marked())) },
	0x85: func(m *machine) { m.push(m.last(1)) },
	0x86: func(m *machine) { m.push(m.last(2)) },
	0x87: func(m *machine) { m.push(m.last(3)) },
	']':  func(m *machine) { m.push(&List{}) },
	'a':  func(m *machine) { m.add(m.pop()) },
	'e':  func(m *machine) { m.add(m.marked()...) },
	'}':  func(m *machine) { m.push(&Dict{}) },
	's':  func(m *machine) { m.set(m.last(2)...) },
	'u':  func(m *machine) { m.set(m.marked()...) },
	0x8f: func(m *machine) { m.push(&Set{}) },
	0x90: func(m *machine) { m.add(m.marked()...) },
	0x91: func(m *machine) { m.push(&Set{m.marked()}) },

	// Names, and what would be called.
	'c': func(m *machine) {
		module := m.line()
		m.global(module, m.line())
	},
	0x93: func(m *machine) {
		names := m.last(2)
		m.global(names[0], names[1])
	},
	'R':  func(m *machine) { m.callLast(m.last(2)) },
	0x81: func(m *machine) { m.callLast(m.last(2)) },
	0x92: func(m *machine) {
		t := m.last(3)
		kwargs, ok := t[2].(*Dict)
		if !ok {
			m.fail(fmt.Errorf("a call with %T for named arguments", t[2]))
		}
		m.call(t[0], t[1], kwargs)
	},
	'b': func(m *machine) { m.build() },
	'Q': func(m *machine) { m.push(Persistent{m.pop()}) },
}

// callLast calls a function with a tuple of arguments.
func (m *machine) callLast(t Tuple) { m.call(t[0], t[1], nil) }
