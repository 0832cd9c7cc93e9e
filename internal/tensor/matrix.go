package tensor

// Transpose is the transpose of a matrix.
func (t *Tensor) Transpose() *Tensor {
	rows, columns := t.Shape[0], t.Shape[1]
	out, size := New(t.DType, columns, rows), t.DType.Size()
	for i := range columns {
		for j := range rows {
			to, from := i*rows+j, j*columns+i
			if t.DType.IsNibble() {
				out.SetInt(to, t.Int(from))
				continue
			}
			copy(out.Bytes()[to*size:(to+1)*size], t.Bytes()[from*size:])
		}
	}
	return out
}
