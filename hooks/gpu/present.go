package gpu

import "time"

// Present reports whether there is something to ask: the kernel's driver for GPUs is
// loaded below root, or a GPU is on the bus that none serves. It reads files only.
func Present(root string) (bool, error) {
	id, err := Identify(root)
	if err != nil || id.Served() {
		return err == nil, err
	}
	return onBus(root)
}

// Hanging tells whether a probe that was started before with this run directory hangs
// in the driver, and cannot be ended: the error then wraps ErrHung and says since when.
// Who only reads the run directory starts none beside it. nil = no such thing is known.
func Hanging(runDir string) error {
	m, err := readMark(runDir)
	if err != nil || m == nil || !m.Hung || !m.alive() {
		return nil // one that cannot be read is its owner's to deal with
	}
	return m.refusal(time.Now())
}
