package onnx

import (
	"container/heap"
	"fmt"
	"strings"
)

// sortNodes brings nodes into topological order in place, the earlier in the file first where there is a choice.
// Edges to len(nodes) are uses by graph outputs and order nothing.
func sortNodes(nodes []*Node, edges []edge, r *room) error {
	if err := r.take(48*len(nodes) + 4*len(edges)); err != nil {
		return err
	}
	n := len(nodes)
	waits := make([]int32, n+1)
	start := make([]int32, n+2) // users of node i are users[start[i]:start[i+1]]
	for _, e := range edges {
		waits[e.to]++
		start[e.from+2]++
	}
	for i := 2; i < len(start); i++ {
		start[i] += start[i-1]
	}
	users := make([]int32, len(edges))
	for _, e := range edges {
		users[start[e.from+1]] = e.to
		start[e.from+1]++
	}
	ready := make(indexHeap, 0, n)
	for i := range nodes {
		if waits[i] == 0 {
			ready = append(ready, int32(i))
		}
	}
	sorted := make([]*Node, 0, n)
	for len(ready) > 0 {
		i := heap.Pop(&ready).(int32)
		sorted = append(sorted, nodes[i])
		for _, u := range users[start[i]:start[i+1]] {
			if waits[u]--; waits[u] == 0 && int(u) < n {
				heap.Push(&ready, u)
			}
		}
	}
	if len(sorted) < n {
		return cycleError(nodes, edges, waits)
	}
	copy(nodes, sorted)
	return nil
}

// cycleError names the nodes of one cycle. Nodes that still wait lie on a cycle or behind one, so that a walk from
// such a node to nodes it waits for comes round.
func cycleError(nodes []*Node, edges []edge, waits []int32) error {
	before := make([]int32, len(nodes))
	for _, e := range edges {
		if int(e.to) < len(nodes) && waits[e.from] > 0 && waits[e.to] > 0 {
			before[e.to] = e.from
		}
	}
	at := edges[0].to
	for i, w := range waits[:len(nodes)] {
		if w > 0 {
			at = int32(i)
			break
		}
	}
	for range nodes {
		at = before[at]
	}
	labels := []string{nodes[at].Label()}
	for i := before[at]; i != at; i = before[i] {
		if len(labels) == 8 {
			labels = append(labels, "...")
			break
		}
		labels = append(labels, nodes[i].Label())
	}
	return fmt.Errorf("nodes use each other's outputs in a cycle: %s", strings.Join(labels, " <- "))
}

// An indexHeap yields the smallest index first.
type indexHeap []int32

func (h indexHeap) Len() int           { return len(h) }
func (h indexHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h indexHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *indexHeap) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *indexHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
