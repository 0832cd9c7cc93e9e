package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lathe/internal/tool/machine"
)

// named is a peer with its version.
type named struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// report is what a comparison found.
type report struct {
	Lathe       string          `json:"lathe"`
	Peers       []named         `json:"peers"`
	Target      string          `json:"target"`
	Peaks       []machine.Peaks `json:"peaks"`        // by threads
	OthersShare float64         `json:"others_share"` // of all CPUs, used by other processes meanwhile
	Rows        []row           `json:"rows"`
}

func (r *report) head() {
	fmt.Printf("%s\n", r.Lathe)
	for _, p := range r.Peers {
		fmt.Printf("%s %s\n", p.Name, p.Version)
	}
	for _, p := range r.Peaks {
		fmt.Printf("peak of %s: float32 %.0f GFLOP/s in 512 bits, %.0f in 256, %.0f in 128; int8 %s; reading memory %.1f GB/s\n",
			threadsText(p.Threads), p.FMA512, p.FMA256, p.FMA128, p.Bytes(), p.Read)
	}
	fmt.Printf("%-20s %3s %3s %9s", "model", "bat", "thr", "Lathe ms")
	for _, p := range r.Peers {
		fmt.Printf(" %14s %6s %6s %6s %8s", p.Name+" ms", "ratio", "quiet", "cpu", "distance")
	}
	fmt.Printf(" %8s %6s %6s %9s %10s %7s %14s\n", "GFLOP/s", "peak", "eff", "compile s", "compile MB", "run MB", "reclaim GB/s")
}

func (r *report) add(w row) {
	r.Rows = append(r.Rows, w)
	fmt.Printf("%-20s %3d ", w.Model, w.Batch)
	if w.Error != "" || w.Skipped != "" {
		fmt.Printf("%3d %s%s\n", w.Threads, w.Error, w.Skipped)
		return
	}
	fmt.Printf("%3d %9.2f", w.Threads, w.Lathe.Median)
	mark := ""
	for _, p := range w.Peers {
		fmt.Printf(" %14s %6s %6s %6s %8s", p.cell(p.ms()), p.cell(p.Ratio), p.cell(p.QuietRatio), p.cell(p.CPURatio), p.distanceText())
		if !w.agrees(p) {
			mark += "  OUTPUTS DIFFER FROM " + strings.ToUpper(p.Name)
		}
	}
	if w.Share > 0 {
		mark += fmt.Sprintf("  of the %g processors left: %s", float64(w.Threads)-w.Busy, percentText(w.Share))
		for _, p := range w.Peers {
			mark += fmt.Sprintf(", %s %s", p.Name, percentText(p.Share))
		}
	}
	eff := "-"
	if w.fewerOperations() {
		eff = percentText(w.EffShare)
	}
	fmt.Printf(" %8.1f %6s %6s %9.2f %10.0f %7.0f %14s%s\n", w.Effective, percentText(w.PeakShare), eff, w.Compile.Seconds, w.Compile.PeakMB, w.RunPeakMB, w.reclaimText(), mark)
}

// reclaimText is how fast cores took lines from each other before the runs and behind them: where both differ, cores moved meanwhile.
func (w *row) reclaimText() string {
	if len(w.Reclaim) < 2 {
		return "-"
	}
	return fmt.Sprintf("%.1f, %.1f", float64(w.Reclaim[0])/1e3, float64(w.Reclaim[1])/1e3)
}

func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

func percentText(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// ms is the peer's median, 0 without one.
func (p *rival) ms() float64 {
	if p.Time == nil {
		return 0
	}
	return p.Time.Median
}

// cell is a number of a table; 0 stands for nothing.
func (p *rival) cell(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", v)
}

func (p *rival) distanceText() string {
	if p.Time == nil {
		return "-"
	}
	return fmt.Sprintf("%.1e", p.Difference)
}

// group is what geometric means are over.
type group struct {
	Batch, Threads int
	Quantised      bool
}

// mean is the geometric mean of a peer's ratios.
type mean struct {
	group
	Peer              string
	Ratio, Quiet, CPU float64 // CPU is 0 where it was not compared
	Count             int
	Faster            int // networks on which Lathe is at least as fast
}

// means lists the geometric means by peer, kind of network, batch and threads.
func (r *report) means() []mean {
	var list []mean
	for _, peer := range r.Peers {
		sums := map[group]*mean{}
		for _, w := range r.Rows {
			for _, p := range w.Peers {
				if p.Name != peer.Name || p.Ratio == 0 {
					continue
				}
				g := group{w.Batch, w.Threads, w.Quantised}
				m := sums[g]
				if m == nil {
					m = &mean{group: g, Peer: peer.Name}
					sums[g] = m
				}
				m.Count++
				m.Ratio, m.Quiet = m.Ratio+math.Log(p.Ratio), m.Quiet+math.Log(p.QuietRatio)
				if p.CPURatio > 0 {
					m.CPU += math.Log(p.CPURatio)
				}
				if p.Ratio >= 1 {
					m.Faster++
				}
			}
		}
		for _, g := range slices.SortedFunc(maps.Keys(sums), compareGroups) {
			m := sums[g]
			n := float64(m.Count)
			m.Ratio, m.Quiet = math.Exp(m.Ratio/n), math.Exp(m.Quiet/n)
			if m.CPU != 0 {
				m.CPU = math.Exp(m.CPU / n)
			}
			list = append(list, *m)
		}
	}
	return list
}

func compareGroups(a, b group) int {
	if a.Quantised != b.Quantised {
		if b.Quantised {
			return -1
		}
		return 1
	}
	if a.Batch != b.Batch {
		return a.Batch - b.Batch
	}
	return a.Threads - b.Threads
}

// Kind says what networks are in a group.
func (g group) Kind() string {
	if g.Quantised {
		return "int8"
	}
	return "float"
}

// foot prints the means, and how long threads went on after a run.
func (r *report) foot() {
	for _, m := range r.means() {
		fmt.Printf("geometric mean of %d %s networks, batch %d, %s, %s through Lathe: ratio %.2f, quiet %.2f", m.Count, m.Kind(), m.Batch,
			threadsText(m.Threads), m.Peer, m.Ratio, m.Quiet)
		if m.CPU > 0 {
			fmt.Printf(", cpu %.2f", m.CPU)
		}
		fmt.Printf("; Lathe is not slower on %d\n", m.Faster)
	}
	longest := 0.0
	for _, w := range r.Rows {
		longest = max(longest, w.LongestMs)
		for _, p := range w.Peers {
			if p.Missing != "" {
				fmt.Printf("%s, %s: nothing from %s: %s\n", w.Model, threadsText(w.Threads), p.Name, p.Missing)
			}
		}
	}
	fmt.Println("ratio: medians of all runs, under load and with a gap before each means, the peer's through Lathe's; quiet: lowest medians of a block, as GFLOP/s and peak; cpu: CPU time, which")
	fmt.Println("other processes disturb less. GFLOP/s counts the model as given; peak is the share of what the kernels really do, eff of the")
	fmt.Println("model as given where kernels do less (Winograd), both of the measured peak of the element types that are multiplied.")
	fmt.Println("reclaim: how fast a core writes what another has read, before the runs and behind them; it falls where cores have no cache in common.")
	fmt.Printf("other processes used %.0f %% of the CPUs meanwhile\n", 100*r.OthersShare)
	fmt.Printf("longest wait for idle threads before a block: %.0f ms\n", longest)
}

// write keeps the results as DIR/TIME.json and DIR/TIME.html.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	stem := filepath.Join(dir, time.Now().UTC().Format("20060102-150405"))
	page, err := os.Create(stem + ".html")
	if err != nil {
		return err
	}
	fmt.Printf("results: %s.json, page: %s.html\n", stem, stem)
	return errors.Join(os.WriteFile(stem+".json", append(b, '\n'), 0o644), r.page(page), page.Close())
}

// readReport reads what write wrote.
func readReport(file string) (*report, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(report)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// verdict is an error when a network failed or sides disagree.
func (r *report) verdict() error {
	var bad []string
	for _, w := range r.Rows {
		if w.Error != "" || slices.ContainsFunc(w.Peers, func(p rival) bool { return !w.agrees(p) }) {
			bad = append(bad, fmt.Sprintf("%s (%s)", w.Model, threadsText(w.Threads)))
		}
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("failed or with other outputs than a peer: %s", strings.Join(bad, ", "))
}
