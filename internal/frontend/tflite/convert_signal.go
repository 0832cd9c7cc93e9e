package tflite

import "lathe/internal/frontend/tfops"

// Complex numbers have an axis of real and imaginary part behind the others.
var signalRows = []row{
	{"RFFT2D", shared(tfops.RFFT(2))}, {"REAL", shared(tfops.Part(0))}, {"IMAG", shared(tfops.Part(1))}, {"COMPLEX_ABS", shared(tfops.ComplexAbs)},
}
