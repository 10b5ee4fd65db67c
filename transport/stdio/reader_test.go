package stdio //nolint:testpackage // what is tested is nothing to the outside

import (
	"context"
	"os"
	"testing"

	"mcpwire/transport"
)

// hearer is a receiver that does something at each message.
type hearer func()

func (f hearer) Receive(*transport.Call, []byte) transport.Verdict { f(); return transport.Reuse }
func (hearer) Oversize(_ *transport.Call, _, _ []byte, _ int64)    {}
func (hearer) Fault(error)                                         {}
func (hearer) Closed(error)                                        {}

func readerOf(t *testing.T, text string, heard hearer) *reader {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		out.Close()
	})
	if _, err := out.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return newReader(newSource(in), 0, heard, func([]byte) {}, make(chan struct{}))
}

func TestTheLeadIsNotPassedWhileThereAreMessages(t *testing.T) {
	var r *reader
	heard := 0
	r = readerOf(t, "{}\n\n{}\n{}\n \n", func() {
		heard++
		r.waits.Add(1) // a call begins
	})
	if !r.source.pausable {
		t.Skip("reading can't be paused here")
	}
	if !r.readUntilWanted() || heard != 3 {
		t.Errorf("it is passed after %d messages", heard)
	}
}

func TestTheLeadIsPassedWhenACallbackPanics(t *testing.T) {
	r := readerOf(t, "{}\n", func() { panic("the host's") })
	func() {
		defer func() { _ = recover() }()
		call := new(transport.Call)
		call.Start("request", 0)
		r.lead(context.Background(), call)
	}()
	select {
	case <-r.turn:
	default:
		t.Error("the lead is lost")
	}
}
