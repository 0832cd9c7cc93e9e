package dnnl

// Available says why oneDNN cannot be called on this machine, and nil where it can.
func Available() error {
	_, err := opened()
	return err
}
