package onnx

var recurrentRows, microsoftRows []row
