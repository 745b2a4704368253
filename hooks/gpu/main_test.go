package gpu

import (
	"fmt"
	"os"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
	"github.com/hpcenv/hpcenv/internal/ownmounts"
)

func TestMain(m *testing.M) {
	code := ownmounts.Run(m.Run)
	if err := gputest.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
