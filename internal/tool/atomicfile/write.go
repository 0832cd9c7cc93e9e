package atomicfile

import "context"

// Write makes a file of b at path, which appears complete or not at all.
func Write(path string, b []byte) error {
	f, err := Create(context.Background(), path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Commit()
}
