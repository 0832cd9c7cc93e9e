package hotloops

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	label       = regexp.MustCompile(`^(?:\.L(BB\d+_\d+):|(?:#|//|@) %bb\.\d+:)(?:\s*(?:#|//|@) %(\S+))?`)
	function    = regexp.MustCompile(`^\w\S*:\s+(?:#|//|@) @`)
	header      = regexp.MustCompile(`This (Inner )?Loop Header: Depth=(\d+)`)
	parent      = regexp.MustCompile(`Parent Loop (BB\d+_\d+) Depth=\d+`)
	inLoop      = regexp.MustCompile(`in Loop: Header=(BB\d+_\d+)`)
	often       = regexp.MustCompile(`_x(\d+)`)
	vector      = regexp.MustCompile(`((16|32|64)-byte|Unknown-size|vscale x \d+-byte) (Folded )?(Spill|Reload)`)
	move        = regexp.MustCompile(`(-byte|Unknown-size) (Folded )?(Spill|Reload)`)
	instruction = regexp.MustCompile(`^\t[a-z][a-z0-9_.]*(\s|$)`)
	multiplyAdd = regexp.MustCompile(`^\t(vfmadd|fmla|fmadd|vfma|vfmacc|vmla|vmul|fmul)[a-z0-9.]*\s`)
)

// A loop is what comments of LLVM's say of one in assembly. The name of its first block ends in the number of iterations.
type loop struct {
	counts
	trips     float64
	parents   []string
	innermost bool
}

// counts are of instructions: all, those that are spills and reloads, those of vectors among them, and multiply-adds.
type counts struct{ all, moves, vectors, adds float64 }

// hot counts the instructions that run in the innermost loops with multiply-adds.
func hot(asm string) (sum counts) {
	loops := map[string]*loop{}
	of := func(name string) *loop {
		if loops[name] == nil {
			loops[name] = &loop{trips: 1}
		}
		return loops[name]
	}
	count := func() {
		for _, l := range loops {
			often := l.trips
			for _, p := range l.parents {
				often *= of(p).trips
			}
			if l.innermost && l.adds > 0 {
				sum.all, sum.moves, sum.vectors = sum.all+often*l.all, sum.moves+often*l.moves, sum.vectors+often*l.vectors
				sum.adds += often * l.adds
			}
		}
		clear(loops)
	}
	at, trips := "", 1.0 // of the block
	var around, parents []string
	for line := range strings.SplitSeq(asm, "\n") {
		if function.MatchString(line) {
			count()
			around = nil
		}
		if g := label.FindStringSubmatch(line); g != nil {
			at, trips, around, parents = g[1], 1, nil, nil
			if n := often.FindStringSubmatch(g[2]); n != nil {
				trips, _ = strconv.ParseFloat(n[1], 64)
			}
		}
		switch g := header.FindStringSubmatch(line); {
		case g != nil:
			l := of(at)
			l.trips, l.innermost, l.parents = trips, g[1] != "", parents
			around = []string{at}
		case parent.MatchString(line):
			parents = append(parents, parent.FindStringSubmatch(line)[1])
		case inLoop.MatchString(line):
			around = []string{inLoop.FindStringSubmatch(line)[1]}
		}
		if len(around) == 0 || !instruction.MatchString(line) {
			continue
		}
		l := of(around[0])
		l.all++
		if move.MatchString(line) {
			l.moves++
		}
		if vector.MatchString(line) {
			l.vectors++
		}
		if multiplyAdd.MatchString(line) {
			l.adds++
		}
	}
	count()
	return sum
}

func TestHot(t *testing.T) {
	const asm = `f:                                      # @f
	vxorps	%ymm0, %ymm0, %ymm0
.LBB0_1:                                # %loop1_x10
                                        # =>This Loop Header: Depth=1
                                        #     Child Loop BB0_2 Depth 2
	xorl	%eax, %eax
	vmovups	(%rsp), %ymm1                   # 32-byte Reload
.LBB0_2:                                # %loop3_x5
                                        #   Parent Loop BB0_1 Depth=1
                                        # =>  This Inner Loop Header: Depth=2
	vfmadd231ps	(%rsp), %ymm2, %ymm1    # 32-byte Folded Reload
	jb	.LBB0_2
# %bb.3:                                # %latch2
                                        #   in Loop: Header=BB0_1 Depth=1
	jb	.LBB0_1
	retq
`
	if got := hot(asm); got != (counts{100, 50, 50, 50}) {
		t.Errorf("%+v", got)
	}
}
