package cpu

import (
	"os"

	"lathe/internal/isa/aarch64"
)

func ask() *Machine { return FromLinux(&aarch64.Features, auxiliary(), os.DirFS("/")) }
