package tensorflow

var detectRows []row
