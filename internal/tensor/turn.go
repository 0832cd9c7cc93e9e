package tensor

import (
	"runtime"
	"unsafe"
)

// Turned is a matrix made of the columns of another: rows of so many columns lie Step elements apart, and in what it is made of an element's neighbour is that
// of the next row, and elements of a row lie Across apart.
type Turned struct{ Rows, Columns, Step, Across int }

// Turn writes a turned matrix block by block, of which each reads and writes whole lines of the cache. What is read lies far apart, where nothing fetches it
// ahead: all lines of some blocks are asked for first, for none waits for another.
func Turn[T uint8 | uint16 | uint32 | uint64](m Turned, out, in []T) {
	const line, asked = 64, 512 // bytes, rows
	var z T
	lane := line / int(unsafe.Sizeof(z))
	for begin := 0; begin < m.Columns; begin += lane {
		end := min(begin+lane, m.Columns)
		for first := 0; first < m.Rows; first += asked {
			last := min(first+asked, m.Rows)
			var read T
			for i := begin; i < end; i++ {
				for row := first; row < last; row += lane {
					read += in[row+i*m.Across]
				}
			}
			runtime.KeepAlive(read)
			for row := first; row < last; row += lane {
				for i := begin; i < end; i++ {
					to := row*m.Step + i
					for _, x := range in[row+i*m.Across:][:min(lane, last-row)] {
						out[to] = x
						to += m.Step
					}
				}
			}
		}
	}
}
