package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/internal/localhost"
	"mcpwire/internal/proc"
	"mcpwire/internal/recorder"
	"mcpwire/internal/redact"
)

// A recordFlags are those of "mcpwire record".
type recordFlags struct {
	serverFlags
	out    string
	listen string
}

func recordCommand(a *app) *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record -o FILE {SERVER | -- COMMAND ARG...}",
		Short: "Stand between a host and a server, and record what passes",
		Long: `record stands in for a server: put it where a host has the server's command, and it starts the server and
passes everything on, in both directions and unchanged, while it writes what passes to FILE. "mcpwire replay FILE" is
then a server that answers from it, and "mcpwire trace FILE" shows it.

A server on the web is recorded by a proxy on this machine, whose address is told on standard error: give that to the
host in place of the server's. What the server's entry adds (headers, a login) is added by the proxy.

Secrets are masked in FILE, which only you may read. The exit code is the server's.`,
		Example: `  mcpwire record -o session.jsonl -- npx -y some-mcp-server
  mcpwire record -o session.jsonl files
  mcpwire record -o session.jsonl https://mcp.example.com/mcp --listen 127.0.0.1:8000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return usagef("no file is given; write \"%s -o FILE ...\"", cmd.CommandPath())
			}
			t, err := a.onlyServer(cmd, args, &f.serverFlags)
			if err != nil {
				return err
			}
			return a.record(cmd.Context(), t, f)
		},
	}
	f.addFiles(cmd)
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "the `FILE` to write")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "`ADDRESS` of the proxy for a server on the web")
	return cmd
}

// record records one server.
func (a *app) record(ctx context.Context, t target, f *recordFlags) error {
	kind, err := t.Kind()
	if err != nil {
		return err
	}
	s, secrets := t.Server, []string(nil)
	if s.Origin != "" {
		if s, secrets, err = s.Expand(os.LookupEnv); err != nil {
			return err
		}
	}
	masks := known(s, secrets)
	var through *mcpwire.Carriage
	if kind != config.Stdio {
		if through, err = mcpwire.Carry(t.Server, a.options(t, &f.serverFlags)); err != nil {
			return err
		}
		defer through.Close()
		masks = through.Mask
	}
	file, err := privateFile(f.out)
	if err != nil {
		return usagef("-o: %w", err)
	}
	r := recorder.New(file, recorder.Options{
		Server: s.Name, Known: masks,
		OnTrouble: func(err error) { a.console.linef("mcpwire: warning: the recording %s is not whole: %v", f.out, err) },
	})
	if kind == config.Stdio {
		err = a.recordProcess(ctx, r, s)
	} else {
		err = a.recordWeb(ctx, r, through, f.listen)
	}
	r.Close()
	_ = file.Close() // it may be stuck: then that has been told
	return err
}

// known masks what is known as secret: what the entry says, and what the server may have from our environment.
func known(s config.Server, secrets []string) func(string) string {
	all := append(redact.Secrets(s.Env), secrets...)
	all = append(all, redact.Secrets(s.Headers)...)
	if s.Command != "" {
		for _, variable := range os.Environ() {
			name, value, _ := strings.Cut(variable, "=")
			if redact.SecretName(name) && len(value) >= shortestInherited {
				all = append(all, value)
			}
		}
	}
	set := redact.NewSet(all...)
	if set == nil {
		return nil
	}
	return set.Text
}

// shortestInherited is the length in bytes below which a variable of our environment, whatever its name, is too common
// a text to be masked.
const shortestInherited = 8

// recordProcess stands between our standard files and the server.
func (a *app) recordProcess(ctx context.Context, r *recorder.Recorder, s config.Server) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	spec := proc.Spec{
		Command: s.Command, Args: s.Args, Env: s.Env, Pass: s.EnvInherit.Pass, Dir: s.Cwd,
	}
	if s.EnvInherit.Minimal {
		spec.Inherit = proc.InheritMinimal
	}
	if folder, err := config.StateDir(); err == nil {
		spec.Ledger = proc.LedgerIn(filepath.Join(folder, "processes"))
		_, _ = spec.Ledger.ReapOnce(ctx) // what can't be ended keeps nobody from starting something else
	}
	state, err := r.Process(ctx, stop.hurried, spec, recorder.Streams{In: a.stdin, Out: a.out.w, Err: a.console.w})
	switch {
	case err != nil:
		return err
	case state.Signal != "":
		return &statusError{signalBase + signals[state.Signal]}
	case state.Code != 0:
		return &statusError{state.Code}
	}
	return nil
}

// recordWeb is a proxy until a signal comes.
func (a *app) recordWeb(ctx context.Context, r *recorder.Recorder, through *mcpwire.Carriage, address string) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return usagef("--listen: %w", err)
	}
	if !localhost.Is(listener.Addr().String()) {
		_ = listener.Close()
		return usagef("--listen: %s can be reached from elsewhere; an address such as 127.0.0.1:8000 is wanted", address)
	}
	handler := localhost.Only(r.Handler(recorder.Target{
		URL: through.URL, Headers: through.Headers, Through: through,
	}))
	a.console.linef("mcpwire: recording; the address for the host is http://%s%s", listener.Addr(),
		through.URL.EscapedPath())
	return serveUntil(ctx, listener, handler)
}

// serveUntil serves until ctx is done, and ends all exchanges then.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 30 * time.Second}
	var ending sync.WaitGroup
	ending.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer ending.Done()
		_ = server.Close()
	})
	err := server.Serve(listener)
	if stop() {
		return err
	}
	ending.Wait()
	return nil
}

const signalBase = 128 // what shells add to the number of a signal

// signals are the numbers of those that end programs.
var signals = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGFPE": 8, "SIGKILL": 9,
	"SIGSEGV": 11, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
}

// A statusError is the exit status of a program that we stand in for. Nothing is to be said of it.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

// privateFile makes a file that only we may read, or empties the one that there is.
func privateFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
		_ = file.Chmod(0o600) // where the system has no such thing, the folder decides
	}
	return file, nil
}
