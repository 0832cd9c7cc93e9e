package tflite

var recurrentRows = []row{}
