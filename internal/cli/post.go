package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mcpwire/internal/jsonscan"
	"mcpwire/oneshot"
	"mcpwire/transport"
)

func postCommand(a *app) *cobra.Command {
	p := &post{app: a}
	cmd := &cobra.Command{
		Use:   "post [flags] URL METHOD [JSON]",
		Short: "Send one request to a URL, without a handshake, and print the whole answer",
		Long: `Send one JSON-RPC request to a URL, without a handshake, and print the whole answer.

The answer is printed as it came, an error of the server's too; the exit code is then 0 all the same. JSON is the
request's params.`,
		Example: `  mcpwire post http://localhost:3001/mcp tools/list
  mcpwire post http://localhost:3001/mcp tools/call '{"name":"echo","arguments":{"message":"hi"}}'`,
		RunE: p.run,
	}
	flags := cmd.Flags()
	flags.Var(&p.timeout, "timeout", "how long to wait for the answer, such as 30s; 0: no limit (default 30s)")
	flags.StringArrayVar(&p.headers, "header", nil, "`'NAME: VALUE'` to send; may be given several times")
	flags.BoolVarP(&p.verbose, "verbose", "v", false, "show the HTTP exchange's status and time")
	return cmd
}

// A post is one run of the command post.
type post struct {
	*app
	timeout timeoutFlag
	headers []string
	verbose bool
}

func (p *post) run(cmd *cobra.Command, words []string) error {
	if len(words) < 2 || len(words) > 3 {
		return usagef("a URL, a method and at most one JSON are wanted, as in \"%s http://localhost:3001/mcp tools/list\"",
			cmd.CommandPath())
	}
	if _, ok := hostOf(words[0]); !ok {
		return usagef("%q is no URL; one that begins with http:// or https:// is wanted", words[0])
	}
	var params json.RawMessage
	if len(words) == 3 {
		if params = json.RawMessage(words[2]); !isParams(params) {
			return usagef("the params %.60q are not a JSON object or array", words[2])
		}
	}
	headers, err := pairs(p.headers, ":", "--header", "'NAME: VALUE'")
	if err != nil {
		return err
	}
	caller := oneshot.Caller{Headers: headers}
	if p.verbose {
		caller.OnTrace = func(x oneshot.Trace) { p.console.line(exchangeText(x)) }
	}
	ended := p.tracedPost(&caller, words[0], words[1], params)
	return p.send(cmd.Context(), caller, words[0], words[1], params, ended)
}

func isParams(text json.RawMessage) bool {
	i := jsonscan.Space(text, 0)
	return i < len(text) && (text[i] == '{' || text[i] == '[') && jsonscan.Valid(text)
}

func (p *post) send(
	ctx context.Context, caller oneshot.Caller, url, method string, params json.RawMessage,
	ended func(json.RawMessage, error),
) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	limit, work := transport.DefaultTimeout, ctx
	if p.timeout.value != nil {
		limit = *p.timeout.value
	}
	if limit > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, limit, &transport.TimeoutError{What: "request", After: limit})
		defer cancel()
		work = bounded
	}
	done := p.console.wait("waiting for " + method)
	envelope, err := caller.Call(work, url, method, params)
	done()
	ended(envelope, err)
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	return p.out.show(fmt.Sprintln(string(envelope)))
}
