package staging

import (
	"fmt"
	"slices"
	"time"
)

// Entry is a copy, as the decision what leaves looks at it.
type Entry struct {
	SHA256 string
	// Size in bytes.
	Size int64
	// Used is when it was last attached.
	Used time.Time
	// InUse: a loop device shows it, or it is being made: it stays.
	InUse bool
}

// Room is what there is for copies, in bytes.
type Room struct {
	// Budget bounds all copies together; 0 = the file system alone does.
	Budget int64
	// Free is what the file system has, Reserve what has to stay free.
	Free, Reserve int64
}

// Plan says which copies leave for a new one of need bytes, the least recently used
// first, and no more of them than it takes. ErrRoom: all that may leave would not do;
// then none has to.
func Plan(have []Entry, need int64, room Room) ([]Entry, error) {
	var held, gained int64
	for _, e := range have {
		held += e.Size
	}
	fits := func() bool {
		return room.Free+gained-room.Reserve >= need && (room.Budget == 0 || held-gained+need <= room.Budget)
	}
	order := slices.Clone(have)
	slices.SortStableFunc(order, func(a, b Entry) int { return a.Used.Compare(b.Used) })
	var leave []Entry
	for _, e := range order {
		if fits() {
			break
		}
		if e.InUse {
			continue
		}
		leave = append(leave, e)
		gained += e.Size
	}
	if !fits() {
		allowed := ""
		if room.Budget > 0 {
			allowed = fmt.Sprintf(" of %d allowed", room.Budget)
		}
		return nil, fmt.Errorf("%w: the image has %d bytes; copies hold %d%s, %d of which may leave; %d are free, of which %d have to stay free",
			ErrRoom, need, held, allowed, gained, room.Free, room.Reserve)
	}
	return leave, nil
}
