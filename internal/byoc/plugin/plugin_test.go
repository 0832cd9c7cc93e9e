package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// modeVariable makes the test program a generator that behaves as its value says.
const modeVariable = "LATHE_TEST_GENERATOR"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeVariable); mode != "" {
		generate(mode)
		return
	}
	os.Exit(m.Run())
}

// generate is a generator: modes are "WHERE ANSWER", the answer that it gives to the request WHERE, or what it does in its place.
func generate(mode string) {
	where, answer, _ := strings.Cut(mode, " ")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			fmt.Println(`{"error":{"cause":"no JSON"}}`)
			continue
		}
		if q.Request != where {
			usual := map[string]string{
				"hello": `{"protocol":1,"name":"test","doc":"a test","options":[{"name":"fast","type":"switch"}]}`,
				"claim": `{"claims":[{"nodes":["1 tanh"]},{"composite":"pair","nodes":["2 exp","3 abs"]}],"refused":[{"node":"0 add","reason":"no sums"}]}`,
			}[q.Request]
			if q.Request == "compile" {
				os.WriteFile(filepath.Join(q.Folder, "out.bin"), []byte(q.Symbol+" "+q.Options["fast"]+" "+q.Target), 0o600)
				usual = `{"kind":"blob","file":"out.bin","runtime":"test","cycles":7,"when_faster":true,"notes":["a  note"]}`
			}
			fmt.Println(usual)
			continue
		}
		switch answer {
		case "die":
			fmt.Fprintln(os.Stderr, "out of\nlicences")
			os.Exit(3)
		case "hang":
			time.Sleep(time.Hour)
		case "flood":
			chunk := strings.Repeat("x", 1<<20)
			for range 1 << 10 {
				if _, err := fmt.Print(chunk); err != nil {
					os.Exit(1)
				}
			}
		case "huge":
			os.WriteFile(filepath.Join(q.Folder, "huge"), nil, 0o600)
			os.Truncate(filepath.Join(q.Folder, "huge"), mostBytes+1) // without a block on the disk
			fmt.Println(`{"kind":"blob","file":"huge","runtime":"test"}`)
		case "link":
			os.Symlink("/etc/passwd", filepath.Join(q.Folder, "link"))
			fmt.Println(`{"kind":"blob","file":"link","runtime":"test"}`)
		default:
			fmt.Println(answer)
		}
	}
}

// testProgram is the program as a generator.
func testProgram(t *testing.T, mode string) program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), FileName("test"))
	syscall.ForkLock.RLock() // a process that is started meanwhile would hold the file open, which Linux then does not start
	err = os.WriteFile(path, []byte("#!/bin/sh\n"+modeVariable+"='"+mode+"' exec '"+self+"'\n"), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return program{path, 10 * time.Second, 10 * time.Second}
}

const network = `graph main(%x: float32[4]) {
	%0 = add(%x, %x) %1 = tanh(%0) %2 = exp(%1) origin "exp" %y = abs(%2) origin "abs" return %y }`

func testGraph(t testing.TB) *graph.Graph {
	t.Helper()
	g, err := graph.Parse(network, ops.Lookup, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// through greets a program, has it claim and compile.
func through(t *testing.T, p program) (c *byoc.Codegen, claims byoc.Claims, m byoc.Module, err error) {
	t.Helper()
	if c, err = open(t.Context(), "test", p); err != nil {
		return
	}
	o := byoc.Options{{Name: "fast", Value: "1"}}
	if claims, err = c.Claim(t.Context(), testGraph(t), o); err != nil {
		return
	}
	m, err = c.Compile(t.Context(), byoc.Region{Symbol: "tvmgen_0", Graph: testGraph(t)}, o)
	return
}

// TestProgram: what a program says arrives.
func TestProgram(t *testing.T) {
	c, claims, m, err := through(t, testProgram(t, "nothing"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "test" || c.Doc != "a test" || len(c.Options) != 1 || c.Options[0].Name != "fast" {
		t.Errorf("%+v", c)
	}
	if len(claims.Taken) != 2 || claims.Taken[0].Members[0].Op != ops.Tanh || claims.Taken[1].Name != "pair" || len(claims.Taken[1].Members) != 2 || len(claims.Refused) != 1 {
		t.Errorf("%+v", claims)
	}
	if m.Kind != byoc.Blob || string(m.Bytes) != "tvmgen_0 1 " || m.Runtime != "test" || m.Cycles != 7 || !m.WhenFaster || m.Notes[0] != "a note" {
		t.Errorf("%+v %q", m, m.Bytes)
	}
}

// TestBadPrograms: programs that lie, die, are silent or talk too much end with one line that says which and why.
func TestBadPrograms(t *testing.T) {
	for _, c := range []struct{ mode, want string }{
		{`hello {"protocol":2,"name":"test"}`, "it speaks version 2 of the protocol, and this lathe version 1"},
		{`hello {"protocol":1,"name":"other"}`, `it says that its name is "other"`},
		{`hello {"protocol":1,"name":"test","options":[{"name":"A b"}]}`, `an option "A b"`},
		{`hello {"protocol":1,"name":"test","options":[{"name":"a","type":"tensor"}]}`, `an option "a" of type "tensor"`},
		{`hello {"error":{"cause":"no licence","fix":"buy one"}}`, "no licence (buy one)"},
		{`hello 7`, "is not the JSON that is wanted"},
		{`hello die`, `it ended without an answer to "hello": licences`},
		{`hello hang`, `no answer to "hello" within`},
		{`claim die`, `it ended without an answer to "claim": licences`},
		{`claim hang`, `no answer to "claim" within`},
		{`claim flood`, `longer than 64 MiB`},
		{`claim {"claims":[{"nodes":["9 tanh"]}]}`, `there is no node "9 tanh"`},
		{`claim {"claims":[{"nodes":["tanh"]}]}`, `there is no node "tanh"`},
		{`claim {"claims":[{"nodes":["-1 tanh"]}]}`, `there is no node "-1 tanh"`},
		{`claim {"claims":[{"nodes":["1 tanh"]},{"nodes":["1 tanh"]}]}`, `it claims "1 tanh" twice`},
		{`claim {"claims":[{"composite":"a b","nodes":["1 tanh"]}]}`, `a composite cannot be called "a b"`},
		{`claim {"refused":[{"node":"x","reason":"y"}]}`, `there is no node "x"`},
		{`compile {"kind":"magic","file":"out.bin","runtime":"test"}`, `a module of kind "magic"`},
		{`compile {"kind":"blob","file":"../../etc/passwd","runtime":"test"}`, `"../../etc/passwd" is no file of the folder`},
		{`compile {"kind":"blob","file":"none","runtime":"test"}`, `it did not write none`},
		{`compile {"kind":"blob","file":"out.bin","runtime":"../x"}`, `a run-time module cannot be called "../x"`},
		{`compile {"kind":"blob","file":"out.bin","runtime":"test","cycles":-1}`, `-1 cycles`},
		{`compile {"error":{"node":"1 tanh","cause":"too\nlarge"}}`, `node "1 tanh": too large`},
		{`compile link`, `link is no file with`},
		{`compile huge`, `huge is no file with 1 byte to 4 GiB`},
		{`compile hang`, `no answer to "compile" within`},
		{`compile flood`, `longer than 64 MiB`},
		{`compile die`, `it ended without an answer to "compile": licences`},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			p := testProgram(t, c.mode)
			if strings.HasSuffix(c.mode, "hang") {
				p.hello, p.work = 300*time.Millisecond, 300*time.Millisecond
				if !strings.HasPrefix(c.mode, "hello") {
					p.hello = 10 * time.Second
				}
			}
			_, _, _, err := through(t, p)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v instead of %s", err, c.want)
			}
		})
	}
}

// TestEnd: a context that ends, ends the program.
func TestEnd(t *testing.T) {
	c, err := open(t.Context(), "test", testProgram(t, "claim hang"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Claim(ctx, testGraph(t), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestFind: programs are found in the folders of LATHE_PLUGINS and of PATH, and only those that can be executed.
func TestFind(t *testing.T) {
	p := testProgram(t, "nothing")
	t.Setenv("PATH", "/usr/bin:/bin")
	t.Setenv(FoldersVariable, "/nowhere:"+filepath.Dir(p.path))
	if c, err := Find("test"); err != nil || c == nil || c.Name != "test" {
		t.Errorf("%v %v", c, err)
	}
	for _, name := range []string{"other", "../test", ""} {
		if c, err := Find(name); err != nil || c != nil {
			t.Errorf("%q: %v %v", name, c, err)
		}
	}
	t.Setenv(FoldersVariable, "")
	t.Setenv("PATH", "/usr/bin:/bin:"+filepath.Dir(p.path))
	if c, err := Find("test"); err != nil || c == nil {
		t.Errorf("in PATH: %v %v", c, err)
	}
	if err := os.Chmod(p.path, 0o644); err != nil {
		t.Fatal(err)
	}
	if c, _ := Find("test"); c != nil {
		t.Error("a file that cannot be executed is a program")
	}
}

// FuzzAnswers: no answer of a program is more than an error.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"claims":[{"composite":"pair","nodes":["2 exp","3 abs"]}],"refused":[{"node":"0 add","reason":"no sums"}]}`))
	f.Add([]byte(`{"kind":"blob","file":"out.bin","runtime":"test","cycles":7}`))
	f.Add([]byte(`{"protocol":1,"name":"test","options":[{"name":"fast","type":"switch"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g := testGraph(t)
		var a claims
		if json.Unmarshal(b, &a) == nil && a.err() == nil {
			if c, err := a.nodes(g); err == nil {
				for _, one := range c.Taken {
					for _, n := range one.Members {
						if n == nil {
							t.Fatal("no node is taken")
						}
					}
				}
			}
		}
		var h hello
		if json.Unmarshal(b, &h) == nil {
			(&generator{name: "test"}).codegen(h)
		}
		var m compiled
		if json.Unmarshal(b, &m) == nil && m.err() == nil {
			m.module(t.TempDir())
		}
	})
}
