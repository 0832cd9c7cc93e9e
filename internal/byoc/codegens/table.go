// Package codegens lists the external code generators that are built in.
package codegens

import (
	"lathe/internal/byoc"
	"lathe/internal/byoc/dnnl"
	"lathe/internal/byoc/dpu"
)

// Table is the list.
var Table = byoc.List{&dnnl.Codegen, dpu.Codegen}
