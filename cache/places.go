package cache

import "strings"

// SourceError is the error of getting one archive.
type SourceError struct {
	Source Source
	Err    error
}

func (e *SourceError) Error() string { return "package " + e.Source.Name + ": " + e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// placesError is the error of an archive that none of several places delivered.
type placesError struct{ errs []error }

func (e *placesError) Error() string {
	var b strings.Builder
	b.WriteString("none of its mirrors delivered it: ")
	for i, err := range e.errs {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(err.Error())
	}
	return b.String()
}

func (e *placesError) Unwrap() []error { return e.errs }

// scrubbedError is an error whose text held a credential.
type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }
func (e *scrubbedError) Unwrap() error { return e.err }

// WantsCredential reports whether err says, for one of the places that were
// asked, that it wants to know who asks.
func WantsCredential(err error) bool {
	if s, ok := err.(*StatusError); ok {
		return s.Unauthorized()
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return WantsCredential(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if WantsCredential(e) {
				return true
			}
		}
	}
	return false
}
