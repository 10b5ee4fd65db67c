// Package demo is the MCP server that mcpwire has built in, so that there is something to talk to on any machine. It
// stands on the official Go SDK: on purpose, the other end of the wire is somebody else's code.
package demo

import (
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is the name that the server gives itself, and the one it is known by where no file names another.
const Name = "demo"

const instructions = "A server to try a client on. Its tools add, echo, count, wait, log, learn, ask, fail and crash."

// Serve answers on standard input and output until the input ends or ctx is done. The end of the input is no error.
func Serve(ctx context.Context) error {
	err := newServer().Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed) {
		return nil
	}
	return err
}

func newServer() *mcp.Server {
	info := &mcp.Implementation{Name: Name, Title: "mcpwire demo server", Version: "1.0.0"}
	c, capabilities := &clock{}, &mcp.ServerCapabilities{}
	capabilities.AddExtension(skillsExtension, nil)
	capabilities.Logging = &mcp.LoggingCapabilities{} //nolint:staticcheck // as in say
	s := mcp.NewServer(info, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: capabilities, CompletionHandler: completeName,
		SubscribeHandler: c.subscribe, UnsubscribeHandler: c.unsubscribe,
	})
	s.AddTool(addTool, add)
	mcp.AddTool(s, &mcp.Tool{
		Name: "echo", Description: "Gives the message back.", Annotations: readOnly,
	}, echo)
	mcp.AddTool(s, &mcp.Tool{
		Name: "countdown", Description: "Counts down in steps and reports progress.", Annotations: readOnly,
	}, countdown)
	mcp.AddTool(s, &mcp.Tool{
		Name: "sleep", Description: "Answers late, and stops when the call is cancelled.", Annotations: readOnly,
	}, sleep)
	mcp.AddTool(s, &mcp.Tool{
		Name: "log", Description: "Sends a log message to a client that asks for its level.", Annotations: readOnly,
	}, logMessage)
	mcp.AddTool(s, &mcp.Tool{
		Name: "learn", Description: "Adds a tool to this server, until it ends.",
	}, learning(s))
	mcp.AddTool(s, &mcp.Tool{
		Name: "fail", Description: "Reports an error, as a tool does that could not do its work.", Annotations: readOnly,
	}, fail)
	mcp.AddTool(s, &mcp.Tool{
		Name: "crash", Description: "Ends the server: a reason on standard error, then exit status 3.",
	}, crash)
	addAsks(s)
	addResources(s)
	addClock(c, s)
	addTemplates(s)
	addPrompts(s)
	addSkills(s)
	return s
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
