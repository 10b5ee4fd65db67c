package manager

import (
	"context"

	"mcpwire/client"
)

// Diagram is what ARCHITECTURE.md shows.
var Diagram = diagram

// Judge tells what follows from the error of a call: "finished", "unsent" or "unknown".
func Judge(ctx context.Context, err error) string {
	s := &supervisor{inbox: make(chan func())}
	ended, end := context.WithCancel(context.Background())
	end()
	s.base = ended
	return [...]string{"finished", "unsent", "unknown"}[s.judge(ctx, &client.Client{}, err)]
}
