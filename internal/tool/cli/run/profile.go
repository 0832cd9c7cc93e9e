package run

import (
	"io"
	"time"

	"lathe/internal/host"
	"lathe/internal/tool/cli"
	"lathe/internal/tool/profile"
	"lathe/runtime"
)

// Peaks tells what the machine does at best with a number of threads, measured before and after work. It does the work
// even where nothing can be measured.
type Peaks func(threads int, work func() error) (profile.Peaks, error)

// profileForms are the extensions of files that a profile is written to.
var profileForms = []string{".txt", ".html", ".json", ".csv"}

// profile measures runs and their steps, and returns the times of --print-time in seconds: those of the same whole runs.
// What it found is printed behind the results.
func (c *command) profile(m *runtime.Module, title string) ([]float64, error) {
	number := 1
	if c.printTime {
		number = c.number
	}
	var p *runtime.Profile
	peaks, err := c.peaks(m.Workers(), func() (err error) {
		p, err = m.Profile(c.repeat * number)
		return err
	})
	if p == nil {
		return nil, err
	}
	if err != nil {
		c.Note("the machine's peak is unknown: " + err.Error())
	}
	r := profile.New(title, m.Info(), m.Workers(), p, peaks)
	r.CPU, r.Date = host.CPUName(), time.Now()
	c.report.Profile = r.Data()
	c.printProfile = func() error { return c.writeProfile(r) }
	times := make([]float64, c.repeat)
	for i, d := range p.Runs {
		times[i/number] += d.Seconds() / float64(number)
	}
	return times, nil
}

// writeProfile writes what the extension of the file says.
func (c *command) writeProfile(r *profile.Run) error {
	write := map[string]func(io.Writer) error{
		".txt": r.Text, ".html": r.HTML, ".csv": r.CSV, ".json": func(w io.Writer) error { return cli.JSON(w, r.Data()) },
	}
	switch {
	case c.profileTo != cli.ToOutput:
		return cli.WriteFile(c.profileTo, write[cli.Extension(c.profileTo)])
	case c.asJSON:
		return nil // it is a part of the report
	}
	return r.TextWithTable(c.Out, c.Lines())
}

// enough is how many runs a profile takes when nobody says: about a second's worth, and never one alone.
func enough(run time.Duration) int {
	return int(min(max(time.Second/max(run, 1), 3), 100))
}
