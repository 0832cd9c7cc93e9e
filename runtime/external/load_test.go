package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// doubler is a run-time module in C that doubles its input, for regions whose blob says so.
const doubler = `
#include <stdlib.h>
#include <string.h>
#include "lathe_external.h"

struct lathe_external { int32_t inputs; };
static _Thread_local const char *error;

uint32_t lathe_external_abi(void) { return VERSION; }

void lathe_external_open(const lathe_external_info *info, lathe_external **module) {
	*module = NULL;
	if (info->size < sizeof *info || info->num_inputs != 1 || info->num_outputs != 1 || info->inputs->rank != 2 || strcmp(info->inputs->dtype, "float32") ||
	    strcmp(info->symbol, "region") || info->bytes != 6 || memcmp(info->blob, "double", 6)) {
		error = "the blob does\nnot say double";
		return;
	}
	*module = malloc(sizeof **module);
	(*module)->inputs = info->num_inputs;
}

int32_t lathe_external_run(lathe_external *module, const lathe_external_tensor *in, const lathe_external_tensor *out, int32_t workers) {
	if (in->shape[0] * in->shape[1] * 4 != (int64_t)in->bytes || workers != 3) {
		error = "shape and size differ";
		return 7;
	}
	for (int64_t i = 0; i < in->shape[0] * in->shape[1]; i++)
		((float *)out->data)[i] = 2 * ((const float *)in->data)[i];
	return 0;
}

void lathe_external_close(lathe_external *module) { free(module); }
const char *lathe_external_last_error(void) { return error; }
`

// built builds the module into a folder and returns that.
func built(t *testing.T, name string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "m.c")
	if err := os.WriteFile(source, []byte(doubler), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-std=c11", "-Wall", "-Werror", "-shared", "-fPIC", "-I", filepath.Join("..", "..", "include"), "-o", filepath.Join(dir, LibraryName(name)), source}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestLoad: a module in C opens, computes with the shapes of the call, and says why it fails.
func TestLoad(t *testing.T) {
	t.Setenv(PathVariable, "/nowhere:"+built(t, "doubler", "-DVERSION=1"))
	r, err := Load("doubler")
	if err != nil {
		t.Fatal(err)
	}
	tensor := func(v []float32, shape ...int64) Tensor {
		return Tensor{DType: "float32", Shape: shape, Bytes: 4 * len(v), Data: unsafe.Pointer(&v[0])}
	}
	x, y := []float32{1, 2, 3, 4, 5, 6}, make([]float32, 6)
	info := Info{Symbol: "region", Inputs: []Tensor{tensor(x, 2, 3)}, Outputs: []Tensor{tensor(y, 2, 3)}, Workers: 3}
	if _, err := r.Open([]byte("triple"), info); err == nil || err.Error() != "the blob does not say double" {
		t.Error(err)
	}
	m, err := r.Open([]byte("double"), info)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, n := range []int64{2, 1} { // an extent may be less than it was at first
		clear(y)
		if err := m.Run([]Tensor{tensor(x[:3*n], n, 3)}, []Tensor{tensor(y[:3*n], n, 3)}, 3); err != nil {
			t.Fatal(err)
		}
		for i := range y {
			if want := 2 * x[i]; int64(i) < 3*n && y[i] != want || int64(i) >= 3*n && y[i] != 0 {
				t.Errorf("%d rows: element %d is %v", n, i, y[i])
			}
		}
	}
	if err := m.Run(info.Inputs, info.Outputs, 1); err == nil || err.Error() != "status 7: shape and size differ" {
		t.Error(err)
	}
}

// TestLoadErrors: what is no module of this version is refused in one line.
func TestLoadErrors(t *testing.T) {
	old := built(t, "old", "-DVERSION=2")
	bad := t.TempDir()
	if err := os.WriteFile(filepath.Join(bad, LibraryName("bad")), []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(PathVariable, old+":"+bad+":relative:")
	for name, want := range map[string]string{
		"old":  "it is made for version 2 of lathe_external.h, and this runtime calls version 1",
		"bad":  "liblathe_ext_bad.so: ",
		"none": "there is no liblathe_ext_none.so in ",
		"a/b":  `a run-time module cannot be called "a/b"`,
		"":     `a run-time module cannot be called ""`,
	} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v instead of %s", name, err, want)
		}
	}
}
