// Lathe-codegen-arith is an external code generator: it computes chains of arithmetic on float32 tensors of one shape in one loop, which it
// writes as LLVM's assembly language, for target c as C, or, with -form=program, as what the run-time module of module/arith.c reads.
// docs/codegen.md says what the lines are that it reads and writes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

type request struct {
	Request, Graph, Symbol, Folder, Target string
	Options                                map[string]string
}

type claim struct {
	Nodes []string `json:"nodes"`
}

type refusal struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return // lathe is done
		}
		var q request
		var answer any
		if err = json.Unmarshal(line, &q); err == nil {
			answer, err = answerTo(q)
		}
		if err != nil {
			answer = map[string]any{"error": map[string]string{"cause": err.Error()}}
		}
		if err := out.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answerTo(q request) (any, error) {
	if q.Request == "hello" {
		form := map[string]string{"name": "form", "type": "text", "doc": "ir, program, or, for target c, c"}
		return map[string]any{"protocol": 1, "name": "arith", "doc": "chains of arithmetic, as LLVM text", "options": []any{form}}, nil
	}
	m, err := readModel(q.Graph)
	if err != nil {
		return nil, err
	}
	switch q.Request {
	case "claim":
		claims, refused := []claim{{Nodes: []string{}}}, []refusal{}
		for _, n := range m.nodes {
			if why := m.refuses(n); why != "" {
				refused = append(refused, refusal{n.name, why})
			} else {
				claims[0].Nodes = append(claims[0].Nodes, n.name)
			}
		}
		return map[string]any{"claims": claims, "refused": refused}, nil
	case "compile":
		return m.compile(q)
	}
	return nil, fmt.Errorf("there is no request %q", q.Request)
}

// compile writes the region into a file of the folder.
func (m *model) compile(q request) (any, error) {
	form := q.Options["form"]
	if form == "" {
		form = "ir"
		if q.Target == "c" {
			form = "c"
		}
	}
	switch form {
	case "ir":
		text, err := m.generate(q.Symbol)
		if err != nil {
			return nil, err
		}
		return map[string]string{"kind": "ir", "file": "region.ll"}, os.WriteFile(filepath.Join(q.Folder, "region.ll"), []byte(text), 0o600)
	case "program":
		b, err := m.program()
		if err != nil {
			return nil, err
		}
		return map[string]string{"kind": "blob", "file": "region.bin", "runtime": "arith"}, os.WriteFile(filepath.Join(q.Folder, "region.bin"), b, 0o600)
	case "c":
		text, err := m.source(q.Symbol)
		if err != nil {
			return nil, err
		}
		return map[string]string{"kind": "c", "file": "region.c"}, os.WriteFile(filepath.Join(q.Folder, "region.c"), []byte(text), 0o600)
	default:
		return nil, fmt.Errorf("there is no form %q", form)
	}
}
