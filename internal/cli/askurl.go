package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"mcpwire/auth"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// afterVisits has work done and, if the server refuses it until addresses are visited, once more after those visits:
// what is refused so was not run (2025-11-25, elicitation, URL elicitation required error).
func (k *asker) afterVisits(ctx context.Context, server string, work func() error) error {
	err := work()
	refusal, _ := errors.AsType[*jsonrpc.Error](err)
	if refusal == nil || refusal.Code != mcp.CodeURLElicitationRequired || k.flags.noAsk {
		return err
	}
	var wanted mcp.URLElicitationData
	if mcp.Decode(refusal.Data, &wanted) != nil || len(wanted.Elicitations) == 0 {
		return err
	}
	for i := range wanted.Elicitations {
		p := &wanted.Elicitations[i]
		if p.Mode = mcp.ElicitURL; p.URL == "" {
			return err
		}
		answer, failure := k.elicit(ctx, server, p)
		if failure != nil || answer.Action != mcp.ElicitAccept {
			return err
		}
	}
	return work()
}

// errVisited tells that the server has seen that somebody is done at an address.
var errVisited = errors.New("the server has seen it")

// visit asks whether an address may be opened, opens it after a yes alone, and waits until the visit is over: a server
// that is told too soon would ask again. The address is never fetched (2025-11-25, elicitation, safe URL handling).
func (k *asker) visit(d *dialog, server string, p *mcp.ElicitParams) error {
	visited, seen := k.visited(d.ctx, p.ElicitationID)
	defer seen()
	lines := append([]string{d.console.bold(visible(server)) + " asks you to visit an address:"}, said(p.Message)...)
	lines = append(lines, "")
	lines = append(lines, d.addressLines(p.URL)...)
	if err := d.tell(lines...); err != nil {
		return err
	}
	question := "Open it in a browser?"
	if k.flags.noBrowser {
		question = "Will you open it?"
	}
	if err := d.consent(question); err != nil {
		return err
	}
	if !k.flags.noBrowser {
		if err := auth.OpenBrowser(d.ctx, p.URL); err != nil && d.ctx.Err() == nil {
			if err := d.tell("  it is not opened: " + indented(err.Error())); err != nil {
				return err
			}
		}
	}
	_, err := d.lineUntil(visited, "Press Enter when you are done there ("+declineWord+" or "+cancelWord+" leaves) ")
	if errors.Is(err, errVisited) {
		return nil
	}
	return err
}

// visited returns a context that ends when the server tells that somebody is done, until seen is called (2025-11-25,
// elicitation, completion notifications).
func (k *asker) visited(ctx context.Context, id string) (_ context.Context, seen func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.visits[id] = cancel
	return ctx, func() {
		cancel(nil)
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.visits, id)
	}
}

// notified is told of a server's notifications.
func (k *asker) notified(method string, params []byte) {
	var p mcp.ElicitationCompleteParams
	if method != mcp.NotificationElicitationComplete || mcp.Decode(params, &p) != nil || p.ElicitationID == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if visited := k.visits[p.ElicitationID]; visited != nil {
		visited(errVisited)
	}
}

// addressLines show an address as a whole, with its host told apart, and what is odd about it.
func (d *dialog) addressLines(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return []string{"  " + visible(address), "  warning: it has no host"}
	}
	before, behind, _ := strings.Cut(address, u.Host)
	lines := []string{
		"  " + visible(before) + d.console.bold(visible(u.Host)) + visible(behind),
		"  host: " + d.console.bold(visible(u.Hostname())),
	}
	if u.User != nil {
		lines = append(lines, "  warning: what stands before the @ is no part of the host")
	}
	if u.Scheme != "https" {
		lines = append(lines, "  warning: it is not one of https")
	}
	for label := range strings.SplitSeq(strings.ToLower(u.Hostname()), ".") {
		if strings.HasPrefix(label, "xn--") || strings.ContainsFunc(label, func(r rune) bool { return r > '~' }) {
			return append(lines, "  warning: the host has letters of other scripts, which may look like something else")
		}
	}
	return lines
}
