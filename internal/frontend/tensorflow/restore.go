package tensorflow

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lathe/internal/frontend"
)

// restore finds the values of variables in a checkpoint. Which tensor a variable gets, the nodes say that TensorFlow would run: a result of
// RestoreV2 is assigned to it, in the graph, or in a function that gets the variable as an argument.
func (b *builder) restore(f *files, prefix string) error {
	b.weights = f.weights
	open := f.open
	if f.checkpoint != "" {
		open, prefix = f.take, f.checkpoint
	}
	if prefix == "" || f.weights.MadeUp {
		b.missing = &frontend.NoWeightsError{Rule: "the graph has variables, and a file of a graph has no checkpoint beside it"}
		return nil
	}
	index, err := open(prefix + ".index")
	if err != nil {
		if _, stat := os.Stat(filepath.Join(f.dir, prefix+".index")); f.checkpoint == "" && errors.Is(stat, fs.ErrNotExist) {
			b.missing = &frontend.NoWeightsError{Rule: fmt.Sprintf("there is no file %s.index, where the checkpoint is looked for", prefix)}
			return nil // as far as is known, a network without variables
		}
		return fmt.Errorf("checkpoint %s.index: %w", prefix, frontend.Cause(err))
	}
	ck, err := readBundle(index, func(shard, shards int) ([]byte, error) {
		name := fmt.Sprintf("%s.data-%05d-of-%05d", prefix, shard, shards)
		data, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("its weights are missing: file %s: %w", name, err)
		}
		return data, nil
	})
	if err != nil {
		return err
	}
	return b.assign(ck)
}

// assign gives variables the tensors of a checkpoint.
func (b *builder) assign(ck *bundle) (err error) {
	r := &restorer{builder: b, keys: map[string]string{}}
	if err := r.run(b.nodes, nil, nil, 0); err != nil {
		return err
	}
	for _, n := range b.nodes {
		if !variables[n.op] {
			continue
		}
		key, ok := r.keys[n.name]
		if !ok {
			if key = n.name; ck.entries[key].size == 0 {
				continue
			}
		}
		if b.values[n.name], err = ck.tensor(key); err != nil {
			return fmt.Errorf("variable %q: %w", n.name, err)
		}
	}
	return nil
}

// variables are the operators that stand for one.
var variables = map[string]bool{"VarHandleOp": true, "VariableV2": true, "Variable": true, "AutoReloadVariable": true}

// A restorer follows the tensors of a checkpoint to variables.
type restorer struct {
	*builder
	keys map[string]string // of the checkpoint, by the names of variables
	work int
}

// run looks at the nodes of the graph, or of a function whose arguments are bound to values: names of variables and keys of the checkpoint.
func (r *restorer) run(nodes []*node, handles, keys map[string]string, depth int) error {
	if r.work += len(nodes); depth > maxDepth || r.work > maxExpanded {
		return errors.New("functions that restore variables call each other without end")
	}
	by := make(map[string]*node, len(nodes))
	for _, n := range nodes {
		by[n.name] = n
	}
	for _, n := range nodes {
		switch n.op {
		case "AssignVariableOp", "Assign":
			if len(n.in) < 2 {
				continue
			}
			handle, key := r.handle(by, handles, n.in[0]), r.key(by, keys, n.in[1])
			if handle != "" && key != "" {
				r.keys[handle] = key
			}
		default:
			name := n.op
			if callers[n.op] == "PartitionedCall" {
				name = n.function("f")
			}
			f := r.functions[name]
			if f == nil || !r.restores(f, 0) {
				continue
			}
			inner, innerKeys := map[string]string{}, map[string]string{}
			for i, a := range f.args {
				if i < len(n.in) {
					inner[a.name], innerKeys[a.name] = r.handle(by, handles, n.in[i]), r.key(by, keys, n.in[i])
				}
			}
			if err := r.run(f.nodes, inner, innerKeys, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// restores reports whether a function assigns variables.
func (r *restorer) restores(f *function, depth int) bool {
	return depth < 4 && slices.ContainsFunc(f.nodes, func(n *node) bool {
		if n.op == "AssignVariableOp" || n.op == "RestoreV2" {
			return true
		}
		g := r.functions[n.function("f")]
		return g != nil && r.restores(g, depth+1)
	})
}

// follow goes from an input to the node that makes it, through copies, and says which result it is.
func follow(by map[string]*node, text string) (*node, string) {
	for range len(by) + 1 {
		name, at, _ := strings.Cut(text, ":")
		n := by[name]
		if n == nil {
			return nil, name
		}
		if n.op != "Identity" && n.op != "Cast" || len(n.in) == 0 {
			return n, at
		}
		text = n.in[0]
	}
	return nil, ""
}

// handle is the variable that an input is.
func (r *restorer) handle(by map[string]*node, bound map[string]string, text string) string {
	n, name := follow(by, text)
	switch {
	case n == nil:
		return bound[name]
	case variables[n.op]:
		return n.name
	}
	return ""
}

// key is the tensor of the checkpoint that an input is.
func (r *restorer) key(by map[string]*node, bound map[string]string, text string) string {
	n, at := follow(by, text)
	if n == nil {
		return bound[at]
	}
	if n.op != "RestoreV2" || len(n.in) < 2 {
		return ""
	}
	i := 0
	if k := at[strings.LastIndexByte(at, ':')+1:]; k != "" {
		if _, err := fmt.Sscanf(k, "%d", &i); err != nil {
			return ""
		}
	}
	names, _ := follow(by, n.in[1])
	if names == nil || names.op != "Const" {
		return ""
	}
	x, err := attributes{node: names}.value("value", 8, "a tensor")
	if err != nil {
		return ""
	}
	c, err := readConstant(x.Data)
	if err != nil || i >= len(c.strings) {
		return ""
	}
	return string(c.strings[i])
}
