package demo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	clockURI  = "demo://clock"
	clockTick = 500 * time.Millisecond
)

// A clock is a resource that changes while somebody is subscribed to it. At the level debug each tick is logged too.
type clock struct {
	server *mcp.Server // set before anybody can subscribe

	mu       sync.Mutex
	watching map[*mcp.ServerSession]func() error // logs a tick
}

func addClock(c *clock, s *mcp.Server) {
	c.server, c.watching = s, map[*mcp.ServerSession]func() error{}
	s.AddResource(&mcp.Resource{
		URI: clockURI, Name: "clock", MIMEType: "text/plain",
		Description: "The time of day. It changes twice a second while somebody is subscribed.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		now := time.Now().Format("15:04:05.0") + "\n"
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: now})
	})
}

func (c *clock) subscribe(ctx context.Context, req *mcp.SubscribeRequest) error {
	if req.Params.URI != clockURI {
		return nil // the others never change
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watching) == 0 {
		time.AfterFunc(clockTick, c.tick)
	}
	ctx = context.WithoutCancel(ctx) // a request that subscribes is over before the first tick
	c.watching[req.Session] = func() error { return say(ctx, req.Session, "debug", "clock", "tick") }
	return nil
}

func (c *clock) unsubscribe(_ context.Context, req *mcp.UnsubscribeRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Params.URI == clockURI {
		delete(c.watching, req.Session)
	}
	return nil
}

// tick tells who watches, and goes on while somebody does.
func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watching) == 0 {
		return
	}
	for session, log := range c.watching {
		if log() != nil { // it has gone without a word
			delete(c.watching, session)
		}
	}
	_ = c.server.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: clockURI})
	time.AfterFunc(clockTick, c.tick)
}

// say sends a log message to a client that wants those of its level.
func say(ctx context.Context, to *mcp.ServerSession, level, logger, text string) error {
	//nolint:staticcheck // deprecated means that it will go some day; clients are to be tried on it until then
	return to.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: logger, Data: text})
}

type logInput struct {
	Message string `json:"message" jsonschema:"what is logged"`
	Level   string `json:"level,omitempty" jsonschema:"how severe it is, from debug to emergency; info unless given"`
}

func logMessage(ctx context.Context, req *mcp.CallToolRequest, in logInput) (*mcp.CallToolResult, any, error) {
	if in.Level == "" {
		in.Level = "info"
	}
	if err := say(ctx, req.Session, in.Level, Name, in.Message); err != nil {
		return nil, nil, err
	}
	return text("Logged, for those who want messages of this level."), nil, nil
}

type learnInput struct {
	Name string `json:"name" jsonschema:"of a tool that is to be there from now on"`
}

// learning returns a tool that adds tools.
func learning(s *mcp.Server) mcp.ToolHandlerFor[learnInput, any] {
	return func(_ context.Context, _ *mcp.CallToolRequest, in learnInput) (*mcp.CallToolResult, any, error) {
		if in.Name == "" {
			return nil, nil, fmt.Errorf("a name is needed")
		}
		said := fmt.Sprintf("I can %s.", in.Name)
		mcp.AddTool(s, &mcp.Tool{Name: in.Name, Description: "Was learned.", Annotations: readOnly},
			func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return text(said), nil, nil
			})
		return text(said), nil, nil
	}
}
