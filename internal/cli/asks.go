package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"mcpwire/client"
	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
)

// askFlags say who answers what a server asks while a command runs. The zero value is for commands without the flags:
// somebody at the terminal is asked, if there is one.
type askFlags struct {
	given     bool     // the command has the flags
	files     []string // --answer
	roots     []string // --root
	noBrowser bool
	noAsk     bool
}

func (f *askFlags) add(cmd *cobra.Command) {
	f.given = true
	flags := cmd.Flags()
	flags.StringArrayVar(&f.files, "answer", nil, "`FILE` with answers to what the server asks, or - for standard input; "+
		"may be given several times")
	flags.StringArrayVar(&f.roots, "root", nil, "`DIR` that the server is told it may work in; may be given several times")
	flags.BoolVar(&f.noBrowser, "no-browser", false, "open no browser for an address that the server wants visited")
	flags.BoolVar(&f.noAsk, "no-ask", false, "tell the server that nobody can be asked")
}

// An asker answers what servers ask of the host (client.InputHandler): from files, else by asking whoever is at the
// terminal. It may be used from several goroutines.
//
// That forms and addresses can be asked for is told to every server, also where nobody is at a terminal and no file has
// answers: which tools a server shows must not depend on that, and a server that learns that a question was left
// unanswered (action "cancel") does no harm. So the user sees what was asked, and what to do. That a model can be asked
// is told only where somebody or some file can speak for one: a server that hears no has its own way, as a rule, and a
// refusal would spoil that.
type asker struct {
	*app
	flags   askFlags
	verbose bool
	person  *person // nil: nobody is there
	answers answers
	roots   []mcp.Root

	mu     sync.Mutex
	work   *askedWork // nil: none is under way, and nobody is asked
	visits map[string]context.CancelCauseFunc
	masks  map[string]func(string) string // by server
}

// An askedWork is what runs while a server asks.
type askedWork struct {
	done   <-chan struct{}
	end    context.CancelCauseFunc
	failed error // what ends it: a prepared answer that does not fit
	missed bool  // nobody has answered a question
}

// newAsker reads the files with answers.
func (a *app) newAsker(flags askFlags, verbose bool) (*asker, error) {
	k := &asker{
		app: a, flags: flags, verbose: verbose,
		visits: map[string]context.CancelCauseFunc{}, masks: map[string]func(string) string{},
	}
	for _, file := range flags.files {
		if err := k.answers.load(file, a.stdin); err != nil {
			return nil, err
		}
	}
	for _, dir := range flags.roots {
		root, err := rootOf(dir)
		if err != nil {
			return nil, err
		}
		k.roots = append(k.roots, root)
	}
	k.person = newPerson(a)
	return k, nil
}

// rootOf returns a folder or file as a server is told of it (2025-11-25, roots).
func rootOf(dir string) (mcp.Root, error) {
	path, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return mcp.Root{}, usagef("--root: %w", err)
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive of Windows
	}
	uri := url.URL{Scheme: "file", Path: slashed}
	return mcp.Root{URI: uri.String(), Name: filepath.Base(path)}, nil
}

// handle has the asker answer a server that will be connected with these options.
func (k *asker) handle(server string, o *client.Options) {
	h := &client.InputHandler{}
	if k.roots != nil {
		h.Roots = func(context.Context) ([]mcp.Root, error) { return k.roots, nil }
		o.Input = h
	}
	if k.flags.noAsk {
		return
	}
	o.Input = h
	h.ElicitURL = true
	h.Elicit = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return k.elicit(ctx, server, p)
	}
	if k.person != nil || k.answers.sample() {
		h.Sample = func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return k.sample(ctx, server, p)
		}
	}
	o.OnRequest = func(_ context.Context, method string, _ json.RawMessage) (json.RawMessage, error) {
		if method == mcp.MethodCreateMessage {
			k.miss(server, "asks for a model's answer, and there is no model here", "")
		}
		return nil, &rpc.Refusal{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found: " + method}
	}
	host := o.OnNotification
	o.OnNotification = func(ctx context.Context, method string, params json.RawMessage) {
		k.notified(method, params)
		if host != nil {
			host(ctx, method, params)
		}
	}
}

// connected has what is told of a server's questions masked. Before, it is not told what they say.
func (k *asker) connected(server string, c *client.Client) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.masks[server] = c.Mask
}

// masked returns a text of a server without the secrets of its configuration; nothing before they are known.
func (k *asker) masked(server, text string) string {
	k.mu.Lock()
	mask := k.masks[server]
	k.mu.Unlock()
	if mask == nil {
		return ""
	}
	return mask(text)
}

// quoted returns what a server has said, in brackets, as it may be told of the run.
func (k *asker) quoted(server, said string) string {
	if said = brief(redact.Tokens(k.masked(server, said))); said != "" {
		said = " (" + said + ")"
	}
	return said
}

// during lets servers ask until finish is called. The context that it returns is done too when a prepared answer does
// not fit. finish takes the error of what ran, and returns what is to be told.
func (k *asker) during(ctx context.Context) (_ context.Context, finish func(error) error) {
	ctx, end := context.WithCancelCause(ctx)
	work := &askedWork{done: ctx.Done(), end: end}
	k.mu.Lock()
	k.work = work
	k.mu.Unlock()
	return ctx, func(err error) error {
		k.mu.Lock()
		k.work = nil
		failed, missed := work.failed, work.missed
		k.mu.Unlock()
		end(nil)
		return k.verdict(err, failed, missed)
	}
}

func (k *asker) verdict(err, failed error, missed bool) error {
	_, toolFailed := errors.AsType[*toolError](err)
	input, _ := errors.AsType[*client.InputError](err)
	refusal, refused := errors.AsType[*rpc.Refusal](err)
	switch {
	case errors.Is(err, errInterrupted) && failed == nil:
		return err
	case failed != nil:
		return failed
	case missed && k.flags.given && (err == nil || toolFailed):
		return &statusError{exitFailed} // it has been told
	case input != nil && refused && refusal.Code == jsonrpc.CodeMethodNotFound:
		return fmt.Errorf("%w; %s", err, k.remedy())
	}
	return err
}

// asked returns a context that ends with the question or with what runs, whichever is first; false where nothing runs.
func (k *asker) asked(ctx context.Context) (_ context.Context, done func(), ok bool) {
	k.mu.Lock()
	work := k.work
	k.mu.Unlock()
	if work == nil {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-work.done:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		wg.Wait()
	}, true
}

// fail ends what runs: a prepared answer does not fit, which is ours to tell and not the server's to know.
func (k *asker) fail(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.work != nil && k.work.failed == nil {
		k.work.failed = &usageError{err}
		k.work.end(err)
	}
	return &rpc.Refusal{Code: jsonrpc.CodeInternalError, Message: "the client has no valid answer"}
}

// miss tells of a question that nobody answers, and what the server said of it.
func (k *asker) miss(server, what, said string) {
	k.mu.Lock()
	if k.work != nil {
		k.work.missed = true
	}
	k.mu.Unlock()
	k.console.line("mcpwire: " + server + " " + what + k.quoted(server, said) + "; " + k.remedy())
}

// remedy tells what somebody can do whose server asks for what nobody answers.
func (k *asker) remedy() string {
	switch {
	case k.flags.noAsk:
		return "--no-ask is given"
	case !k.flags.given:
		return "run this on a terminal to answer"
	case k.flags.files != nil:
		return "no answer in " + strings.Join(k.flags.files, ", ") + " is for it; add one, or run this on a terminal"
	}
	return "give the answer with --answer FILE, or run this on a terminal"
}

// elicit has a form filled in, or an address visited.
func (k *asker) elicit(ctx context.Context, server string, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	k.note(server, "asks", p.Message)
	if prepared := k.answers.elicitation(server, p); prepared != nil {
		result, err := prepared.elicited(p)
		if err != nil {
			return nil, k.fail(err)
		}
		if p.Mode == mcp.ElicitURL && result.Action == mcp.ElicitAccept {
			k.console.line(server + " wants this address visited, which " + prepared.place + " accepts: " +
				visible(k.masked(server, p.URL)))
		}
		return result, nil
	}
	ctx, done, ok := k.asked(ctx)
	defer done()
	if k.person == nil || !ok {
		k.miss(server, "asks for "+k.wanted(server, p)+", and nobody is here to answer", p.Message)
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	result := &mcp.ElicitResult{Action: mcp.ElicitAccept}
	err := k.person.talk(ctx, func(d *dialog) (err error) {
		if p.Mode == mcp.ElicitURL {
			return k.visit(d, server, p)
		}
		result.Content, err = d.fillIn(server, p)
		return err
	})
	switch {
	case errors.Is(err, errDeclined):
		result.Action = mcp.ElicitDecline
	case err != nil: // somebody has left, or the answer is not wanted any more
		result.Action = mcp.ElicitCancel
		if !errors.Is(err, errCanceled) && ctx.Err() == nil {
			k.console.line("mcpwire: warning: the answer can't be read: " + errorText(err))
		}
	}
	return result, nil
}

// wanted tells on one line what a server asks for.
func (k *asker) wanted(server string, p *mcp.ElicitParams) string {
	if p.Mode == mcp.ElicitURL {
		return "a visit to " + redact.Tokens(visible(k.masked(server, p.URL)))
	}
	var names []string
	for _, f := range formFields(p.RequestedSchema) {
		names = append(names, f.name)
	}
	if names == nil {
		return "a yes"
	}
	return brief(redact.Tokens(k.masked(server, strings.Join(names, ", "))))
}

// note tells of a question where the run is shown.
func (k *asker) note(server, what, said string) {
	if k.verbose {
		k.console.line("[" + server + "] " + what + k.quoted(server, said))
	}
}
