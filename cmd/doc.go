// Package cmd holds the programs, one folder each, and the stories that run
// them together as users do (testdata/*.txtar).
package cmd
