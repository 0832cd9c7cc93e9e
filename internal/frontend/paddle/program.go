package paddle

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/types"
)

// A program is the main block of either form, in the names of the older one.
type program struct {
	vars     map[string]variable
	ops      []operation
	inputs   []string // in order of their columns
	outputs  []port
	producer string
}

// A port is an output: a value, and the name under which it is given.
type port struct{ value, name string }

// A variable is what the program says of a value.
type variable struct {
	types.Tensor // of rank 0 and no type where it says nothing; open extents are -1
	typed        bool
	parameter    bool
}

// An operation has its operands and results in named slots.
type operation struct {
	kind    string
	in, out []slot
	attrs   frontend.Values
}

type slot struct {
	name string
	args []string
}

func find(slots []slot, name string) []string {
	if i := slices.IndexFunc(slots, func(s slot) bool { return s.name == name }); i >= 0 {
		return slots[i].args
	}
	return nil
}

// parameters lists the names of parameters in the order in which they are saved.
func (p *program) parameters() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.vars)) {
		if p.vars[name].parameter {
			names = append(names, name)
		}
	}
	return names
}

// readMessage reads a ProgramDesc. Only its first block counts; operations that run others are refused by name.
func readMessage(msg []byte) (*program, error) {
	p := &program{vars: map[string]variable{}, producer: "paddle"}
	var blocks [][]byte
	version := 0
	err := wire.Read(msg, wire.Fields{
		1: wire.Messages(&blocks, func(msg []byte) ([]byte, error) { return msg, nil }),
		4: wire.Message(wire.Fields{1: wire.Int(&version)}),
	})
	if err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, errors.New("the program has no block: cut short, or no program")
	}
	if version > 0 {
		p.producer = fmt.Sprintf("paddle %d.%d.%d", version/1_000_000, version/1000%1000, version%1000)
	}
	return p, p.block(blocks[0])
}

// block reads a BlockDesc.
func (p *program) block(msg []byte) error {
	var list []operation
	if err := wire.Read(msg, wire.Fields{3: wire.With(p.variable), 4: wire.Messages(&list, operationOf)}); err != nil {
		return err
	}
	fed, fetched := map[int64]string{}, map[int64]string{}
	for _, op := range list {
		columns, slots := fed, op.out
		switch op.kind {
		case "feed":
		case "fetch":
			columns, slots = fetched, op.in
		default:
			p.ops = append(p.ops, op)
			continue
		}
		column := int64(0)
		if op.attrs["col"] != nil {
			var err error
			if column, err = op.attrs.Int("col"); err != nil {
				return err
			}
		}
		if value := find(slots, map[string]string{"feed": "Out", "fetch": "X"}[op.kind]); len(value) == 1 {
			columns[column] = value[0]
		}
	}
	for _, column := range slices.Sorted(maps.Keys(fed)) {
		p.inputs = append(p.inputs, fed[column])
	}
	for _, column := range slices.Sorted(maps.Keys(fetched)) {
		p.outputs = append(p.outputs, port{fetched[column], fetched[column]})
	}
	return nil
}

// denseTensor is the kind of variables that are tensors (VarType.Type).
const denseTensor = 7

// variable reads a VarDesc.
func (p *program) variable(msg []byte) error {
	name, kind, persistable := "", denseTensor, false
	v := variable{}
	err := wire.Read(msg, wire.Fields{
		1: wire.Text(&name),
		2: wire.Message(wire.Fields{1: wire.Int(&kind), 3: wire.Message(wire.Fields{1: wire.With(func(msg []byte) (err error) {
			v.Tensor, err = description(msg)
			v.typed = err == nil
			return nil // of a value; a parameter needs it
		})})}),
		3: wire.Bool(&persistable),
	})
	if err != nil {
		return fmt.Errorf("variable %q: %w", name, err)
	}
	v.parameter = persistable && kind == denseTensor
	p.vars[name] = v
	return nil
}

// operationOf reads an OpDesc.
func operationOf(msg []byte) (op operation, err error) {
	op.attrs = frontend.Values{}
	err = wire.Read(msg, wire.Fields{1: wire.Messages(&op.in, slotOf), 2: wire.Messages(&op.out, slotOf), 3: wire.Text(&op.kind), 4: wire.With(op.attribute)})
	if err != nil {
		err = fmt.Errorf("operator %q: %w", op.kind, err)
	}
	return op, err
}

func slotOf(msg []byte) (s slot, err error) {
	err = wire.Read(msg, wire.Fields{1: wire.Text(&s.name), 2: wire.Texts(&s.args)})
	return s, err
}

// attribute reads an attribute, whose value is in the field of its type; a block is the number of one.
func (op *operation) attribute(msg []byte) error {
	name, kind, single, list := "", 0, any(nil), []any{}
	number := func(f wire.Field) error { single = whole(f.Int()); return nil }
	numbers := func(f wire.Field) error {
		return f.Varints(func(v uint64) error { list = append(list, whole(int64(v))); return nil })
	}
	floats := func(size int) wire.Reader {
		return func(f wire.Field) error {
			v, err := f.Floats(size)
			for _, x := range v {
				list = append(list, x)
			}
			return err
		}
	}
	err := wire.Read(msg, wire.Fields{
		1: wire.Text(&name), 2: wire.Int(&kind), 3: number, 12: number, 13: number, 6: numbers, 11: numbers, 15: numbers, 7: floats(4), 16: floats(8),
		4:  func(f wire.Field) error { single = f.Float(); return nil },
		19: func(f wire.Field) error { single = f.Double(); return nil },
		5:  func(f wire.Field) error { single = f.Text(); return nil },
		10: func(f wire.Field) error { single = f.Bool(); return nil },
		8:  func(f wire.Field) error { list = append(list, f.Text()); return nil },
	})
	if err != nil {
		return fmt.Errorf("attribute %q: %w", name, err)
	}
	switch kind {
	case 3, 4, 5, 7, 11, 12:
		op.attrs[name] = list
	case 10, 14:
		// Lists of blocks and of variables: no operator that is read has any.
	default:
		op.attrs[name] = single
	}
	return nil
}

// whole is a number as an attribute: those that no float64 holds stand for the end of an axis.
func whole(v int64) float64 { return float64(min(max(v, -1<<53), 1<<53)) }
