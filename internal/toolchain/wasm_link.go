package toolchain

import (
	"errors"
	"fmt"
)

// WasmOptions describe a WebAssembly module.
type WasmOptions struct {
	Exports []string // the exported functions, beside the memory
	// StackSize is the size in bytes of the stack, which lies at the beginning of memory: what overflows it traps.
	StackSize int
	// DataBase is the address of the objects' data, from StackSize on. The memory between both is the caller's.
	DataBase int
}

// PageSize is the unit of a WebAssembly memory.
const PageSize = 64 << 10

// LinkWasm makes one WebAssembly module of the given objects, with a memory that holds the stack, the caller's part and the
// objects' data. It imports nothing: an undefined symbol is an error, as is an export nobody defines. The bytes depend on
// the arguments only.
func LinkWasm(objs []Object, o WasmOptions) ([]byte, error) {
	if len(o.Exports) == 0 {
		return nil, errors.New("link: no exports: nothing in the module could be called")
	}
	if o.StackSize%16 != 0 || o.DataBase < o.StackSize || int64(o.DataBase) > 1<<32-PageSize {
		return nil, fmt.Errorf("link: a stack of %d bytes and data at %d do not fit into a memory", o.StackSize, o.DataBase)
	}
	args := []string{
		"wasm-ld", "--no-entry", "--stack-first", "-z", fmt.Sprintf("stack-size=%d", o.StackSize), fmt.Sprintf("--global-base=%d", o.DataBase),
		"--strip-all", "--fatal-warnings", "--threads=1",
	}
	for _, e := range o.Exports {
		if err := checkExport(e); err != nil {
			return nil, err
		}
		args = append(args, "--export="+e)
	}
	var files memoryFiles
	defer files.close()
	return link(objs, &files, args)
}
