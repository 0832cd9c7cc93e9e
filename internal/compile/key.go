package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/records"
	"lathe/internal/target"
)

// Rules is the version of the rules that schedule kernels. It counts changes by which a point of an older version means
// something else, or by which the values of a decision differ: records of other versions are not taken.
const Rules = 1

// kernelKey is the digest by which records know a kernel: of its group, and of the results that it computes.
func kernelKey(group string, outs []int) string {
	return digest(fmt.Sprintf("rules %d; results %v; %s", Rules, outs, group))
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// recordKey is what records of k's kernel are found by, without the number of workers.
func recordKey(k *kernel, t *target.Target) records.Key {
	return records.Key{Kernel: k.key, Anchor: anchorKey(k.Node), Target: targetKey(t), Class: classKey(t)}
}

// anchorKey is the digest of the operator that gives a group its name, with its attributes and logical types: neighbours, whose
// layouts or epilogues may differ, have it too.
func anchorKey(n *graph.Node) string {
	m := anchorOf(n)
	if m == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", m.Op.Name, graph.AttrsText(m.Attrs))
	for _, list := range [][]*graph.Value{m.In, m.Out} {
		b.WriteString(";")
		for _, v := range list {
			fmt.Fprintf(&b, " %s%v", v.Type.DType, v.Type.Shape)
		}
	}
	return digest(b.String())
}

// anchorOf is the operator of a group with which the others are fused; nil for a region.
func anchorOf(n *graph.Node) (anchor *graph.Node) {
	if len(n.Sub) != 1 || n.IsRegion() {
		return nil
	}
	for _, m := range n.Sub[0].Nodes {
		if anchor == nil || m.Op.Fusion > anchor.Op.Fusion {
			anchor = m
		}
	}
	return anchor
}

// targetKey is what of a target decides which code can be made: architecture, features and width of vectors.
func targetKey(t *target.Target) string {
	return fmt.Sprintf("%s %d %s", t.Arch, t.VectorBits, strings.Join(t.Features, ","))
}

// classKey is what of a machine decides which code is fast, rounded so that equal machines share records: caches to powers of
// two, numbers of a core to steps of a quarter.
func classKey(t *target.Target) string {
	words := []string{"l1=" + power(t.L1), "l2=" + power(t.L2), "l3=" + power(t.L3)}
	for _, name := range target.Facts() {
		if n := t.Fact(name); n > 0 && !slices.Contains(target.Shared(), name) {
			step := math.Pow(1.25, math.Round(math.Log(float64(n))/math.Log(1.25)))
			words = append(words, fmt.Sprintf("%s=%.0f", name, step))
		}
	}
	return strings.Join(words, " ")
}

// power is n rounded to a power of two.
func power(n int) string {
	if n <= 0 {
		return "0"
	}
	return strconv.Itoa(1 << (bits.Len(uint(n)+uint(n)/2) - 1))
}
