package tensorflow

var recurrentRows []row
