package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"mcpwire/config"
	"mcpwire/internal/demo"
	"mcpwire/internal/proc"
)

const listening = "listening on " // what the demo server says before its URL

func demoServerCommand() *cobra.Command {
	var overHTTP bool
	cmd := &cobra.Command{
		Use:    demoServer,
		Short:  "Be the demo server, on standard input and output",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !overHTTP {
				return served(demo.Serve(cmd.Context()))
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() { // it ends with whoever holds the other end of standard input
				_, _ = io.Copy(io.Discard, cmd.InOrStdin())
				cancel()
			}()
			return demo.ServeHTTP(ctx, func(url string) error {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), listening+url)
				return served(err)
			})
		},
	}
	cmd.Flags().BoolVar(&overHTTP, "http", false, "serve over HTTP on a free loopback port until standard input ends")
	return cmd
}

// A demoProcess is this program, started again as a demo server over HTTP.
type demoProcess struct {
	target
	process *proc.Process
	drain   sync.WaitGroup
}

// startDemoProcess starts it and waits until it listens.
func startDemoProcess(ctx context.Context) (*demoProcess, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the demo server can't be started: %w", err)
	}
	p, err := proc.Start(proc.Spec{Command: exe, Args: []string{demoServer, "--http"}})
	if err != nil {
		return nil, err
	}
	d := &demoProcess{process: p}
	d.drain.Go(func() { _, _ = io.Copy(io.Discard, p.Stderr) })
	stop := context.AfterFunc(ctx, func() { _ = p.Stdout.Close() })
	url, err := listeningAt(p.Stdout)
	stop()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the demo server did not start to listen: %w", err), d.stop(ctx))
	}
	d.target = newTarget(config.Server{Name: demo.Name, URL: url}, url, &serverFlags{})
	return d, nil
}

// listeningAt reads the URL that the demo server says first.
func listeningAt(stdout io.Reader) (url string, err error) {
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", err
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), listening)
	if !ok {
		return "", fmt.Errorf("it said %.100q", line)
	}
	return url, nil
}

// stop ends the server.
func (d *demoProcess) stop(ctx context.Context) error {
	err := d.process.Shutdown(ctx)
	_ = d.process.Stdout.Close() // nobody reads it any more
	_ = d.process.Stderr.Close()
	d.drain.Wait()
	return err
}
