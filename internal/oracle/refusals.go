package oracle

// Refusals is every input that only one of the two installs.
var Refusals = []Refusal{}
