package onnx

var indexRows, quantRows, controlRows, sequenceRows, recurrentRows, microsoftRows []row
