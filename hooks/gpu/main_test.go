package gpu

import (
	"fmt"
	"os"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := gputest.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
