package trial

import "sync"

// beside are builders that work while a candidate races: enough to keep a second core busy, and little that a race could feel. Where the machine has
// no second core, none do.
const beside = 1

// cores keeps builders from work while candidates race.
type cores struct {
	mu       sync.Mutex
	changed  *sync.Cond
	beside   int
	building int
	racing   bool
}

func newCores(n int) *cores {
	c := &cores{beside: min(beside, n-1)}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// build waits until one more builder may work. built must follow.
func (c *cores) build() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.racing && c.building >= c.beside {
		c.changed.Wait()
	}
	c.building++
}

func (c *cores) built() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.building--
	c.changed.Broadcast()
}

// race keeps further builders from beginning, and waits until so many of them are done that a race may begin. raced must follow.
func (c *cores) race() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.racing = true; c.building > c.beside; {
		c.changed.Wait()
	}
}

func (c *cores) raced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.racing = false
	c.changed.Broadcast()
}
