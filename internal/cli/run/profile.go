package run

import (
	"io"
	"path/filepath"
	"strings"

	"lathe/internal/cli"
	"lathe/internal/profile"
	"lathe/runtime"
)

// Peaks tells what the machine does at best with a number of threads, measured before and after work. It does the work
// even where nothing can be measured.
type Peaks func(threads int, work func() error) (profile.Peaks, error)

// profile runs the model step by step and tells where the time goes: as text, or as a page in a file with that ending.
func (c *command) profile(m *runtime.Module, title string) error {
	var times []runtime.StepTime
	peaks, err := c.peaks(m.Workers(), func() (err error) {
		times, err = m.Profile(c.repeat)
		return err
	})
	if times == nil {
		return err
	}
	if err != nil {
		c.Note("the machine's peak is unknown: " + err.Error())
	}
	run := profile.New(title, m.Info(), m.Workers(), times, peaks)
	if c.profileTo == cli.ToOutput {
		return run.Text(c.Out)
	}
	return cli.WriteFile(c.profileTo, func(w io.Writer) error {
		if strings.EqualFold(filepath.Ext(c.profileTo), ".html") {
			return run.HTML(w)
		}
		return run.Text(w)
	})
}
