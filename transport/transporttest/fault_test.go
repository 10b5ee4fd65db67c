package transporttest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mcpwire/transport/transporttest"
)

// text is of lines that can all be told apart.
func text(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestEachFaultDoesWhatItSays(t *testing.T) {
	in := text(200)
	for _, row := range []struct {
		name   string
		faults transporttest.Faults
		check  func(out string, err error) bool
	}{
		{"none", transporttest.Faults{}, func(out string, err error) bool { return err == nil && out == in }},
		{"cut", transporttest.Faults{Cut: 50}, func(out string, err error) bool {
			return errors.Is(err, transporttest.ErrCut) && out != "" && out != in && strings.HasPrefix(in, out)
		}},
		{"truncate", transporttest.Faults{Truncate: 100}, func(out string, err error) bool {
			return err == nil && len(out) < len(in) && len(out) > len(in)/2
		}},
		{"duplicate", transporttest.Faults{Duplicate: 100}, func(out string, err error) bool {
			return err == nil && len(out) > len(in)
		}},
		{"reorder", transporttest.Faults{Reorder: 100}, func(out string, err error) bool {
			sorted := func(s string) [256]int {
				var n [256]int
				for i := range len(s) {
					n[s[i]]++
				}
				return n
			}
			return err == nil && out != in && sorted(out) == sorted(in)
		}},
		{"delay", transporttest.Faults{Delay: 100}, func(out string, err error) bool { return err == nil && out == in }},
		{"spare", transporttest.Faults{Cut: 1000, Spare: 100}, func(out string, err error) bool {
			return errors.Is(err, transporttest.ErrCut) && out == in[:100]
		}},
	} {
		for _, way := range []string{"read", "written"} {
			t.Run(row.name+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					told := map[string]int{}
					row.faults.Told = func(fault string) { told[fault]++ }
					start := time.Now()
					out, err := pass(way, row.faults, in)
					if !row.check(out, err) {
						t.Errorf("error %v, %q", err, out)
					}
					if late := time.Since(start); late != time.Duration(told["delay"])*10*time.Millisecond {
						t.Errorf("it took %v, with %d delays", late, told["delay"])
					}
					want := 1
					if row.name == "none" || row.name == "spare" {
						want = 0
					}
					if told[row.name] < want || len(told) > 1 {
						t.Errorf("told %v", told)
					}
				})
			})
		}
	}
}

func TestWhatComesInTinyPiecesPassesUntouched(t *testing.T) {
	in := text(20)
	f := transporttest.Faults{Cut: 1000, Told: func(fault string) { t.Errorf("told of %q", fault) }}
	out, err := io.ReadAll(f.Reader(iotest.OneByteReader(strings.NewReader(in))))
	if err != nil || string(out) != in {
		t.Errorf("error %v, %q", err, out)
	}
}

func TestAChunkWithoutANeighbourIsNotToldAsReordered(t *testing.T) {
	for in, want := range map[string]bool{text(200)[:16]: false, text(200)[:96]: true} {
		told := false
		out, err := pass("written", transporttest.Faults{Reorder: 1000, Told: func(string) { told = true }}, in)
		if err != nil || told != want || (out != in) != want {
			t.Errorf("told: %v, error %v, %q", told, err, out)
		}
	}
}

// pass sends in through the faults.
func pass(way string, f transporttest.Faults, in string) (string, error) {
	var out bytes.Buffer
	if way == "read" {
		_, err := io.Copy(&out, f.Reader(iotest.DataErrReader(strings.NewReader(in))))
		return out.String(), err
	}
	_, err := io.WriteString(f.Writer(&out), in)
	return out.String(), err
}

func TestTheSameSeedGivesTheSameFaults(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(20) {
		f := transporttest.Faults{Seed: seed, Truncate: 50, Duplicate: 50, Reorder: 50}
		first, _ := pass("read", f, text(200))
		again, _ := pass("read", f, text(200))
		if first != again {
			t.Errorf("seed %d gives other faults the second time", seed)
		}
		seen[first]++
	}
	if len(seen) != 20 {
		t.Errorf("20 seeds give %d kinds of faults", len(seen))
	}
}

// echoServer sends back what it gets on a connection, until the end of the test.
func echoServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

func TestAProxyPassesOnBothWays(t *testing.T) {
	transporttest.CheckLeaks(t)
	for _, row := range []struct {
		name               string
		toServer, toClient transporttest.Faults
		most               int // bytes that come back: a connection that is cut may lose some of them
	}{
		{"all", transporttest.Faults{}, transporttest.Faults{}, len(text(500))},
		{"cut on the way there", transporttest.Faults{Cut: 1000, Spare: 30}, transporttest.Faults{}, 30},
		{"cut on the way back", transporttest.Faults{}, transporttest.Faults{Cut: 1000, Spare: 30}, 30},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := transporttest.NewProxy(echoServer(t), row.toServer, row.toClient)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			c, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			go func() {
				_, _ = io.WriteString(c, text(500)) // a cut shows in what comes back
				if tcp, ok := c.(*net.TCPConn); ok {
					_ = tcp.CloseWrite()
				}
			}()
			got, err := io.ReadAll(c)
			all := row.most == len(text(500))
			if len(got) > row.most || !strings.HasPrefix(text(500), string(got)) || all && (err != nil || len(got) < row.most) {
				t.Errorf("%d bytes came back, error %v", len(got), err)
			}
		})
	}
}

func TestAProxyEndsItsConnectionsWhenItIsClosed(t *testing.T) {
	transporttest.CheckLeaks(t)
	p, err := transporttest.NewProxy(echoServer(t), transporttest.Faults{}, transporttest.Faults{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection still stands")
	}
}
