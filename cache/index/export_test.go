package index

import (
	"context"
	"strconv"
)

// SetLayout makes the file one of another release.
func (x *Index) SetLayout(ctx context.Context, n int) error {
	_, err := x.db.ExecContext(ctx, "PRAGMA user_version = "+strconv.Itoa(n))
	return err
}
