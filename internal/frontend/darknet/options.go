package darknet

import "lathe/internal/frontend"

// options read keys that shapes depend on.
type options struct{ frontend.Values }

func (o options) int(name string, absent int) int {
	if o.Values[name] == nil {
		return absent
	}
	v, err := o.Int(name)
	if err != nil || v > maxExtent || v < -maxExtent {
		return -1 // out of what any layer allows
	}
	return int(v)
}

func (o options) ints(name string) (list []int) {
	if o.Values[name] == nil {
		return nil
	}
	v, err := o.Ints(name)
	if err != nil {
		return nil
	}
	for _, x := range v {
		list = append(list, int(max(min(x, maxExtent), -maxExtent)))
	}
	return list
}
