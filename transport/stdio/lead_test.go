package stdio_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"mcpwire/transport"
)

func TestACallerWhoReadsIsInterruptedInTheMiddleOfALine(t *testing.T) {
	s := open(t, "halves")
	for id := 1; id < 20; id += 2 {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		failed(t, s.Exchange(ctx, s.request(id, "")), transport.MaybeDelivered, context.DeadlineExceeded)
		cancel()
		soon(t, begin, time.Second)
		late := s.request(id+1, "")
		late.Timeout = 2 * time.Millisecond
		failed(t, s.Exchange(context.Background(), late), transport.MaybeDelivered, context.DeadlineExceeded)
		if got := s.answer(id); len(got) == 0 {
			// The first answer is whole with the second request, whoever has read its halves.
			waitFor(t, func() bool { return len(s.answer(id)) > 0 })
		}
	}
}

func TestWhatComesAfterTheLastAnswerIsHandedOver(t *testing.T) {
	s := open(t, "afterthought")
	for id := range 20 {
		s.mustAnswer(id, "")
		select {
		case <-s.received:
		case <-time.After(5 * time.Second):
			t.Fatal("the message is not handed over")
		}
	}
}

func TestTheEndIsSeenByWhoeverReads(t *testing.T) {
	for range 10 {
		s := open(t, "hang up")
		for id := range 2 {
			call := s.request(id, "")
			call.Timeout = 3 * time.Millisecond
			failed(t, s.Exchange(context.Background(), call), transport.MaybeDelivered, context.DeadlineExceeded)
		}
		err := s.Exchange(context.Background(), s.request(2, ""))
		if exit := exited(t, err); exit.Code != 3 {
			t.Errorf("got %+v", exit)
		}
	}
}

func TestCloseEndsACallerWhoReads(t *testing.T) {
	s := open(t, "echo")
	s.mustAnswer(1, "")
	silent := open(t, "deaf")
	silent.waitReady()
	for _, s := range []*server{s, silent} {
		ended := make(chan error)
		go func() {
			for id := 2; ; id++ {
				if err := s.Exchange(context.Background(), s.request(id, "")); err != nil {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
		go s.closeNow()
		begin := time.Now()
		if err := <-ended; err == nil {
			t.Error("the call has not failed")
		}
		soon(t, begin, time.Second)
	}
}

func TestCallersThatComeAndGoAllGetTheirOwn(t *testing.T) {
	s := open(t, "fitful")
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for n := range 150 {
				id := caller*1000 + n
				ctx, cancel := context.WithCancel(context.Background())
				call := s.request(id, "")
				switch rand.IntN(3) {
				case 0:
					time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
				default:
					call.Timeout = time.Duration(1+rand.IntN(20)) * time.Millisecond
				}
				begin := time.Now()
				if err := s.Exchange(ctx, call); err == nil && !bytes.Equal(s.answer(id), call.Body) {
					t.Errorf("got %q, want %q", s.answer(id), call.Body)
				}
				cancel()
				soon(t, begin, 2*time.Second)
			}
		})
	}
	all.Wait()
}

// waitFor waits until something is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to pass")
		}
	}
}
