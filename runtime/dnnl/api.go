package dnnl

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraries are the names that the dynamic linker knows oneDNN by. The interface of version 2 is called: version 3 has another one.
var libraries = []string{"libdnnl.so.2", "libmkldnn.so.2"}

// The functions of oneDNN that are called, see oneapi/dnnl/dnnl.h of version 2.
type api struct {
	engineCreate, streamCreate, streamWait, streamDestroy                                 uintptr
	descByTag, descByStrides, descEqual, descSize                                         uintptr
	memoryCreate, memorySetHandle, memoryDestroy                                          uintptr
	attrCreate, attrDestroy, attrSetPost, postCreate, postDestroy                         uintptr
	convolution, innerProduct, matmul, pooling, softmax, binary, concat, reorder          uintptr
	primitiveDesc, primitiveDescDestroy, queryMD, primitive, primitiveExecute, primDelete uintptr
	setThreads                                                                            uintptr // of the OpenMP runtime that oneDNN uses; 0: none

	postSum     func(post uintptr, scale float32) int32
	postEltwise func(post uintptr, scale float32, alg int32, alpha, beta float32) int32
	eltwise     func(desc unsafe.Pointer, prop, alg int32, data unsafe.Pointer, alpha, beta float32) int32
	version     func() *version

	engine uintptr
}

// version is dnnl_version_t.
type version struct {
	major, minor, _ int32
	_               *byte
	cpu, _          uint32
}

// Constants of dnnl_types.h.
const (
	cpuEngine        = 1
	forwardInference = 96
	convolutionAuto  = 3
	float32Type      = 3
	anyFormat        = 1
	querySource      = 129
	queryWeights     = 131
	queryDestination = 133
	poolMax          = 0x1ff
	poolInclude      = 0x2ff
	poolExclude      = 0x3ff
	softmaxAccurate  = 0x30000
	softmaxLog       = 0x30001
	openMP           = 2 // dnnl_cpu_runtime

	argSource, argSource1, argDestination, argWeights, argBias, argMultiple = 1, 2, 17, 33, 41, 1024
)

// functions are oneDNN's numbers of elementwise functions.
var functions = map[string]int32{
	"relu": 0x1f, "tanh": 0x2f, "elu": 0x3f, "abs": 0x5f, "sqrt": 0x6f, "linear": 0x7f, "logistic": 0xaf, "exp": 0xbf, "clip": 0xff,
	"gelu_erf": 0x30, "swish": 0xdf,
}

// binaries are those of functions of two tensors.
var binaries = map[string]int32{"add": 0x1fff0, "mul": 0x1fff1, "max": 0x1fff2, "min": 0x1fff3, "div": 0x1fff4, "sub": 0x1fff5}

// descBytes is the size of dnnl_memory_desc_t in version 2, opBytes no less than that of any descriptor of an operation.
const (
	descBytes = 696
	opBytes   = 8192
)

// opened loads oneDNN once: its threads and its caches of code last as long as the process.
var opened = sync.OnceValues(func() (*api, error) {
	var handle uintptr
	var err error
	for _, name := range libraries {
		if handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			break
		}
	}
	if handle == 0 {
		return nil, fmt.Errorf("there is no %s on this machine (Debian and Ubuntu have it as libdnnl2)", libraries[0])
	}
	a := &api{}
	return a, a.load(handle)
})

func (a *api) load(handle uintptr) error {
	for name, to := range map[string]*uintptr{
		"engine_create": &a.engineCreate, "stream_create": &a.streamCreate, "stream_wait": &a.streamWait, "stream_destroy": &a.streamDestroy,
		"memory_desc_init_by_tag": &a.descByTag, "memory_desc_init_by_strides": &a.descByStrides, "memory_desc_equal": &a.descEqual, "memory_desc_get_size": &a.descSize,
		"memory_create": &a.memoryCreate, "memory_set_data_handle": &a.memorySetHandle, "memory_destroy": &a.memoryDestroy,
		"primitive_attr_create": &a.attrCreate, "primitive_attr_destroy": &a.attrDestroy, "primitive_attr_set_post_ops": &a.attrSetPost, "post_ops_create": &a.postCreate, "post_ops_destroy": &a.postDestroy,
		"dilated_convolution_forward_desc_init": &a.convolution, "inner_product_forward_desc_init": &a.innerProduct, "matmul_desc_init": &a.matmul,
		"pooling_v2_forward_desc_init": &a.pooling, "softmax_v2_forward_desc_init": &a.softmax, "binary_desc_init": &a.binary,
		"concat_primitive_desc_create": &a.concat, "reorder_primitive_desc_create": &a.reorder,
		"primitive_desc_create": &a.primitiveDesc, "primitive_desc_destroy": &a.primitiveDescDestroy, "primitive_desc_query_md": &a.queryMD,
		"primitive_create": &a.primitive, "primitive_execute": &a.primitiveExecute, "primitive_destroy": &a.primDelete,
	} {
		var err error
		if *to, err = purego.Dlsym(handle, "dnnl_"+name); err != nil {
			return fmt.Errorf("oneDNN has no dnnl_%s: version 2.6 or a later 2.x is called", name)
		}
	}
	purego.RegisterLibFunc(&a.postSum, handle, "dnnl_post_ops_append_sum")
	purego.RegisterLibFunc(&a.postEltwise, handle, "dnnl_post_ops_append_eltwise")
	purego.RegisterLibFunc(&a.eltwise, handle, "dnnl_eltwise_forward_desc_init")
	purego.RegisterLibFunc(&a.version, handle, "dnnl_version")
	v := a.version()
	if v == nil || v.major != 2 || v.minor < 6 {
		return errors.New("oneDNN is not of version 2.6 or a later 2.x, whose functions are called")
	}
	if v.cpu == openMP {
		a.setThreads, _ = purego.Dlsym(purego.RTLD_DEFAULT, "omp_set_num_threads") // without it the environment says how many
	}
	var cpu uintptr
	if err := check(call(a.engineCreate, uintptr(unsafe.Pointer(&cpu)), cpuEngine, 0)); err != nil {
		return fmt.Errorf("an engine: %w", err)
	}
	a.engine = cpu
	return nil
}

// call calls a function of integers and pointers. What is converted to a number in the call itself stays where it is meanwhile.
//
//go:uintptrescapes
func call(f uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(f, args...)
	return int32(r)
}

// check is the error of a status.
func check(status int32) error {
	names := []string{"", "out of memory", "invalid arguments", "not implemented", "no implementation is left", "runtime error", "not required"}
	switch {
	case status == 0:
		return nil
	case int(status) < len(names) && status > 0:
		return fmt.Errorf("oneDNN: %s", names[status])
	}
	return fmt.Errorf("oneDNN: status %d", status)
}
