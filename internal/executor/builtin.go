package executor

import (
	"lathe/runtime/dnnl"
	"lathe/runtime/external"
)

// builtIn are the run-time modules that need no library of their own form.
var builtIn = []external.Runtime{dnnl.Runtime, native}
