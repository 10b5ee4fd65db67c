package soak_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"time"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/rpc"
	"mcpwire/transport"
	"mcpwire/transport/legacysse"
	"mcpwire/transport/stdio"
	"mcpwire/transport/streamable"
	"mcpwire/transport/transporttest"
)

// faultsVariable is where a server process finds its faults.
const faultsVariable = "SOAK_TEST_FAULTS"

// rates returns faults with the odds of every fate as so many of a thousand chunks.
func rates(seed uint64, spare, cut, other int) transporttest.Faults {
	return transporttest.Faults{
		Seed: seed, Spare: spare, Cut: cut, Truncate: other, Duplicate: other, Reorder: other, Delay: other,
	}
}

const faultsForm = "%d %d %d %d"

// faultsFrom reads the parameters of rates, and returns the faults both ways.
func faultsFrom(text string) (toServer, toClient transporttest.Faults) {
	var seed uint64
	var spare, cut, other int
	if _, err := fmt.Sscanf(text, faultsForm, &seed, &spare, &cut, &other); err != nil {
		panic(fmt.Sprintf("faults %q: %v", text, err))
	}
	return rates(2*seed, spare, cut, other), rates(2*seed+1, spare, cut, other)
}

// A kind is a carrier and an era.
type kind struct{ carrier, era string }

func (k kind) String() string { return k.carrier + " " + k.era }

// kinds are all that there are: HTTP with SSE has sessions only.
var kinds = []kind{
	{"stdio", "session"},
	{"stdio", "stateless"},
	{"json", "session"},
	{"json", "stateless"},
	{"events", "session"},
	{"events", "stateless"},
	{"sse", "session"},
}

// transport returns the carrier to a server with faults: a process of its own, or at an address.
func (k kind) transport(addr, faults string) transport.Transport {
	url := "http://" + addr + "/" + k.era + "/" + k.carrier
	switch k.carrier {
	case "stdio":
		return stdio.New(stdio.Options{
			Command: os.Args[0], Inherit: stdio.InheritMinimal,
			// A server that is built to find data races takes a second to exit otherwise.
			Env:       map[string]string{role: "lines " + k.era, faultsVariable: faults, "GORACE": "atexit_sleep_ms=0"},
			StdinWait: 500 * time.Millisecond,
		})
	case "sse":
		return legacysse.New(legacysse.Options{URL: url})
	}
	return streamable.New(streamable.Options{URL: url})
}

// connect connects within timeout, or returns an error that is as it must be, in time.
func (k kind) connect(addr, faults string, timeout time.Duration) (c *client.Client, err error) {
	o := client.Options{Server: k.String(), ConnectTimeout: timeout, Protocol: client.ProtocolSession}
	if k.era == "stateless" {
		o.Protocol = client.ProtocolStateless
	}
	wrong := inTime(timeout, func() error {
		c, err = client.Connect(context.Background(), k.transport(addr, faults), o)
		return err
	})
	if wrong != nil {
		err = fmt.Errorf("%w: connect: %w", errBroken, wrong)
	}
	return c, err
}

// errBroken tells that the client did what it must never do.
var errBroken = errors.New("a promise is broken")

// late is how much later than its deadline a call may end.
const late = time.Second

// inTime runs f, and tells what is wrong with its error or with the time that it took.
func inTime(timeout time.Duration, f func() error) error {
	start, stalled := time.Now(), stalls.sum()
	err := f()
	stalled = stalls.sum() - stalled
	if took := time.Since(start); took > timeout+late+stalled {
		return fmt.Errorf("it took %v, the deadline was %v (and the machine stood still for %v): %w",
			took, timeout, stalled, err)
	}
	if err != nil && !typed(err) {
		return fmt.Errorf("the error is a %T: %w", err, err)
	}
	return nil
}

// typed reports whether an error is one of those that the client states.
func typed(err error) bool {
	var carriage *transport.Error
	var refused *jsonrpc.Error
	var undecodable *rpc.DecodeError
	var version *client.VersionError
	return errors.As(err, &carriage) || errors.As(err, &refused) || errors.As(err, &undecodable) ||
		errors.As(err, &version)
}

// An outcome is what came of a call.
type outcome uint8

// The outcomes. A damaged result is one that was changed on its way so that it is still a message.
const (
	worked outcome = iota
	failed
	damaged
	outcomes = 3
)

// call calls the tool with a text that only the nth call has, and checks what comes of it.
func call(c *client.Client, n int64, timeout time.Duration) (outcome, error) {
	text := payload(n)
	var got string
	var err error
	wrong := inTime(timeout, func() error {
		r, e := c.CallTool(context.Background(), "echo", map[string]string{"text": text}, &client.CallOptions{Timeout: timeout})
		if err = e; e == nil && len(r.Content) > 0 {
			got = r.Content[0].Text
		}
		return e
	})
	switch {
	case wrong != nil:
		return failed, fmt.Errorf("%w: call %d: %w", errBroken, n, wrong)
	case err != nil:
		return failed, err
	case got == text:
		return worked, nil
	case intact(got):
		return failed, fmt.Errorf("%w: call %d got the result of another: %s", errBroken, n, got)
	}
	return damaged, nil
}

// payload returns the text of the nth call, with a checksum.
func payload(n int64) string {
	text := fmt.Sprintf("call %d of %s ", n, strings.Repeat("many ", int(n%40)))
	return fmt.Sprintf("%s%08x", text, crc32.ChecksumIEEE([]byte(text)))
}

// intact reports whether a text is the whole payload of some call.
func intact(text string) bool {
	if len(text) < 8 {
		return false
	}
	body, sum := text[:len(text)-8], text[len(text)-8:]
	return sum == fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
}

// closeLine closes a client, which must not take longer than its ladder.
func closeLine(c *client.Client) error {
	if wrong := inTime(5*time.Second, func() error { return c.Close(context.Background()) }); wrong != nil {
		return fmt.Errorf("%w: Close: %w", errBroken, wrong)
	}
	return nil
}
