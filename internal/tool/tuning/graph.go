package tuning

import (
	"fmt"

	"lathe/internal/tool/spelling"
	"lathe/internal/tune"
)

// A Graph is what became of decisions on the graph, before there were kernels.
type Graph struct {
	Accepted bool
	Earlier  bool // it stands in records of an earlier run
	Verdict  tune.Estimate
	Decided  []GraphDecision // what the verdict is of
	Trials   []GraphTrial
}

// A GraphDecision is one on a node, or on AllOfIt.
type GraphDecision struct{ Node, Decision, Value string }

// AllOfIt stands where the name of a node would.
const AllOfIt = "all of the network"

// A GraphTrial is a network with one decision taken otherwise, alike for equal nodes.
type GraphTrial struct {
	Nodes                 []string // none: of all of the network
	Decision, From, Value string
	Ratio                 float64 // of its time over that of the network as the compiler decides
	Fault                 string  // why there is no time; "": there is
}

// Words say in a sentence how it ended.
func (g *Graph) Words() string {
	v := g.Verdict
	v.Pairs = max(1, v.Pairs) // records do not have it
	switch {
	case g.Accepted && g.Earlier:
		return fmt.Sprintf("An earlier run has decided: the network was %s times as fast with these decisions. The kernels below are of that network.", times(v))
	case g.Accepted:
		return fmt.Sprintf("The network is %s times as fast with these decisions, raced whole in %s. The kernels below are of that network.", times(g.Verdict), spelling.Count(g.Verdict.Pairs, "fresh opening"))
	case len(g.Decided) > 0:
		return "Nothing is accepted: the network with the best decisions together was not surely faster than as the compiler decides."
	}
	return "Nothing is accepted: no decision made the network faster than as the compiler decides."
}

// Gain is how many times as fast the network is with the decision; 0: unknown.
func (t GraphTrial) Gain() float64 {
	if t.Fault != "" || !(t.Ratio > 0) {
		return 0
	}
	return 1 / t.Ratio
}

// Where are the nodes, of many the first.
func (t GraphTrial) Where() string {
	switch n := len(t.Nodes); n {
	case 0:
		return AllOfIt
	case 1:
		return t.Nodes[0]
	default:
		return fmt.Sprintf("%s and %d more", t.Nodes[0], n-1)
	}
}
