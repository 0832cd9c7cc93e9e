package tensorflow

var listRows []row
