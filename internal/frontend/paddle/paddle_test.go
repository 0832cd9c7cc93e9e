package paddle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lathe/internal/container/cursor"
	"lathe/internal/frontend"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// pir is a program in JSON: (x W + B) * 2, reshaped by a list, split, and the second part joined with a transpose of the first.
const pir = `{"base_code":{"magic":"pir","trainable":false,"version":1},"program":{"regions":[{"#":"region_0","blocks":[{"#":"block_0","args":[],"ops":[
{"#":"p","A":[0,1,1,"fc.w"],"O":{"%":1,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[2,2],"NCHW",[],0]}},"OA":[1,0,1]},
{"#":"p","A":[0,1,1,"fc.b"],"O":{"%":2,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[2],"NCHW",[],0]}},"OA":[1,0,1]},
{"#":"1.data","A":[{"AT":{"#":"0.a_str","D":"x"},"N":"name"},{"AT":{"#":"1.a_intarray","D":[-1,2]},"N":"shape"}],"I":[],"O":[{"%":3,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2],"NCHW",[],0]}}],"OA":[]},
{"#":"1.matmul","A":[{"AT":{"#":"0.a_bool","D":false},"N":"transpose_x"},{"AT":{"#":"0.a_bool","D":true},"N":"transpose_y"}],"I":[{"%":3},{"%":1}],"O":[{"%":4,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2],"NCHW",[],0]}}]},
{"#":"1.add","A":[],"I":[{"%":4},{"%":2}],"O":[{"%":5,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2],"NCHW",[],0]}}]},
{"#":"1.full","A":[{"AT":{"#":"1.a_intarray","D":[1]},"N":"shape"},{"AT":{"#":"1.a_scalar","D":["float32",2.0]},"N":"value"},{"AT":{"#":"1.a_dtype","D":"float32"},"N":"dtype"},{"AT":{"#":"1.a_place","D":[1,0,""]},"N":"place"}],"I":[],"O":[{"%":6,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[1],"NCHW",[],0]}}]},
{"#":"1.scale_","A":[{"AT":{"#":"0.a_f32","D":0.0},"N":"bias"},{"AT":{"#":"0.a_bool","D":true},"N":"bias_after_scale"}],"I":[{"%":5},{"%":6}],"O":[{"%":7,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2],"NCHW",[],0]}}]},
{"#":"1.full_int_array","A":[{"AT":{"#":"0.a_array","D":[{"#":"0.a_i64","D":0},{"#":"0.a_i64","D":2},{"#":"0.a_i64","D":1}]},"N":"value"},{"AT":{"#":"1.a_dtype","D":"int64"},"N":"dtype"}],"I":[],"O":[{"%":8,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_i64"},[3],"NCHW",[],0]}}]},
{"#":"1.reshape","A":[],"I":[{"%":7},{"%":8}],"O":[{"%":9,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2,1],"NCHW",[],0]}},{"%":0,"TT":{"#":"NULL"}}]},
{"#":"1.full","A":[{"AT":{"#":"1.a_intarray","D":[1]},"N":"shape"},{"AT":{"#":"0.a_f64","D":1.0},"N":"value"},{"AT":{"#":"1.a_dtype","D":"int32"},"N":"dtype"}],"I":[],"O":[{"%":10,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_i32"},[1],"NCHW",[],0]}}]},
{"#":"1.split_with_num","A":[{"AT":{"#":"0.a_i32","D":2},"N":"num"}],"I":[{"%":9},{"%":10}],"O":[{"%":11,"TT":{"#":"0.t_vec","D":[{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1,1],"NCHW",[],0]},{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1,1],"NCHW",[],0]}]}}]},
{"#":"0.split","A":[],"I":[{"%":11}],"O":[{"%":12,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1,1],"NCHW",[],0]}},{"%":13,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1,1],"NCHW",[],0]}}]},
{"#":"1.transpose","A":[{"AT":{"#":"0.a_array","D":[{"#":"0.a_i32","D":0},{"#":"0.a_i32","D":2},{"#":"0.a_i32","D":1}]},"N":"perm"}],"I":[{"%":12}],"O":[{"%":14,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,1,1],"NCHW",[],0]}}]},
{"#":"0.combine","A":[],"I":[{"%":13},{"%":14}],"O":[{"%":15,"TT":{"#":"0.t_vec","D":[]}}]},
{"#":"1.concat","A":[],"I":[{"%":15},{"%":10}],"O":[{"%":16,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2,1],"NCHW",[],0]}}]},
{"#":"1.fetch","A":[{"AT":{"#":"0.a_str","D":"fetch_name_0"},"N":"name"},{"AT":{"#":"0.a_i32","D":0},"N":"col"}],"I":[{"%":16}],"O":[{"%":17,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_f32"},[-1,2,1],"NCHW",[],0]}}]}
]}]}]}}`

// pirParams are those of pir, in the order of names.
func pirParams() []byte {
	return append(parameterBytes(f32([]int{2}, 10, 20)), parameterBytes(counting(2, 2))...)
}

func TestPIR(t *testing.T) {
	x := operands{"x": f32([]int{1, 2}, 1, 1)}
	for _, text := range []string{pir, strings.ReplaceAll(pir, `{"%":`, `{"#":`)} { // older files have one name for all numbers
		text = strings.ReplaceAll(text, `"O":{"#":`, `"O":{"%":`)
		m, err := Read([]byte(text), pirParams())
		if err != nil {
			t.Fatal(err)
		}
		if m.Graph.Inputs[0].Name != "x" || m.Graph.Outputs[0].Name != "fetch_name_0" || m.Graph.Inputs[0].Dims[0].Param != "batch" {
			t.Errorf("%v %v", m.Graph.Inputs, m.Graph.Outputs)
		}
		evaluated(t, m, x, []int{1, 2, 1}, []float64{2 * (7 + 20), 2 * (3 + 10)}, 0)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`"1.add"`, `"1.adds"`, `1 unsupported operator: adds`},
		{`"1.add"`, `"9.add"`, `1 unsupported operator: 9.add`},
		{`"I":[{"%":4},{"%":2}]`, `"I":[{"%":4},{"%":99}]`, "the value 99"},
		{`"transpose_x"`, `"wave"`, `attribute "wave"`},
		{`"fc.b"`, `7`, "a parameter without a name"},
		{`"magic":"pir"`, `"magic":"x"`, "not one of PIR"},
		{`"1.fetch"`, `"1.relu"`, "fetches nothing"},
		{`[2],"NCHW",[],0]}},"OA"`, `[3],"NCHW",[],0]}},"OA"`, ""},
		{`"#":"0.split","A":[]`, `"#":"0.split","A":[{"AT":{"#":"0.a_i32","D":5},"N":"index"}]`, "more than the list has"},
	} {
		m, err := Read([]byte(strings.Replace(pir, c.old, c.new, 1)), pirParams())
		if err == nil {
			_, err = frontend.Import(m, frontend.Options{})
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	good := pirParams()
	for n := range good {
		if _, err := Read([]byte(pir), good[:n]); err == nil {
			t.Errorf("%d bytes of %d are enough", n, len(good))
		}
	}
	if _, err := Read([]byte(pir), append(good, 0)); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Error(err)
	}
}

// Parameters are one file of the program's name, one named __params__, or one each in the folder; without any the program can be looked at.
func TestCompanions(t *testing.T) {
	data := operands{"x": counting(1, 2), "W": counting(2, 1), "V": counting(1)}
	program, params := written("fc", s("Input", "x", "W", "W", "Bias", "V"), data, attrs{"in_num_col_dims": 1}, s("Out", "y"))
	one := func(name string) []byte { return parameterBytes(data[name]) }
	for _, c := range []struct {
		name  string
		files map[string][]byte
		open  string
		want  int // files of parameters
	}{
		{"beside", map[string][]byte{"net.pdmodel": program, "net.pdiparams": params}, "net.pdmodel", 1},
		{"joined", map[string][]byte{"__model__": program, "__params__": params}, "", 1},
		{"single", map[string][]byte{"__model__": program, "V": one("V"), "W": one("W")}, "", 2},
		{"file", map[string][]byte{"__model__": program, "V": one("V"), "W": one("W")}, "__model__", 2},
		{"none", map[string][]byte{"net.pdmodel": program}, "net.pdmodel", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, c.open)
			m, err := Format.Open(path, frontend.Weights{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if len(m.Files()) != c.want {
				t.Errorf("files %v", m.Files())
			}
			if c.want == 0 {
				if m.Err == nil || !strings.Contains(m.Err.Error(), "no file net.pdiparams beside it") {
					t.Error(m.Err)
				}
				if m, err = Format.Open(path, frontend.Weights{MadeUp: true}); err != nil {
					t.Fatal(err)
				}
				if _, err := frontend.Import(m, frontend.Options{}); err != nil {
					t.Error(err)
				}
				return
			}
			evaluated(t, m, data, []int{1, 1}, []float64{6}, 0)
		})
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "__model__"), program, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Format.Open(dir, frontend.Weights{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	evil, _ := written("relu", s("X", "X/../../secret"), operands{"X/../../secret": counting(1)}, nil, s("Out", "y"))
	if err := os.WriteFile(filepath.Join(dir, "__model__"), evil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Format.Open(dir, frontend.Weights{}); err == nil || !strings.Contains(err.Error(), "no file in the folder") {
		t.Error(err)
	}
}

func TestIdentify(t *testing.T) {
	program, params := written("relu", s("X", "x"), operands{"x": counting(1)}, nil, s("Out", "y"))
	for _, c := range []struct {
		head []byte
		want bool
	}{{program, true}, {[]byte(pir), true}, {params, false}, {[]byte(`{"nodes": [{"op": "null"}]}`), false}, {[]byte{}, false}} {
		if Format.Identify(c.head, "") != c.want {
			t.Errorf("%.20q: %v", c.head, !c.want)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, c := range rowTests {
		program, params := written(c.op, c.in, c.data, c.attrs, c.out)
		f.Add(program, params)
	}
	f.Fuzz(func(t *testing.T, program, params []byte) { imports(program, params) })
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(pir), pirParams())
	f.Fuzz(func(t *testing.T, program, params []byte) { imports(program, params) })
}

func imports(program, params []byte) {
	if m, err := Read(program, append([]byte{}, params...)); err == nil {
		frontend.Import(m, frontend.Options{})
	}
}

// Element types go back and forth.
func TestDTypes(t *testing.T) {
	for number, d := range dtypes {
		x := tensor.New(d, 2)
		c := &cursor.Cursor{Rest: parameterBytes(x)}
		y, err := tensorOf(c)
		if err != nil || !y.Type().Equal(types.Of(d, 2)) {
			t.Errorf("%d: %v (%v)", number, y, err)
		}
	}
}
