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
	blocks := 0
	err := wire.Each(msg, func(f wire.Field) error {
		switch {
		case f.Number == 1 && blocks == 0:
			blocks++
			return p.block(f.Data)
		case f.Number == 4:
			return wire.Each(f.Data, func(f wire.Field) error {
				if v := f.Int(); f.Number == 1 && v > 0 {
					p.producer = fmt.Sprintf("paddle %d.%d.%d", v/1_000_000, v/1000%1000, v%1000)
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && blocks == 0 {
		err = errors.New("the program has no block: cut short, or no program")
	}
	return p, err
}

// Kinds of variables (VarType.Type).
const (
	denseTensor = 7
	feedList    = 9
	fetchList   = 10
)

func (p *program) block(msg []byte) error {
	fetched := map[int64]port{}
	fed := map[int64]string{}
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 3:
			return p.variable(f.Data)
		case 4:
			op, err := operationOf(f.Data)
			if err != nil {
				return fmt.Errorf("operator %q: %w", op.kind, err)
			}
			column := int64(0)
			if op.attrs["col"] != nil {
				if column, err = op.attrs.Int("col"); err != nil {
					return err
				}
			}
			switch op.kind {
			case "feed":
				if out := find(op.out, "Out"); len(out) == 1 {
					fed[column] = out[0]
				}
			case "fetch":
				if in := find(op.in, "X"); len(in) == 1 {
					fetched[column] = port{in[0], in[0]}
				}
			default:
				p.ops = append(p.ops, op)
			}
		}
		return nil
	})
	for _, column := range slices.Sorted(maps.Keys(fed)) {
		p.inputs = append(p.inputs, fed[column])
	}
	for _, column := range slices.Sorted(maps.Keys(fetched)) {
		p.outputs = append(p.outputs, fetched[column])
	}
	return err
}

func (p *program) variable(msg []byte) error {
	name, kind, persistable := "", int64(denseTensor), false
	v := variable{}
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1:
			name = f.Text()
		case 2:
			return wire.Each(f.Data, func(f wire.Field) error {
				switch f.Number {
				case 1:
					kind = f.Int()
				case 3:
					return wire.Each(f.Data, func(f wire.Field) (err error) {
						if f.Number == 1 {
							v.Tensor, err = description(f.Data)
							v.typed = err == nil
							return nil // of a value; a parameter needs it
						}
						return nil
					})
				}
				return nil
			})
		case 3:
			persistable = f.Bool()
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("variable %q: %w", name, err)
	}
	v.parameter = persistable && kind == denseTensor
	p.vars[name] = v
	return nil
}

func operationOf(msg []byte) (operation, error) {
	op := operation{attrs: frontend.Values{}}
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1, 2:
			s := slot{}
			err := wire.Each(f.Data, func(f wire.Field) error {
				if f.Number == 1 {
					s.name = f.Text()
				} else if f.Number == 2 {
					s.args = append(s.args, f.Text())
				}
				return nil
			})
			if err != nil {
				return err
			}
			if f.Number == 1 {
				op.in = append(op.in, s)
			} else {
				op.out = append(op.out, s)
			}
		case 3:
			op.kind = f.Text()
		case 4:
			return op.attribute(f.Data)
		}
		return nil
	})
	return op, err
}

// attribute reads an attribute by the kind of its value; a block is the number of one.
func (op *operation) attribute(msg []byte) error {
	name, kind := "", int64(0)
	var single any
	list := []any{}
	err := wire.Each(msg, func(f wire.Field) error {
		switch f.Number {
		case 1:
			name = f.Text()
		case 2:
			kind = f.Int()
		case 3, 12, 13:
			single = whole(f.Int())
		case 4:
			single = f.Float()
		case 19:
			single = f.Double()
		case 5:
			single = f.Text()
		case 10:
			single = f.Bool()
		case 8:
			list = append(list, f.Text())
		case 6, 11, 15:
			v, err := f.Ints()
			for _, x := range v {
				list = append(list, whole(x))
			}
			return err
		case 7, 16:
			v, err := f.Floats(map[int]int{7: 4, 16: 8}[f.Number])
			for _, x := range v {
				list = append(list, x)
			}
			return err
		}
		return nil
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
