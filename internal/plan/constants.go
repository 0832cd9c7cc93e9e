package plan

import (
	"bytes"
	"hash/maphash"

	"lathe/internal/graph"
)

// constants are those that steps read. Equal ones are one: a run reads weights that several nodes share from a cache after the first of
// them, and a package holds them once.
type constants struct {
	list  []*graph.Value       // in the order of first use
	index map[*graph.Value]int // in the list, also of those that are equal to one in it
}

// constantsOf lists the constants that steps and the bodies of loops read.
func constantsOf(steps []Step) *constants {
	c := &constants{index: map[*graph.Value]int{}}
	alike := map[uint64][]*candidate{}
	seed := maphash.MakeSeed()
	var collect func(steps []Step)
	collect = func(steps []Step) {
		for _, s := range steps {
			for _, v := range s.In {
				if _, known := c.index[v]; v.IsConst() && !known {
					c.add(v, alike, seed)
				}
			}
			for _, b := range s.Bodies {
				collect(b.Steps)
			}
		}
	}
	collect(steps)
	return c
}

// A candidate is a constant that others may be equal to.
type candidate struct {
	value  *graph.Value
	index  int
	hashed bool
	hash   uint64 // of all elements of what it is made of, where hashed
}

func (a *candidate) sum(seed maphash.Seed) uint64 {
	if !a.hashed {
		of, _ := a.value.Const.Origin()
		a.hashed, a.hash = true, maphash.Bytes(seed, of.Bytes())
	}
	return a.hash
}

// add gives v a place in the list, or that of an equal one, or of one that is made of equal ones in the same way. Elements are compared where types
// and a few of the elements are the same, and each constant's are read no more than twice for that: most weights are equal to no others, and may
// lie in a file that nobody has read yet.
func (c *constants) add(v *graph.Value, alike map[uint64][]*candidate, seed maphash.Seed) {
	of, how := v.Const.Origin()
	data := of.Bytes()
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(v.Type.String())
	h.WriteString(how)
	for i := range samples {
		at := i * len(data) / samples
		h.Write(data[at:min(at+sampleBytes, len(data))])
	}
	key := h.Sum64()
	n := &candidate{value: v, index: len(c.list)}
	for _, o := range alike[key] {
		other, way := o.value.Const.Origin()
		if !v.Type.Equal(o.value.Type) || how != way || len(data) != other.Size() {
			continue
		}
		if of == other || n.sum(seed) == o.sum(seed) && bytes.Equal(data, other.Bytes()) {
			c.index[v] = o.index
			return
		}
	}
	alike[key] = append(alike[key], n)
	c.index[v] = n.index
	c.list = append(c.list, v)
}

// What is looked at of every constant: so many pieces of so many bytes. Chosen: two constants that differ seldom agree in all of them.
const (
	samples     = 16
	sampleBytes = 64
)
