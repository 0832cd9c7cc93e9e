package impl

import (
	"lathe/internal/choice"
	"lathe/internal/target"
)

// A LookUp computes pixels of a result from pixels whose places depend on data. Lanes are channels of blocked layouts, which lie
// together and share the places, or pixels of plain ones, each of which is loaded on its own.
type LookUp struct {
	Channels, Pixels int  // of the result, over all images
	Taps             int  // pixels that are read for one
	Blocked          bool // data, and what reads the result, are in blocks of channels: else they are plain
	Moved            int  // elements that come into another layout where the way asks for it, data and result
}

// LookUpDecision is which of them lanes are.
func LookUpDecision(t *target.Target, u LookUp) choice.Decision {
	c := core{t}
	lanes := c.lanes(4)
	blocks := (u.Channels + lanes - 1) / lanes
	taps := float64(u.Pixels) * float64(u.Taps)
	channels := taps * float64(blocks) * (placeCycles + 1/(asTheyLie.loads*float64(c.Loads)))
	pixels := taps * float64(u.Channels) * (tapCycles + placeCycles/float64(lanes))
	if moved := packCycles * float64(u.Moved); u.Blocked {
		pixels += moved
	} else {
		channels += moved
	}
	return choice.Least("lanes", choice.Value{Text: "channels", Cost: channels}, choice.Value{Text: "pixels", Cost: pixels})
}
