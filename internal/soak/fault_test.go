// Package soak_test runs the client over lines with faults: every carrier in both eras for a moment, and, when it is
// asked to, hundreds of lines for as long as is wanted.
package soak_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire/transport/transporttest"
)

func TestMain(m *testing.M) {
	if as := os.Getenv(role); as != "" {
		playServer(as)
		return
	}
	os.Exit(m.Run())
}

// newWeb starts a server on loopback, which is closed at the end of the test, and returns its address.
func newWeb(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(&webServer{streams: map[string]chan []byte{}})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return strings.TrimPrefix(server.URL, "http://")
}

func TestWhateverHappensOnALineEveryCallEndsInTimeAndRightly(t *testing.T) {
	const (
		seeds   = 20
		calls   = 8
		timeout = 500 * time.Millisecond
	)
	transporttest.CheckLeaks(t)
	watchStalls(t)
	addr := newWeb(t)
	var counts [outcomes]atomic.Int64
	var last atomic.Int64
	slots := make(chan struct{}, 8)
	var running sync.WaitGroup
	for seed := range uint64(seeds) {
		for _, k := range kinds {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				err := faulty(k, addr, seed, func(send func(n int64) outcome) {
					var together sync.WaitGroup
					for range calls {
						together.Go(func() { counts[send(last.Add(1))].Add(1) })
					}
					together.Wait()
				}, timeout)
				if err != nil {
					t.Errorf("%v, seed %d: %v", k, seed, err)
				}
			})
		}
	}
	running.Wait()
	t.Logf("%d calls worked, %d failed, %d results were damaged",
		counts[worked].Load(), counts[failed].Load(), counts[damaged].Load())
	if counts[worked].Load() == 0 || counts[failed].Load() == 0 {
		t.Error("there must be some of both")
	}
}

// faulty opens a line of that kind with the seed's faults, has it used, and closes it. It returns what broke a promise.
func faulty(
	k kind, addr string, seed uint64, use func(send func(n int64) outcome), timeout time.Duration,
) error {
	// Every third line may break in the handshake already.
	spare := 600 * int(min(1, seed%3))
	cut, other := int(seed%5)*5, 5+int(seed%7)*5
	faults := fmt.Sprintf(faultsForm, seed, spare, cut, other)
	if k.carrier != "stdio" {
		toServer, toClient := faultsFrom(faults)
		proxy, err := transporttest.NewProxy(addr, toServer, toClient)
		if err != nil {
			return err
		}
		defer proxy.Close()
		addr = proxy.Addr()
	}
	c, err := k.connect(addr, faults, 3*time.Second)
	var mu sync.Mutex
	var broken []error
	if errors.Is(err, errBroken) {
		broken = append(broken, err)
	}
	if c == nil {
		return errors.Join(broken...)
	}
	use(func(n int64) outcome {
		o, err := call(c, n, timeout)
		if errors.Is(err, errBroken) {
			mu.Lock()
			defer mu.Unlock()
			broken = append(broken, err)
		}
		return o
	})
	return errors.Join(append(broken, closeLine(c))...)
}
