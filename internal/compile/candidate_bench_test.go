package compile

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lathe/internal/choice"
	"lathe/internal/frontend/onnx"
	"lathe/internal/target"
	"lathe/internal/toolchain"
)

// BenchmarkCandidate takes random points of the kernels of a network of LATHE_ZOO, which LATHE_BENCH names, one after the other: to LLVM's
// text, and all the way to a library. It is what a trial costs beside measuring.
func BenchmarkCandidate(b *testing.B) {
	name := os.Getenv("LATHE_BENCH")
	if name == "" {
		name = "resnet50"
	}
	m, err := onnx.ReadFile(filepath.Join(os.Getenv("LATHE_ZOO"), name+".onnx"))
	if err != nil {
		b.Skip(err)
	}
	g, err := onnx.Import(m, onnx.Options{})
	if err != nil {
		b.Fatal(err)
	}
	spec, err := target.Parse("llvm")
	if err != nil {
		b.Fatal(err)
	}
	t, err := spec.Resolve(toolchain.Host)
	if err != nil {
		b.Fatal(err)
	}
	s, err := OpenSession(context.Background(), g, Options{Target: t, Level: 3, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	points := randomPoints(b, s, 4)
	for _, to := range []struct {
		name string
		do   func(task int, p choice.Point) error
	}{
		{"text", func(task int, p choice.Point) error { _, _, err := s.code(s.tasks[task], p); return err }},
		{"library", func(task int, p choice.Point) error {
			s.tasks[task].translated = nil
			_, err := s.Build(task, p)
			return err
		}},
	} {
		b.Run(to.name, func(b *testing.B) {
			before := processorTime()
			for n := range b.N {
				p := points[n%len(points)]
				if err := to.do(p.task, p.Point); err != nil && !errors.Is(err, ErrPoint) {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processorTime()-before).Seconds()*1e3/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is what this process has used: other programs hardly enter.
func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type pointOf struct {
	task int
	choice.Point
}

// randomPoints are n points of each task, in any order.
func randomPoints(b *testing.B, s *Session, n int) (list []pointOf) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, t := range s.tasks {
		_, f, err := s.code(t, nil)
		if err != nil {
			b.Fatal(err)
		}
		asked := slices.DeleteFunc(slices.Clone(f.plan.Asked), func(d choice.Decision) bool { return len(d.Values) < 2 })
		for range n {
			p := choice.Point{}
			for range min(2, len(asked)) {
				d := asked[r.IntN(len(asked))]
				p[d.Name] = d.Values[r.IntN(len(d.Values))].Text
			}
			list = append(list, pointOf{i, p})
		}
	}
	r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}
