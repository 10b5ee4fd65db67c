package soak_test

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/transport/transporttest"
)

// soakVariable is how long TestSoak is to take; it is skipped without.
const soakVariable = "SOAKTIME"

const (
	soakPipes   = 100
	soakWebs    = 200
	soakTimeout = 2 * time.Second
	samples     = 4 // the first of them, of a warmed-up process, is what the others are compared with
)

// A soak is hundreds of lines with faults that are kept busy.
type soak struct {
	addr    string // of the server on the web, behind the proxy
	last    atomic.Int64
	lines   atomic.Int64 // opened so far
	counts  [outcomes]atomic.Int64
	stop    chan struct{}
	pause   atomic.Pointer[barrier]
	names   []string // of the lines
	running sync.WaitGroup

	mu     sync.Mutex
	broken []error
}

// arrivalLimit is how long lines may take to carry a call each.
const arrivalLimit = 2 * time.Minute

// A barrier is where all lines wait, each when it stands and has just carried a call.
type barrier struct {
	resume chan struct{} // closed when they may go on
	all    chan struct{} // closed when all have come

	mu      sync.Mutex
	missing map[string]bool
}

func newBarrier(lines []string) *barrier {
	b := &barrier{resume: make(chan struct{}), all: make(chan struct{}), missing: map[string]bool{}}
	for _, line := range lines {
		b.missing[line] = true
	}
	return b
}

// arrive has a line wait until all may go on.
func (b *barrier) arrive(line string) {
	b.mu.Lock()
	if delete(b.missing, line); len(b.missing) == 0 {
		close(b.all)
	}
	b.mu.Unlock()
	<-b.resume
}

// wait waits until all lines have come, or returns an error that names those that have not.
func (b *barrier) wait(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-b.all:
		return nil
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.missing) == 0 {
		return nil
	}
	return fmt.Errorf("%d lines have not carried a call within %v: %s",
		len(b.missing), limit, strings.Join(slices.Sorted(maps.Keys(b.missing)), ", "))
}

func TestABarrierNamesTheLinesThatDoNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBarrier([]string{"a", "b", "c"})
		var running sync.WaitGroup
		running.Go(func() { b.arrive("b") })
		err := b.wait(time.Minute)
		if err == nil || err.Error() != "2 lines have not carried a call within 1m0s: a, c" {
			t.Errorf("it says %v", err)
		}
		running.Go(func() { b.arrive("c") })
		running.Go(func() { b.arrive("a") })
		if err := b.wait(time.Minute); err != nil {
			t.Error(err)
		}
		close(b.resume)
		running.Wait()
	})
}

func TestSoak(t *testing.T) {
	total, err := time.ParseDuration(os.Getenv(soakVariable))
	if os.Getenv(soakVariable) == "" {
		t.Skip("set " + soakVariable + " to a duration, such as 1m")
	}
	if err != nil {
		t.Fatal(err)
	}
	transporttest.CheckLeaks(t)
	watchStalls(t)
	s := &soak{addr: startWeb(t), stop: make(chan struct{})}
	for i := range soakPipes + soakWebs {
		k := kinds[i%2]
		if i >= soakPipes {
			k = kinds[2+i%(len(kinds)-2)]
		}
		name := fmt.Sprintf("line %03d (%v)", i, k)
		s.names = append(s.names, name)
		s.running.Go(func() { s.keepBusy(k, name, uint64(i)) })
	}
	t.Log(header)
	var all []sample
	start := time.Now()
	for i := range samples {
		time.Sleep(time.Until(start.Add(total * time.Duration(i+1) / samples)))
		taken, err := s.sample(time.Since(start))
		if err != nil {
			t.Error(err)
			break
		}
		all = append(all, taken)
		t.Log(taken)
	}
	close(s.stop)
	s.running.Wait()
	for _, err := range s.broken[:min(10, len(s.broken))] {
		t.Error(err)
	}
	if len(s.broken) > 10 {
		t.Errorf("and %d more", len(s.broken)-10)
	}
	if len(all) == samples {
		for _, problem := range all[samples-1].above(all[0]) {
			t.Error(problem)
		}
	}
	if s.counts[failed].Load() == 0 {
		t.Error("there were no faults")
	}
}

// keepBusy opens a line, calls on it until it breaks, and opens the next.
func (s *soak) keepBusy(k kind, name string, number uint64) {
	for life := uint64(0); ; life++ {
		select {
		case <-s.stop:
			return
		default:
		}
		faults := fmt.Sprintf(faultsForm, number<<32+life, 1500, 1, 2)
		c, err := k.connect(s.addr, faults, 20*time.Second)
		s.note(err)
		if c == nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.lines.Add(1)
		s.use(c, name)
		s.note(closeLine(c))
	}
}

// note keeps an error if it is that of a broken promise.
func (s *soak) note(err error) {
	if errors.Is(err, errBroken) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken = append(s.broken, err)
	}
}

// use calls until the line has ended, or three calls in a row have failed.
func (s *soak) use(c *client.Client, line string) {
	for failures := 0; failures < 3; {
		select {
		case <-s.stop:
			return
		case <-time.After(time.Duration(50+rand.IntN(100)) * time.Millisecond):
		}
		result, err := call(c, s.last.Add(1), soakTimeout)
		s.counts[result].Add(1)
		s.note(err)
		if result == failed {
			failures++
			continue
		}
		failures = 0
		if b := s.pause.Load(); b != nil {
			b.arrive(line)
		}
	}
}

// sample stops all lines for a moment, each when it stands, so that samples can be compared.
func (s *soak) sample(at time.Duration) (sample, error) {
	b := newBarrier(s.names)
	s.pause.Store(b)
	defer close(b.resume)
	defer s.pause.Store(nil)
	if err := b.wait(arrivalLimit); err != nil {
		return sample{}, err
	}
	taken := take(at)
	taken.lines = s.lines.Load()
	taken.worked, taken.failed, taken.damaged = s.counts[worked].Load(), s.counts[failed].Load(), s.counts[damaged].Load()
	return taken, nil
}

// startWeb starts a process that serves HTTP behind a proxy with faults, and returns the proxy's address. It ends with
// the test.
func startWeb(t *testing.T) string {
	t.Helper()
	web := exec.Command(os.Args[0])
	web.Env = append(os.Environ(), role+"=web", faultsVariable+"="+fmt.Sprintf(faultsForm, 1, 1500, 1, 2))
	web.Stderr = os.Stderr
	in, err := web.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := web.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = web.Wait() // its end is all that matters
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(addr)
}

// playWeb is that process. It ends when its input does.
func playWeb(toServer, toClient transporttest.Faults) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &webServer{streams: map[string]chan []byte{}}, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener) //nolint:errcheck // it ends with the process
	proxy, err := transporttest.NewProxy(listener.Addr().String(), toServer, toClient)
	if err != nil {
		return err
	}
	fmt.Println(proxy.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return nil
}
