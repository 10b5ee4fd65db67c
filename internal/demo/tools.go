package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type message struct {
	Message string `json:"message" jsonschema:"what to give back"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in message) (*mcp.CallToolResult, any, error) {
	return text(in.Message), nil, nil
}

type countdownInput struct {
	Seconds float64 `json:"seconds,omitempty" jsonschema:"how long it takes in all; 2 unless given"`
	Steps   int     `json:"steps,omitempty" jsonschema:"how many times it reports; 5 unless given"`
}

const maxSteps = 10_000

func countdown(ctx context.Context, req *mcp.CallToolRequest, in countdownInput) (*mcp.CallToolResult, any, error) {
	if in.Seconds == 0 {
		in.Seconds = 2
	}
	if in.Steps == 0 {
		in.Steps = 5
	}
	if in.Steps < 1 || in.Steps > maxSteps {
		return nil, nil, fmt.Errorf("steps must be from 1 to %d", maxSteps)
	}
	for done := 1; done <= in.Steps; done++ {
		if err := wait(ctx, in.Seconds/float64(in.Steps)); err != nil {
			return nil, nil, err
		}
		if err := progress(ctx, req, done, in.Steps); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("Lift-off after %d steps.", in.Steps)), nil, nil
}

// progress reports to a client that asked for it.
func progress(ctx context.Context, req *mcp.CallToolRequest, done, of int) error {
	token := req.Params.GetProgressToken()
	if token == nil {
		return nil
	}
	return req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(of), Message: fmt.Sprintf("%d to go", of-done),
	})
}

type sleepInput struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to wait"`
}

func sleep(ctx context.Context, _ *mcp.CallToolRequest, in sleepInput) (*mcp.CallToolResult, any, error) {
	if err := wait(ctx, in.Seconds); err != nil {
		return nil, nil, err
	}
	return text(fmt.Sprintf("Slept for %g s.", in.Seconds)), nil, nil
}

const maxSeconds = 24 * 60 * 60

// wait lets the time pass, unless the call is cancelled first.
func wait(ctx context.Context, seconds float64) error {
	if !(seconds >= 0 && seconds <= maxSeconds) {
		return fmt.Errorf("seconds must be from 0 to %d", maxSeconds)
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type reason struct {
	Reason string `json:"reason,omitempty" jsonschema:"what is said about it"`
}

func fail(_ context.Context, _ *mcp.CallToolRequest, in reason) (*mcp.CallToolResult, any, error) {
	if in.Reason == "" {
		in.Reason = "It did not work out, as asked."
	}
	return nil, nil, errors.New(in.Reason)
}

const crashStatus = 3

func crash(_ context.Context, _ *mcp.CallToolRequest, in reason) (*mcp.CallToolResult, any, error) {
	if in.Reason == "" {
		in.Reason = "the demo server was asked to crash"
	}
	fmt.Fprintln(os.Stderr, "fatal: "+in.Reason)
	os.Exit(crashStatus)
	return nil, nil, nil
}
