package schedules_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/daemon/schedules"
)

// locked is a buffer that many write to.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestSchedules(t *testing.T) {
	log := new(locked)
	s, err := schedules.New(slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ran := make(chan string, 100)
	add := func(name string, every time.Duration, now bool, err error) {
		if err := s.Add(schedules.Schedule{Name: name, Every: every, Now: now, Do: func(context.Context) error {
			ran <- name
			return err
		}}); err != nil {
			t.Fatal(err)
		}
	}
	add("good", time.Hour, true, nil)
	add("bad", time.Hour, true, errors.New("no room"))
	add("nothing", time.Hour, true, fmt.Errorf("%w: no Slurm", schedules.ErrNothing))
	add("later", time.Hour, false, nil)
	s.Start()
	for range 3 {
		select {
		case <-ran:
		case <-time.After(10 * time.Second):
			t.Fatal("they do not run")
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		st := s.Status()
		if len(st) != 4 || st[0].Name != "good" || st[3].Name != "later" {
			t.Fatalf("%+v", st)
		}
		if st[0].Runs == 1 && st[1].Runs == 1 && st[2].Runs == 1 {
			if st[0].Problem != "" || st[0].Good == "" || st[1].Problem != "no room" || st[1].Failures != 1 || st[1].Good != "" || st[2].Problem != "" || st[2].Good != "" || st[3].Runs != 0 || st[3].Next == "" {
				t.Errorf("%+v", st)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", st)
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.Contains(text, "schedule=bad") || strings.Contains(text, "schedule=nothing") {
		t.Errorf("logged: %s", text)
	}
}
