package sweep

import (
	"fmt"
	"io"
	"strings"
)

// slowCompile is the compile time in seconds from which a case is listed.
const slowCompile = 3.0

// Print writes the whole report as text.
func (r *Report) Print(w io.Writer) {
	r.head(w)
	r.table(w)
	r.families(w)
	r.list(w, fmt.Sprintf("compile time above %.0f s", slowCompile), func(x Result) string {
		if x.CompileSeconds <= slowCompile {
			return ""
		}
		return fmt.Sprintf("%.1f s, %.0f MB", x.CompileSeconds, x.CompileMB)
	})
	r.list(w, "the peer does not run", func(x Result) string { return x.Missing })
	r.list(w, "failed", func(x Result) string { return x.Error })
	r.list(w, "outputs differ", func(x Result) string {
		if !x.Wrong {
			return ""
		}
		return fmt.Sprint(x.Outputs)
	})
}

func (r *Report) head(w io.Writer) {
	clock := "wall time"
	if r.Processor {
		clock = "processor time"
	}
	fmt.Fprintf(w, "Lathe %s at -O%d for %s, %s\n", r.Lathe, r.Level, r.Target, r.Peer)
	fmt.Fprintf(w, "%s, %d cores: %s\n", r.CPU, r.Cores, strings.Join(r.Features, " "))
	fmt.Fprintf(w, "%s of one run on %d threads; load average %s before, %s after; others took %.0f %% of all cores; %.0f s\n",
		clock, r.Threads, r.Load[0], r.Load[1], 100*r.OthersShare, r.Seconds)
	fmt.Fprint(w, "ratio: the peer's time through Lathe's. Tolerance (relative L2):")
	for _, k := range []Kind{single, float16, quantised} {
		fmt.Fprintf(w, " %s %.0e,", k.Name, k.Tolerance)
	}
	fmt.Fprint(w, " integers equal\n\n")
}

func (r *Report) table(w io.Writer) {
	fmt.Fprintf(w, "%-46s %8s %10s %10s %9s\n", "case", "ratio", "Lathe ms", "peer ms", "compile s")
	for _, x := range r.sorted() {
		if x.Ratio == 0 {
			continue
		}
		ours, theirs := x.Lathe.Wall, x.Peer.Wall
		if r.Processor {
			ours, theirs = x.Lathe.CPU, x.Peer.CPU
		}
		mark := ""
		if x.Wrong {
			mark = "  OUTPUTS DIFFER"
		}
		fmt.Fprintf(w, "%-46s %8.3g %10.4g %10.4g %9.2f%s\n", x.Name, x.Ratio, ours, theirs, x.CompileSeconds, mark)
	}
	fmt.Fprintln(w)
}

func (r *Report) families(w io.Writer) {
	fmt.Fprintf(w, "%-14s %5s %8s %8s %8s %8s  %s\n", "family", "cases", "geomean", "least", "< 0.95", "< 0.8", "the least")
	list, all := r.Summaries()
	for _, s := range append(list, all) {
		if s.Count == 0 {
			continue
		}
		fmt.Fprintf(w, "%-14s %5d %8.2f %8.3g %6.0f %% %6.0f %%  %s\n", s.Family, s.Count, s.Mean, s.Least, 100*s.Below95, 100*s.Below80, s.LeastName)
	}
	fmt.Fprintln(w)
}

// list writes the cases for which text is not empty.
func (r *Report) list(w io.Writer, title string, text func(Result) string) {
	first := true
	for _, x := range r.sorted() {
		t := text(x)
		if t == "" {
			continue
		}
		if first {
			fmt.Fprintf(w, "%s:\n", title)
			first = false
		}
		fmt.Fprintf(w, "  %-44s %s\n", x.Name, t)
	}
}

// Verdict is an error when a case failed or gave wrong outputs.
func (r *Report) Verdict() error {
	failed, wrong := 0, 0
	for _, x := range r.Results {
		if x.Error != "" {
			failed++
		}
		if x.Wrong {
			wrong++
		}
	}
	if failed+wrong > 0 {
		return fmt.Errorf("sweep: of %d cases %d failed and %d gave outputs that differ", len(r.Results), failed, wrong)
	}
	return nil
}
