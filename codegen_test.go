package lathe_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"lathe"
	"lathe/runtime"
	"lathe/runtime/external"
)

// negated runs a region that is one Relu wrongly, so that it shows who computed it.
type negated struct{}

func (negated) Close() error { return nil }

func (negated) Run(in, out []external.Tensor, _ int) error {
	x, y := unsafe.Slice((*float32)(in[0].Data), in[0].Bytes/4), unsafe.Slice((*float32)(out[0].Data), out[0].Bytes/4)
	for i := range x {
		y[i] = -max(x[i], 0)
	}
	return nil
}

// TestCodegen: a generator that is part of a program claims nodes by their names in a file, and its module runs.
func TestCodegen(t *testing.T) {
	regions := 0
	mine := lathe.Codegen{
		Name: "mine", Options: []string{"only"},
		Claim: func(_ context.Context, model []byte, o map[string]string) ([]lathe.CodegenClaim, map[string]string, error) {
			if o["only"] != "last" {
				return nil, nil, errors.New("nothing is asked for")
			}
			i := strings.Index(string(model), " /residual/Relu")
			number := i
			for model[number-1] >= '0' && model[number-1] <= '9' {
				number--
			}
			return []lathe.CodegenClaim{{Nodes: []string{string(model[number:i]) + " /residual/Relu"}}}, nil, nil
		},
		Compile: func(_ context.Context, region []byte, symbol, target string, _ map[string]string) (lathe.CodegenModule, error) {
			if !strings.Contains(string(region), "Relu") || symbol != "tvmgen_default_mine_main_0" || !strings.HasPrefix(target, "llvm ") {
				t.Errorf("region of %d bytes, symbol %s, target %s", len(region), symbol, target)
			}
			regions++
			return lathe.CodegenModule{Kind: "blob", Runtime: "mine", Bytes: []byte("x")}, nil
		},
	}
	m, err := lathe.Load(filepath.Join("examples", "demo", "digits.onnx"), lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "mine, llvm", Codegens: []lathe.Codegen{mine}}); err == nil || !strings.Contains(err.Error(), "nothing is asked for") {
		t.Error(err)
	}
	pkg, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "mine -only=last, llvm", Codegens: []lathe.Codegen{mine}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "net.tar")
	if err := pkg.Save(path); err != nil {
		t.Fatal(err)
	}
	run := func(options ...runtime.Option) (*runtime.Module, float32) {
		r, err := runtime.Open(path, options...)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 3*64*64)
		for i := range x {
			x[i] = float32(i%7) - 3
		}
		in, err := runtime.NewTensor(x, 1, 3, 64, 64)
		if err == nil {
			err = r.SetInputIndex(0, in)
		}
		if err == nil {
			err = r.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		y, err := r.Output(0)
		if err != nil {
			t.Fatal(err)
		}
		v, err := y.Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return r, v[0]
	}
	plain, own := run()
	defer plain.Close()
	with, other := run(runtime.WithExternal(external.Runtime{Name: "mine", Open: func([]byte, external.Info) (external.Module, error) { return negated{}, nil }}))
	defer with.Close()
	if regions != 1 || own == other || len(with.External()) != 1 || len(with.Notes()) != 0 || len(plain.External()) != 0 || len(plain.Notes()) != 1 {
		t.Errorf("%d regions, %v and %v, %v", regions, own, other, plain.Notes())
	}
	again, err := with.Clone()
	if err != nil {
		t.Fatal(err)
	}
	if len(again.External()) != 1 {
		t.Error("a clone has no regions")
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestCodegenMistakes: what a generator gets wrong is one line that names it, and nothing is compiled.
func TestCodegenMistakes(t *testing.T) {
	m, err := lathe.Load(filepath.Join("examples", "demo", "digits.onnx"), lathe.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const symbol = "tvmgen_default_mine_main_0"
	const head, tail = "define void @" + symbol + "(ptr %in, ptr %out, i32 %w, i32 %ws) {\n", "ret void\n}\n"
	for _, c := range []struct {
		module lathe.CodegenModule
		err    error
		want   string
	}{
		{lathe.CodegenModule{Kind: "blob", Runtime: "mine"}, nil, "a module without bytes"},
		{lathe.CodegenModule{Kind: "blob", Bytes: []byte("x")}, nil, `a run-time module cannot be called ""`},
		{lathe.CodegenModule{Kind: "blob", Bytes: []byte("x"), Runtime: "../x"}, nil, `a run-time module cannot be called "../x"`},
		{lathe.CodegenModule{Kind: "magic", Bytes: []byte("x")}, nil, `a module of kind "magic"`},
		{lathe.CodegenModule{Kind: "c", Bytes: []byte("x")}, nil, "C source is for target c"},
		{lathe.CodegenModule{Kind: "object", Bytes: []byte("not ELF")}, nil, "it is no relocatable ELF object"},
		{lathe.CodegenModule{Kind: "object", Bytes: []byte("GROUP ( /etc/passwd )")}, nil, "it is no relocatable ELF object"},
		{lathe.CodegenModule{Kind: "ir", Bytes: []byte("not LLVM")}, nil, "LLVM: "},
		{lathe.CodegenModule{Kind: "ir", Bytes: []byte(strings.Replace(head, symbol, "other", 1) + tail)}, nil, symbol},
		{lathe.CodegenModule{Kind: "ir", Bytes: []byte("declare void @puts()\n" + head + "call void @puts()\n" + tail)}, nil, "undefined symbol: puts"},
		{lathe.CodegenModule{Kind: "ir", Bytes: []byte("@state = internal global i32 0\n" + head + "store volatile i32 1, ptr @state\n" + tail)}, nil, `it has writable data, in section ".bss"`},
		{lathe.CodegenModule{}, errors.New("no licence"), "no licence"},
	} {
		mine := lathe.Codegen{
			Name: "mine",
			Claim: func(_ context.Context, model []byte, _ map[string]string) ([]lathe.CodegenClaim, map[string]string, error) {
				i := strings.Index(string(model), " /residual/Relu")
				return []lathe.CodegenClaim{{Nodes: []string{strings.TrimLeft(string(model[i-2:i]), "\x00\n\"\x02\x12\x1a") + " /residual/Relu"}}}, nil, nil
			},
			Compile: func(context.Context, []byte, string, string, map[string]string) (lathe.CodegenModule, error) {
				return c.module, c.err
			},
		}
		_, err := lathe.Compile(t.Context(), m, lathe.CompileOptions{Target: "mine, llvm", Codegens: []lathe.Codegen{mine}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "external code generator mine: region "+symbol+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v instead of %s", c.module, err, c.want)
		}
	}
}
