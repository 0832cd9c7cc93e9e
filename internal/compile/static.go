package compile

import (
	"fmt"

	"lathe/internal/bundle"
	"lathe/internal/codegen/llvm"
	"lathe/internal/toolchain"
)

// archive collects the objects of a static library: kernels, the run function, the descriptor and, unless they are wanted
// beside it, the weights.
func (c *compiler) archive() error {
	text, err := llvm.Descriptor(&c.res.Contents, c.Target, c.Weights != WeightsBeside, false)
	if err != nil {
		return err
	}
	o, err := c.machine.Compile(text, passes)
	if err != nil {
		return fmt.Errorf("LLVM: %w", err)
	}
	contents := &c.res.Contents
	contents.Objects, contents.Runtime = append(append(contents.Objects, o), c.objects...), c.Runtime
	if c.Weights == WeightsBeside {
		return nil
	}
	weights, err := c.weightsSection()
	if err != nil {
		return err
	}
	weights.Name = ".rodata." + bundle.ParamsName
	if o, err = c.machine.Embed([]toolchain.Section{weights}); err != nil {
		return err
	}
	contents.Objects, contents.Complete = append(contents.Objects, o), true
	return nil
}
