package llvm

import "fmt"

// The protocol of teamText as a machine whose every move is one access to a word that workers share. TestTeamModel walks through all
// orders of moves: a worker may stand anywhere for as long as it likes.
const (
	mostWorkers = 3
	mostSteps   = 4
)

// A teamStep is a number of chunks, behind a barrier or not.
type teamStep struct {
	chunks  int8
	barrier bool
}

// Where a worker stands.
type standing int8

const (
	tells    standing = iota // adds what it has finished to done
	looksAt                  // reads asleep
	clears                   // compares and exchanges it
	wakes                    // wakes sleepers
	arrives                  // reads done at a barrier
	liesDown                 // writes asleep
	glances                  // reads done once more
	waits                    // the system compares asleep
	sleeps
	reads  // the word of a part
	claims // compares and exchanges it
	works  // is inside a chunk
	left
)

// A word is what a part's word says: the step that it is about, counted from 1, and chunks [from, to).
type word struct{ step, from, to int8 }

type worker struct {
	at     standing
	step   int8 // it is at; past the last: at the end
	victim int8
	chunk  int8
	mine   int8
	nap    int8 // asleep when it lay down, or as it saw it before it wakes others
	saw    word
}

// A team is a state of the machine.
type team struct {
	done, asleep int8
	words        [mostWorkers]word
	workers      [mostWorkers]worker
	begun, ended [mostSteps]uint16 // chunks, by step
}

// A machine is what does not change. flaw leaves out a part of the protocol, to see that it is missed.
type machine struct {
	steps   []teamStep
	workers int8
	flaw    string
}

// base is the number of chunks before a step.
func (m *machine) base(step int8) (n int8) {
	for _, s := range m.steps[:step] {
		n += s.chunks
	}
	return n
}

// arrive puts a worker before the step it is at.
func (m *machine) arrive(w *worker, me int8) {
	w.victim = me
	switch end := int(w.step) == len(m.steps); {
	case !end && !m.steps[w.step].barrier:
		w.at = reads
	case w.mine > 0:
		w.at = tells
	case end && me > 0:
		w.at = left
	default:
		w.at = arrives
	}
}

// met puts it behind the barrier.
func (m *machine) met(w *worker) {
	if w.at = reads; int(w.step) == len(m.steps) {
		w.at = left
	}
}

// over takes it to the next step.
func (m *machine) over(w *worker, me int8) {
	w.step++
	m.arrive(w, me)
}

// left is what is left of a part, and whether the step is over.
func (m *machine) left(w *worker) (from, to int8, over bool) {
	switch tag := w.step + 1; {
	case w.saw.step > tag:
		return 0, 0, true
	case w.saw.step == tag:
		return w.saw.from, w.saw.to, false
	}
	n := m.steps[w.step].chunks
	return (w.victim*n + m.workers - 1) / m.workers, ((w.victim+1)*n + m.workers - 1) / m.workers, false
}

// consider decides by the word that a worker saw.
func (m *machine) consider(w *worker, me int8) {
	from, to, over := m.left(w)
	switch {
	case over:
		m.over(w, me)
	case from < to:
		w.at = claims
	default:
		if w.victim = (w.victim + 1) % m.workers; w.victim == me {
			m.over(w, me)
		} else {
			w.at = reads
		}
	}
}

// move makes the next move of a worker; moved is false where it has none.
func (m *machine) move(t team, me int8) (next team, moved bool, err error) {
	w := &t.workers[me]
	switch w.at {
	case left, sleeps:
		return t, false, nil
	case tells:
		t.done += w.mine
		w.mine = 0
		switch {
		case t.done >= m.base(w.step):
			w.at = looksAt
		case int(w.step) == len(m.steps) && me > 0:
			w.at = left
		default:
			w.at = arrives
		}
	case looksAt:
		if w.at, w.nap = clears, t.asleep; t.asleep%2 == 0 {
			m.met(w)
		}
	case clears:
		if t.asleep == w.nap {
			t.asleep, w.at = t.asleep+1, wakes
		} else {
			m.met(w)
		}
	case wakes:
		for i := range t.workers[:m.workers] {
			if t.workers[i].at == sleeps {
				t.workers[i].at = arrives
			}
		}
		m.met(w)
	case arrives:
		if w.at = liesDown; t.done >= m.base(w.step) {
			m.met(w)
		}
	case liesDown:
		t.asleep |= 1
		w.at, w.nap = glances, t.asleep
		switch m.flaw {
		case "does not look again":
			w.at = waits
		case "sleeps because of others":
			w.nap = 0
		}
	case glances:
		if w.at = waits; t.done >= m.base(w.step) {
			m.met(w)
		}
	case waits:
		same := t.asleep == w.nap
		switch m.flaw {
		case "sleeps in any case":
			same = true
		case "sleeps because of others":
			same = t.asleep%2 == 1
		}
		if w.at = arrives; same {
			w.at = sleeps
		}
	case reads:
		w.saw = t.words[w.victim]
		m.consider(w, me)
	case claims:
		now := t.words[w.victim]
		same := now == w.saw
		if m.flaw == "compares chunks only" {
			same = now.from == w.saw.from && now.to == w.saw.to
		}
		if !same {
			w.saw = now
			m.consider(w, me)
			break
		}
		from, to, _ := m.left(w)
		if w.victim == me {
			w.chunk = from
			from++
		} else {
			to--
			w.chunk = to
		}
		t.words[w.victim] = word{w.step + 1, from, to}
		w.at, w.mine = works, w.mine+1
		if t.begun[w.step]&(1<<w.chunk) != 0 {
			return t, true, fmt.Errorf("worker %d begins chunk %d of step %d again", me, w.chunk, w.step)
		}
		t.begun[w.step] |= 1 << w.chunk
		for s := range w.step { // barriers from s on
			for b := s + 1; b <= w.step; b++ {
				if m.steps[b].barrier && t.ended[s] != 1<<m.steps[s].chunks-1 {
					return t, true, fmt.Errorf("worker %d begins step %d before step %d is over", me, w.step, s)
				}
			}
		}
	case works:
		t.ended[w.step] |= 1 << w.chunk
		if m.flaw == "tells too early" {
			t.done++
		}
		w.at, w.victim = reads, me
	}
	if w.at == left && me == 0 {
		for s, n := range m.steps {
			if t.ended[s] != 1<<n.chunks-1 {
				return t, true, fmt.Errorf("worker 0 returns before step %d is over", s)
			}
		}
	}
	w.forget()
	return t, true, nil
}

// forget clears what is not looked at again, so that fewer states differ.
func (w *worker) forget() {
	if w.at != claims {
		w.saw = word{}
	}
	if w.at != works {
		w.chunk = 0
	}
	if w.at != clears && w.at != glances && w.at != waits {
		w.nap = 0
	}
}
