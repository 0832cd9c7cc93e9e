package compile

import (
	"slices"

	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
	"lathe/internal/toolchain"
)

// link joins the objects, the manifest's digest and the descriptor to the library, and the rest of the package as well
// where weights are embedded.
func link(j *job, c *code, contents bundle.Contents) (*bundle.Contents, error) {
	manifest := *contents.Manifest
	contents.Manifest = &manifest
	var err error
	if manifest.Digests, err = contents.Digests(); err != nil {
		return nil, err
	}
	embed := j.Weights == WeightsInside
	text, err := llvm.Descriptor(&contents, j.Target, embed, true)
	if err != nil {
		return nil, err
	}
	o, err := c.compile(text, passes)
	if err != nil {
		return nil, err
	}
	objects := append(slices.Clip(c.objects), o)
	var compress []string
	if embed {
		sections, err := sections(&contents)
		if err != nil {
			return nil, err
		}
		if o, err = c.machine.Embed(sections); err != nil {
			return nil, err
		}
		objects = append(objects, o)
		contents.Complete = true
		compress = []string{bundle.GraphName, bundle.ManifestName}
	}
	contents.Library, err = toolchain.Link(objects, toolchain.LinkOptions{
		Soname: "mod.so", Triple: j.Target.Triple, Compress: compress,
		Exports: []string{manifest.RunSymbol(), manifest.DigestSymbol(), manifest.LibrarySymbol(), bundle.LibraryAlias},
	})
	return &contents, err
}

// archive collects the objects of a static library: kernels, the run function, the descriptor and, unless they are wanted
// beside it, the weights.
func archive(j *job, c *code, contents bundle.Contents) (*bundle.Contents, error) {
	text, err := llvm.Descriptor(&contents, j.Target, j.Weights != WeightsBeside, false)
	if err != nil {
		return nil, err
	}
	o, err := c.compile(text, passes)
	if err != nil {
		return nil, err
	}
	contents.Objects, contents.Runtime = append([][]byte{o}, c.objects...), j.Runtime
	if j.Weights == WeightsBeside {
		return &contents, nil
	}
	weights, err := weightsSection(&contents)
	if err != nil {
		return nil, err
	}
	weights.Name = ".rodata." + bundle.ParamsName
	if o, err = c.machine.Embed([]toolchain.Section{weights}); err != nil {
		return nil, err
	}
	contents.Objects, contents.Complete = append(contents.Objects, o), true
	return &contents, nil
}

// linkWasm joins the objects to a WebAssembly module. Everything has its place in memory before: the code's own data lies
// behind it.
func linkWasm(_ *job, c *code, contents bundle.Contents) (*bundle.Contents, error) {
	manifest := *contents.Manifest
	contents.Manifest = &manifest
	manifest.MaxWorkers = 1 // a module has no threads
	l, err := bundle.LayOutWasm(&manifest, contents.Params)
	if err != nil {
		return nil, err
	}
	contents.Library, err = toolchain.LinkWasm(c.objects, toolchain.WasmOptions{
		Exports: []string{manifest.RunSymbol()}, StackSize: bundle.WasmStack, DataBase: l.Bytes,
	})
	return &contents, err
}
