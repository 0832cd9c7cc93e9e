package tflite

var detectionRows = []row{}
