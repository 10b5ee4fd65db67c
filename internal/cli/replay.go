package cli

import (
	"context"
	"io"
	"net"
	"os"

	"github.com/spf13/cobra"

	"mcpwire/internal/localhost"
	"mcpwire/replay"
)

// A replayFlags are those of "mcpwire replay".
type replayFlags struct {
	choice replay.Choice
	http   string
	strict bool
	delays bool
}

func replayCommand(a *app) *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Be a server that answers from a recording",
		Long: `replay is a server that answers from FILE, which "mcpwire record" or --trace has written, on standard input
and output or over HTTP. A request is answered as the same request was: the same method and params, whatever their
order and spelling, and whatever is in _meta. Requests that were made several times get their answers in order, then
the last. What was not recorded gets an error that tells the nearest request that was.

With --strict a request must come in the recorded order and as often as recorded, and at the end the exit code is 1 if
one was not recorded or did not come.`,
		Example: `  mcpwire replay session.jsonl                        over standard input and output
  mcpwire replay session.jsonl --http 127.0.0.1:8000  over HTTP
  mcpwire tools -- mcpwire replay session.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("one recording is wanted, got %d", len(args))
			}
			return a.replay(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "serve Streamable HTTP at `ADDRESS`, such as 127.0.0.1:8000, in place of pipes")
	flags.BoolVar(&f.strict, "strict", false, "want the recorded requests, all of them, in their order")
	flags.BoolVar(&f.delays, "delays", false, "answer as late as the recorded server did")
	flags.StringVar(&f.choice.Server, "server", "", "the `NAME` of the server, where the recording has several")
	flags.IntVar(&f.choice.Line, "line", 0, "the `NUMBER` of one connection to it (default all, one after the other)")
	return cmd
}

func (a *app) replay(ctx context.Context, path string, f *replayFlags) error {
	file, err := os.Open(path)
	if err != nil {
		return usagef("%w", err)
	}
	recording, err := replay.Load(file, f.choice)
	_ = file.Close() // it was read only
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	for _, note := range recording.Notes() {
		a.console.linef("mcpwire: %s: %s", path, note)
	}
	s := replay.NewServer(recording, replay.Options{
		File: path, Strict: f.strict, Delays: f.delays,
		OnMismatch: func(text string) { a.console.line("mcpwire: no answer: " + text) },
	})
	defer s.Close()
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	if f.http != "" {
		err = a.replayHTTP(ctx, s, path, f.http)
	} else {
		err = replayPipes(ctx, s, a.stdin, a.out.w)
	}
	if err == nil && f.strict {
		err = s.Err()
	}
	return err
}

// replayPipes serves until the host closes our input, or a signal comes, as it does from a host in a hurry.
func replayPipes(ctx context.Context, s *replay.Server, in io.Reader, out io.Writer) error {
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, in, out) }() // it may go on reading: nobody can end that
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (a *app) replayHTTP(ctx context.Context, s *replay.Server, path, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return usagef("--http: %w", err)
	}
	handler := s.Handler()
	if localhost.Is(listener.Addr().String()) {
		handler = localhost.Only(handler)
	}
	a.console.linef("mcpwire: replaying %s at http://%s/mcp", path, listener.Addr())
	defer context.AfterFunc(ctx, s.Close)()
	return serveUntil(ctx, listener, handler)
}
