package toolchain

import (
	"crypto/sha256"
	"sync"
)

// Known are objects of texts that were compiled before, for compilations of networks that differ in their weights: their kernels
// have the same text. It serves several goroutines. Of nil nothing is known.
type Known struct {
	mu sync.Mutex
	of map[knownKey]known
}

// knownKey is all that an object depends on.
type knownKey struct {
	triple, cpu, features, passes string
	level                         int
	asWritten                     bool
	text                          [sha256.Size]byte
}

type known struct {
	object Object
	loops  []Loop
}

// Screen is m.Screen, once for each text.
func (k *Known) Screen(m *Machine, ir, passes string) (Object, []Loop, error) {
	if k == nil {
		return m.Screen(ir, passes)
	}
	key := knownKey{m.triple, m.cpu, m.features, passes, m.level, m.asWritten, sha256.Sum256([]byte(ir))}
	k.mu.Lock()
	e, ok := k.of[key]
	k.mu.Unlock()
	if ok {
		return e.object, e.loops, nil
	}
	o, loops, err := m.Screen(ir, passes)
	if err != nil {
		return nil, nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[knownKey]known{}
	}
	k.of[key] = known{o, loops}
	return o, loops, nil
}
