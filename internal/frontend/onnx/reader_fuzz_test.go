package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bounded runs f on input of so many bytes and checks what it allocates, garbage included, and how long it takes.
func bounded(t *testing.T, size int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	used, limit := after.TotalAlloc-before.TotalAlloc, uint64(min(32*size+1<<20, 8*size+16<<20))
	if used > limit {
		t.Errorf("%d bytes of input take %d bytes of memory, more than %d", size, used, limit)
	}
	if limit := 5*time.Second + time.Duration(size)*10*time.Microsecond; took > limit {
		t.Errorf("%d bytes of input take %v", size, took)
	}
}

func FuzzRead(f *testing.F) {
	official, err := os.ReadFile(filepath.Join("testdata", "reader", "official.onnx"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(official)
	f.Add([]byte(wireModel(wireGraph("x", "c", wireNodes("C b -> c", "B a -> b", "A x -> a")))))
	f.Add([]byte(wireModel(wireGraph("x", "y", wireNodes("f.B x -> y")), wireFunction("B", "x", "y", wireNodes("f.A x -> t", "f.A t -> y")),
		wireFunction("A", "x", "y", wireNodes("Op x -> y")))))
	f.Add([]byte(wireExternal("location", "../w", "offset", "1")))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *Model
		bounded(t, len(data), func() { m, err = Read(data, dir) })
		if err != nil {
			return
		}
		defer m.Close()
		m.Graph.RealInputs()
		if expand(m, 4<<20) != nil {
			return
		}
		if err := check(m, newRoom(8<<20)); err != nil && !strings.Contains(err.Error(), "opset_import") {
			t.Errorf("after expansion: %v", err)
		}
	})
}

func FuzzTensor(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "reader", "tensors", "*.pb"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tensor *Tensor
		var err error
		bounded(t, len(data), func() { tensor, err = ReadTensor(data) })
		if err == nil && len(tensor.Data) != tensor.size() {
			t.Errorf("%s%v has %d bytes", tensor.DType, tensor.Dims, len(tensor.Data))
		}
	})
}

// TestMemoryBound reads files that consist of one thing over and over: of each kind of part the smallest there is.
func TestMemoryBound(t *testing.T) {
	const n = 300_000
	many := func(part pb) pb { return []byte(strings.Repeat(string(part), n)) }
	distinct := func(f func(i int) pb) pb {
		parts := make([]pb, n)
		for i := range parts {
			parts[i] = f(i)
		}
		return wireJoin(parts...)
	}
	inAttr := func(t AttrType, values pb) pb {
		return wireModel(wireGraph("", "y", pb{}.sub(1, wireNode("Op -> y", wireJoin(wireAttr("a", t), values)))))
	}
	for _, c := range []struct {
		name string
		data pb
	}{
		{"nodes", wireModel(wireGraph("", "", many(wireNodes("A"))))},
		{"chained nodes", wireModel(wireGraph("v0", "", distinct(func(i int) pb { return wireNodes(fmt.Sprintf("A v%d -> v%d", i, i+1)) })))},
		{"reversed nodes", wireModel(wireGraph("v300000", "", distinct(func(i int) pb { return wireNodes(fmt.Sprintf("A v%d -> v%d", i+1, i)) })))},
		{"inputs of a node", wireModel(wireGraph("", "", pb{}.sub(1, wireJoin(pb{}.str(4, "A"), many(pb{}.str(1, ""))))))},
		{"outputs of a node", wireModel(wireGraph("", "", pb{}.sub(1, wireJoin(pb{}.str(4, "A"), distinct(func(i int) pb { return pb{}.str(2, fmt.Sprint(i)) })))))},
		{"attributes", wireModel(wireGraph("", "", pb{}.sub(1, wireJoin(pb{}.str(4, "A"), distinct(func(i int) pb { return pb{}.sub(5, wireAttr(fmt.Sprint(i), AttrInt)) })))))},
		{"nested graphs", wireModel(wireGraph("", "", pb{}.sub(1, wireNode("A -> y", wireJoin(wireAttr("g", AttrGraphs), many(pb{}.sub(11, nil)))))))},
		{"graph nodes", wireModel(wireGraph("", "", many(pb{}.sub(1, wireNode("A", wireAttr("g", AttrGraph).sub(6, nil))))))},
		{"inputs", wireModel(wireGraph("", "", distinct(func(i int) pb { return pb{}.sub(11, pb{}.str(1, fmt.Sprint(i))) })))},
		{"dims", wireModel(wireGraph("", "", pb{}.sub(11, pb{}.str(1, "x").sub(2, pb{}.sub(1, pb{}.sub(2, many(pb{}.sub(1, nil))))))))},
		{"initializers", wireModel(wireGraph("", "", distinct(func(i int) pb { return pb{}.sub(5, wireTensor(fmt.Sprint(i), Float, []int64{0})) })))},
		{"values", wireModel(wireGraph("", "", many(pb{}.sub(13, nil))))},
		{"functions", wireModel(wireGraph("", ""), distinct(func(i int) pb { return pb{}.sub(25, pb{}.str(1, fmt.Sprint(i))) }))},
		{"opsets", wireModel(wireGraph("", ""), distinct(func(i int) pb { return pb{}.sub(8, wireOpset(fmt.Sprint(i), 1)) }))},
		{"metadata", wireModel(wireGraph("", ""), many(pb{}.sub(14, nil)))},
		{"graphs", many(pb{}.sub(7, nil))},
		{"ints", inAttr(AttrInts, many(pb{}.int(8, 1)))},
		{"packed ints", inAttr(AttrInts, pb{}.sub(8, make(pb, n)))},
		{"strings", inAttr(AttrStrings, many(pb{}.str(9, "")))},
		{"tensors", inAttr(AttrTensors, many(pb{}.sub(10, nil)))},
		{"types", inAttr(AttrTypeProtos, many(pb{}.sub(15, nil)))},
		{"external data", wireModel(wireGraph("", "", pb{}.sub(5, wireJoin(wireTensor("w", Float, nil, pb{}.int(14, 1)), many(pb{}.sub(13, nil))))))},
	} {
		t.Run(c.name, func(t *testing.T) {
			bounded(t, len(c.data), func() { Read(c.data, "") })
		})
	}
	for name, data := range map[string]pb{
		"int64_data":  wireTensor("t", Int64, []int64{n}, pb{}.sub(7, make(pb, n))),
		"uint64_data": wireTensor("t", Uint64, []int64{n}, pb{}.sub(11, make(pb, n))),
		"int32_data":  wireTensor("t", Int32, []int64{n}, pb{}.sub(5, make(pb, n))),
		"float_data":  wireTensor("t", Float, []int64{n}, many(pb{}.float(4, 1))),
		"string_data": wireTensor("t", String, []int64{n}, many(pb{}.str(6, ""))),
		"dims":        wireJoin(many(pb{}.int(1, 1)), pb{}.int(2, 1), wireRaw(4)),
	} {
		t.Run(name, func(t *testing.T) {
			bounded(t, len(data), func() { ReadTensor(data) })
		})
	}
}
