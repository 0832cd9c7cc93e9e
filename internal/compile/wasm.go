package compile

import (
	"lathe/internal/bundle"
	"lathe/internal/toolchain"
)

// linkWasm joins the objects to a WebAssembly module. Everything has its place in memory before: the code's own data lies
// behind it.
func (c *compiler) linkWasm() error {
	m := c.res.Contents.Manifest
	m.MaxWorkers = 1 // a module has no threads
	l, err := bundle.LayOutWasm(m, c.res.Contents.Params)
	if err != nil {
		return err
	}
	c.res.Contents.Library, err = toolchain.LinkWasm(c.objects, toolchain.WasmOptions{
		Exports: []string{m.RunSymbol()}, StackSize: bundle.WasmStack, DataBase: l.Bytes,
	})
	return err
}
