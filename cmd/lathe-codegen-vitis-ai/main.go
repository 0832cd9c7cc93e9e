// Lathe-codegen-vitis-ai compiles regions for DPUs by AMD's compiler: lathe hands it quantised .xmodel files, and it runs vai_c_xir of Vitis AI
// on them. docs/codegen.md says what the lines are that it reads and writes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compiler is AMD's, in PATH.
const compiler = "vai_c_xir"

type request struct {
	Request, Graph, Symbol, Folder string
	Options                        map[string]string
}

// A cause is an error with what to do about it.
type cause struct {
	error
	fix string
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
			said := map[string]string{"cause": err.Error()}
			var c cause
			if errors.As(err, &c) {
				said["fix"] = c.fix
			}
			answer = map[string]any{"error": said}
		}
		if err := out.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answerTo(q request) (any, error) {
	switch q.Request {
	case "hello":
		return map[string]any{"protocol": 1, "name": "vitis-ai", "doc": "regions for DPUs, by AMD's vai_c_xir"}, nil
	case "compile":
		return compile(q)
	}
	return nil, fmt.Errorf("it answers no request %q: what a DPU takes lathe knows itself", q.Request)
}

// compile has vai_c_xir write SYMBOL.xmodel into the folder.
func compile(q request) (any, error) {
	path, err := exec.LookPath(compiler)
	if err != nil {
		return nil, cause{fmt.Errorf("%s is not in PATH", compiler), "it is part of AMD's Vitis AI, in its container by 'conda activate vitis-ai-pytorch'"}
	}
	arch, err := archFile(q)
	if err != nil {
		return nil, err
	}
	said, err := exec.Command(path, "-x", q.Graph, "-a", arch, "-o", q.Folder, "-n", q.Symbol).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		return nil, fmt.Errorf("%s: %w: %s", compiler, err, lines[len(lines)-1])
	}
	return map[string]string{"kind": "blob", "file": q.Symbol + ".xmodel", "runtime": "vitis-ai"}, nil
}

// archFile is the board's arch.json, or one with the fingerprint of the DPU.
func archFile(q request) (string, error) {
	if given := q.Options["arch"]; given != "" {
		path, err := filepath.Abs(given)
		if err != nil {
			return "", err
		}
		_, err = os.Stat(path)
		return path, err
	}
	print := q.Options["fingerprint"]
	if print == "" {
		return "", cause{fmt.Errorf("the fingerprint of %s is not known", q.Options["dpu"]), "-arch=arch.json names the board's file"}
	}
	text, err := json.Marshal(map[string]string{"fingerprint": print})
	if err != nil {
		return "", err
	}
	path := filepath.Join(q.Folder, "arch.json")
	return path, os.WriteFile(path, text, 0o600)
}
