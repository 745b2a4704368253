package leases

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// ErrUnknown: it is not known what may be needed; nothing may be collected.
var ErrUnknown = errors.New("it is not known what jobs need")

// Jobs tells of all jobs of the cluster; queries.Client does.
type Jobs interface {
	Jobs(ctx context.Context) ([]queries.LiveJob, error)
}

// Options of a Keeper.
type Options struct {
	Store *cache.Store
	// Slurm's jobs.
	Slurm Jobs
	// Used is told which environments were used, and when; nil = nobody is.
	Used func(ctx context.Context, at time.Time, ids ...string) error
	Log  *slog.Logger
	// Now; nil = time.Now.
	Now func() time.Time
}

// Keeper of a store's leases. Its methods may be called by several goroutines.
type Keeper struct {
	opts Options
	// asking lets one question to Slurm run at a time.
	asking sync.Mutex

	mu      sync.Mutex
	records map[string]*Record // those that hold, by token; never changed in place
	// over are the tokens of those that ended lately: what lies in inbox/ may be of one of
	// them. Older ones are not handed over any more.
	over   map[string]bool
	status Status
	// asked is when Slurm last told; of counts the leases that hold by user.
	asked time.Time
	of    map[int]int
}

// Status of the leases.
type Status = api.LeaseStatus

// Open reads the leases of a store.
func Open(opts Options) (*Keeper, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Used == nil {
		opts.Used = func(context.Context, time.Time, ...string) error { return nil }
	}
	k := &Keeper{opts: opts, records: map[string]*Record{}, over: map[string]bool{}, of: map[int]int{}}
	if err := k.eachEnded(opts.Now().Add(-lately), func(r *Record) bool { k.over[r.Token] = true; return true }); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(k.dir())
	if err != nil {
		return nil, fmt.Errorf("%w: list %s: %w", cache.ErrStore, k.dir(), err)
	}
	for _, e := range entries {
		token, ok := strings.CutSuffix(e.Name(), recordSuffix)
		if !ok {
			continue
		}
		data, err := os.ReadFile(filepath.Join(k.dir(), e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%w: read %s: %w", cache.ErrStore, e.Name(), err)
		}
		r, err := decode(data)
		if err == nil && r.Token != token {
			err = fmt.Errorf("it is of token %s", r.Token)
		}
		if err != nil {
			// What it would hold is not known.
			return nil, fmt.Errorf("%w: %s: %w\nnext: remove it if no job needs it any more, and start hpcenvd again", cache.ErrStore, filepath.Join(k.dir(), e.Name()), err)
		}
		k.records[token] = r
		k.of[r.UID]++
	}
	return k, nil
}

// maxOfOne bounds the leases of one user, each of which is a file of the store. An array is
// one; slurmctld itself takes 10,000 jobs of all users unless it is told otherwise.
const maxOfOne = 50_000

// lately is how far back handovers that come again are known for what they are. CleanTemp
// and a daemon's absence are shorter.
const lately = 31 * 24 * time.Hour

// recordSuffix ends the names of records.
const recordSuffix = ".json"

func (k *Keeper) dir() string { return filepath.Join(k.opts.Store.Root(), "pins") }

func (k *Keeper) path(token string) string { return filepath.Join(k.dir(), token+recordSuffix) }

// recordMode: who runs what is nobody else's business; PrivateData is not ours to lift.
const recordMode = 0o600

// save keeps a record, durably.
func (k *Keeper) save(r *Record) error {
	data, err := r.encode()
	if err != nil {
		return err
	}
	return k.opts.Store.SaveFile(k.path(r.Token), recordMode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Take takes in what a user handed over. It is durable when Take returns; the same again
// changes nothing. Errors about it are of class ErrHandover.
func (k *Keeper) Take(ctx context.Context, h *api.Handover, uid int, at time.Time) error {
	if err := k.take(ctx, h, uid, at); err != nil {
		if errors.Is(err, ErrHandover) {
			k.mu.Lock()
			k.status.Refused++
			k.mu.Unlock()
			err = &usageError{err}
		}
		return err
	}
	return nil
}

func (k *Keeper) take(ctx context.Context, h *api.Handover, uid int, at time.Time) error {
	switch h.Kind {
	case api.HandoverUse:
		if err := checkIDs(h.IDs); err != nil {
			return err
		}
		return k.opts.Used(ctx, at, h.IDs...)
	case api.HandoverSubmit:
	default:
		return fmt.Errorf("%w: kind %.20q", ErrHandover, h.Kind)
	}
	r, err := newRecord(h, uid, at)
	if err != nil {
		return err
	}
	k.mu.Lock()
	have, over, many := k.records[r.Token], k.over[r.Token], k.of[uid]
	k.mu.Unlock()
	if over {
		return nil // a file of inbox/ that was taken in and could not be removed
	}
	if have != nil {
		if have.UID != uid {
			return fmt.Errorf("%w: token %s is another user's", ErrHandover, r.Token)
		}
		return nil
	}
	if many >= maxOfOne {
		return fmt.Errorf("%w: user %d has %d submissions with environments that Slurm knows or may still see; next: wait until some have ended (hpcenv leases)", ErrHandover, uid, many)
	}
	if err := k.save(r); err != nil {
		return err
	}
	k.mu.Lock()
	if k.records[r.Token] == nil {
		k.of[uid]++
	}
	k.records[r.Token] = r
	k.mu.Unlock()
	return k.opts.Used(ctx, at, r.IDs...)
}

// Reconcile takes in what lies in inbox/, asks Slurm for all jobs, binds leases to them
// and ends those whose jobs are gone. An error of class ErrUnknown: Slurm did not tell.
func (k *Keeper) Reconcile(ctx context.Context) error {
	k.asking.Lock()
	defer k.asking.Unlock()
	return k.reconcile(ctx)
}

// reconcile is Reconcile, for who holds asking.
func (k *Keeper) reconcile(ctx context.Context) error {
	if err := k.TakeInbox(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	// A lease that comes while Slurm is asked is not judged by this answer.
	k.mu.Lock()
	records := make([]*Record, 0, len(k.records))
	for _, r := range k.records {
		records = append(records, r)
	}
	k.mu.Unlock()
	asked := k.opts.Now()
	jobs, err := k.opts.Slurm.Jobs(ctx)
	k.mu.Lock()
	if k.status.Problem = ""; err != nil {
		k.status.Problem = err.Error()
	} else {
		k.status.Asked, k.asked = asked.UTC().Format(time.RFC3339), asked
	}
	k.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var used []string
	for _, r := range records {
		next := *r
		next.Jobs = slices.Clone(r.Jobs)
		changed := next.bind(jobs, asked)
		if next.Ended.IsZero() && next.alive(jobs) {
			used = append(used, next.IDs...)
		}
		if !changed {
			continue
		}
		if err := k.replace(r, &next); err != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
	slices.Sort(used)
	return k.opts.Used(ctx, asked, slices.Compact(used)...)
}

// replace puts a record in another's place, or among those that ended. One that was
// released meanwhile stays so.
func (k *Keeper) replace(old, next *Record) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records[old.Token] != old {
		return nil
	}
	if next.Ended.IsZero() {
		if err := k.save(next); err != nil {
			return err
		}
		k.records[next.Token] = next
		return nil
	}
	if err := k.bury(next); err != nil {
		return err
	}
	delete(k.records, next.Token)
	if k.of[next.UID]--; k.of[next.UID] == 0 {
		delete(k.of, next.UID)
	}
	k.over[next.Token] = true
	return nil
}

// endedPath is where records lie that ended in a month.
func (k *Keeper) endedPath(at time.Time) string {
	return filepath.Join(k.dir(), "ended-"+at.UTC().Format("2006-01")+".jsonl")
}

// bury moves a record to those that ended: it is durable there before its own file goes.
func (k *Keeper) bury(r *Record) (err error) {
	line, err := r.encode()
	if err != nil {
		return err
	}
	path := k.endedPath(r.Ended)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, recordMode)
	if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("%w: %s: %w", cache.ErrStore, path, err)
		}
	}()
	// A power cut may have left the beginning of a line.
	if st, serr := f.Stat(); serr == nil && st.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, st.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Remove(k.path(r.Token)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// eachEnded calls visit for the records that ended since a time's month, the latest month
// first, until it returns false: the months before are then left out. Lines that a power
// cut left are passed over.
func (k *Keeper) eachEnded(since time.Time, visit func(*Record) bool) error {
	files, err := filepath.Glob(filepath.Join(k.dir(), "ended-*.jsonl"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	for _, path := range slices.Backward(files) {
		if path < k.endedPath(since) {
			break
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
		more := true
		sc := bufio.NewScanner(bytes.NewReader(data))
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			r, err := decode(sc.Bytes())
			if err != nil {
				continue
			}
			more = visit(r) && more
		}
		if err := sc.Err(); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// List returns the leases of a user, or of all if uid is nil, the newest first; with
// those that ended since a time unless that is zero.
func (k *Keeper) List(ctx context.Context, uid *int, endedSince time.Time) ([]api.Lease, error) {
	k.refresh(ctx)
	out := []api.Lease{}
	k.mu.Lock()
	for _, r := range k.records {
		if uid == nil || r.UID == *uid {
			out = append(out, r.Lease())
		}
	}
	k.mu.Unlock()
	if !endedSince.IsZero() {
		if err := k.eachEnded(endedSince, func(r *Record) bool {
			if (uid == nil || r.UID == *uid) && r.Ended.After(endedSince) {
				out = append(out, r.Lease())
			}
			return true
		}); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out, func(a, b api.Lease) int {
		return cmp.Or(cmp.Compare(min(len(a.Ended), 1), min(len(b.Ended), 1)), cmp.Compare(b.At, a.At), cmp.Compare(a.Token, b.Token))
	})
	return out, nil
}

// Owner is the user whose lease a token is; the error is of class cache.ErrNotFound.
func (k *Keeper) Owner(token string) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.records[token]; r != nil {
		return r.UID, nil
	}
	return 0, fmt.Errorf("lease %.40q: %w", token, cache.ErrNotFound)
}

// Release ends a lease before its jobs do.
func (k *Keeper) Release(token, by string) error {
	k.mu.Lock()
	r := k.records[token]
	k.mu.Unlock()
	if r == nil {
		return fmt.Errorf("lease %.40q: %w", token, cache.ErrNotFound)
	}
	next := *r
	next.Ended, next.Why = k.opts.Now().UTC(), "released by "+by
	return k.replace(r, &next)
}

// OfJob is the record of a job's submission, the likeliest where several may be meant;
// the error is of class cache.ErrNotFound if there is none.
func (k *Keeper) OfJob(job int) (*Record, error) {
	var best *Record
	better := func(r *Record) {
		at := slices.Index(r.Jobs, job)
		if at < 0 {
			return
		}
		if best == nil || at < slices.Index(best.Jobs, job) || at == slices.Index(best.Jobs, job) && r.At.After(best.At) {
			best = r
		}
	}
	k.mu.Lock()
	for _, r := range k.records {
		better(r)
	}
	k.mu.Unlock()
	if best != nil {
		return best, nil
	}
	// slurmctld gives numbers again after years: the latest month that has it counts.
	if err := k.eachEnded(time.Time{}, func(r *Record) bool { better(r); return best == nil }); err != nil {
		return nil, err
	}
	if best == nil {
		return nil, fmt.Errorf("job %d: %w: no submission with an environment is known that it may be", job, cache.ErrNotFound)
	}
	return best, nil
}

// Status of the leases.
func (k *Keeper) Status() Status {
	names, err := k.Names()
	k.mu.Lock()
	defer k.mu.Unlock()
	st := k.status
	st.Names = len(names)
	if err != nil {
		st.Problem = err.Error()
	}
	for _, r := range k.records {
		if st.Holding++; len(r.Jobs) > 0 {
			st.Bound++
		}
	}
	return st
}
