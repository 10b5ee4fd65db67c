// Command mcpwire lists and calls the tools of MCP servers. "mcpwire demo" shows what it does.
package main

import (
	"context"
	"os"

	"mcpwire/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
