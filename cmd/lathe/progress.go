package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress shows one line that is rewritten in place. It stays silent when the output is not a terminal.
type progress struct {
	mu    sync.Mutex
	w     io.Writer // nil = silent
	last  time.Time
	shown bool
}

func (a *app) progress() *progress {
	if !a.Terminal {
		return &progress{}
	}
	return &progress{w: a.Err}
}

// barWidth is in characters.
const barWidth = 20

// show may be called from any goroutine.
func (p *progress) show(phase string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w == nil || done < total && time.Since(p.last) < 50*time.Millisecond {
		return
	}
	p.last = time.Now()
	p.shown = true
	if total > 0 {
		full := barWidth * done / total
		fmt.Fprintf(p.w, "\r\x1b[Klathe: %s [%s%s] %d/%d", phase, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), done, total)
	} else {
		fmt.Fprintf(p.w, "\r\x1b[Klathe: %s", phase)
	}
}

// clear removes the line, so that something else can be printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
