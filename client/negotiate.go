package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// Values of Options.Protocol besides the revisions.
const (
	ProtocolSession   = "session"   // a revision that opens a session with initialize
	ProtocolStateless = "stateless" // a revision in which every request describes itself
)

// negotiation finds the era of a server, once, at connect (2026-07-28, versioning, backward compatibility).
type negotiation struct {
	client *Client
	dial   func(ctx context.Context) (*line, error)
	line   *line // the connection in use
}

// outcome is what a probe tells.
type outcome struct {
	era era    // nil: the session era
	s   Server // of the stateless era
	err error  // why nothing was discovered

	newer bool // err comes from a newer server, so that there is no use in asking the older way
}

// open opens a line in whatever era the server speaks.
func (n *negotiation) open(ctx context.Context) (*line, error) {
	if err := n.redial(ctx); err != nil {
		return nil, err
	}
	e, err := n.settle(ctx)
	if err != nil {
		return nil, err
	}
	n.client.setEra(e)
	return n.line, nil
}

func (n *negotiation) settle(ctx context.Context) (era, error) {
	o := n.client.options
	traits := n.line.peer.Conn().Traits()
	switch {
	case traits.Sessions || o.Protocol == ProtocolSession || mcp.IsSession(o.Protocol):
		return n.session(ctx, false)
	case o.Protocol == ProtocolStateless || mcp.IsStateless(o.Protocol):
		return n.stateless(n.read(n.discover(ctx, n.preferred())))
	case o.Protocol != "":
		return nil, fmt.Errorf("unknown protocol %q; accepted are %s, %s and %v", o.Protocol,
			ProtocolSession, ProtocolStateless, mcp.Revisions())
	case mcp.IsSession(o.Known):
		if e, err := n.session(ctx, false); err == nil || ctx.Err() != nil {
			return e, err
		}
		if err := n.redial(ctx); err != nil { // what was known is no longer true
			return nil, err
		}
	}
	if traits.Status {
		return n.byStatus(ctx)
	}
	return n.byProbe(ctx)
}

// preferred is the stateless revision that the client asks for first.
func (n *negotiation) preferred() string {
	if o := n.client.options; mcp.IsStateless(o.Protocol) {
		return o.Protocol
	}
	return mcp.StatelessRevisions()[0]
}

// discovery is the answer to server/discover in one revision.
type discovery struct {
	revision string
	raw      json.RawMessage
	err      error
}

// discover asks the server what it speaks. It is never cancelled on the wire: an older server knows neither.
func (n *negotiation) discover(ctx context.Context, revision string) discovery {
	raw, err := n.client.send(ctx, n.line.peer, revision, mcp.MethodDiscover, nil, rpc.RequestOptions{
		Timeout: -1, Limit: -1, NoCancel: true, Revision: revision, Meta: n.client.selfDescription(revision, ""),
	})
	return discovery{revision, raw, err}
}

// read makes an outcome of a discovery. An outcome without era and error means that the server speaks older revisions,
// as far as it can be told.
func (n *negotiation) read(d discovery) outcome {
	if d.err != nil {
		return n.readError(d)
	}
	var result mcp.DiscoverResult
	if err := mcp.Decode(d.raw, &result); err != nil || len(result.SupportedVersions) == 0 {
		return outcome{}
	}
	revision, old := common(result.SupportedVersions)
	switch {
	case revision == "" && old:
		return outcome{}
	case revision == "":
		return outcome{err: n.versionError(result.SupportedVersions, nil)}
	}
	var meta mcp.ResultMeta
	// What a server says of itself is for show; it may be malformed.
	_ = mcp.Decode(result.Meta, &meta)
	s := Server{Revision: revision, Capabilities: result.Capabilities, Instructions: result.Instructions}
	if meta.ServerInfo != nil {
		s.Info = *meta.ServerInfo
	}
	return outcome{era: newStateless(n.client, revision), s: s}
}

// readError tells a refusal of a newer server from all others.
func (n *negotiation) readError(d discovery) outcome {
	refusal, refused := errors.AsType[*jsonrpc.Error](d.err)
	if !refused {
		return outcome{err: d.err}
	}
	switch refusal.Code {
	case mcp.CodeUnsupportedVersion:
		var data mcp.UnsupportedVersionData
		if mcp.Decode(refusal.Data, &data) != nil || len(data.Supported) == 0 {
			return outcome{}
		}
		revision, old := common(data.Supported)
		switch {
		case revision != "":
			return outcome{era: newStateless(n.client, revision), err: errAgain}
		case old:
			return outcome{}
		}
		return outcome{err: n.versionError(data.Supported, refusal)}
	case mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability:
		return outcome{err: d.err, newer: true}
	}
	return outcome{}
}

// errAgain asks for the same question in the revision of the outcome's era.
var errAgain = errors.New("ask again in a revision that both speak")

// common returns the newest stateless revision that both sides speak, and whether they have a session revision in
// common.
func common(theirs []string) (revision string, old bool) {
	for _, r := range mcp.StatelessRevisions() {
		if revision == "" && slices.Contains(theirs, r) {
			revision = r
		}
	}
	return revision, slices.ContainsFunc(theirs, mcp.IsSession)
}

func (n *negotiation) versionError(theirs []string, refusal *jsonrpc.Error) *VersionError {
	return &VersionError{Server: n.client.options.Server, Ours: mcp.Revisions(), Theirs: theirs, Refusal: refusal}
}

// stateless ends the negotiation with what was discovered; there is no other era to turn to.
func (n *negotiation) stateless(o outcome) (era, error) {
	switch {
	case o.err != nil && !errors.Is(o.err, errAgain):
		return nil, o.err
	case o.era == nil:
		return nil, &VersionError{Server: n.client.options.Server, Ours: mcp.StatelessRevisions()}
	}
	n.line.server = o.s
	return o.era, nil
}

// again repeats a discovery that was refused for its revision alone, once.
func (n *negotiation) again(ctx context.Context, o outcome) outcome {
	if !errors.Is(o.err, errAgain) {
		return o
	}
	e, ok := o.era.(*stateless)
	if !ok {
		return o
	}
	d := n.discover(ctx, e.revision)
	if o = n.read(d); errors.Is(o.err, errAgain) {
		return outcome{err: d.err, newer: true} // it refuses what it says it speaks
	}
	return o
}

// byStatus is the way over HTTP: a newer request first. What is refused the way that older servers do is tried the
// older way; silence, a refused login and a failing server are what they are (2026-07-28, Streamable HTTP, backward
// compatibility).
func (n *negotiation) byStatus(ctx context.Context) (era, error) {
	o := n.again(ctx, n.read(n.discover(ctx, n.preferred())))
	if o.era != nil && o.err == nil {
		return n.stateless(o)
	}
	if o.err != nil && (o.newer || !looksOld(o.err)) {
		return nil, o.err
	}
	return n.session(ctx, false)
}

// looksOld reports whether the failure of a newer request may come from an older server.
func looksOld(err error) bool {
	if status, ok := errors.AsType[*transport.StatusError](err); ok {
		return status.Status >= 400 && status.Status < 500 && status.Status != 401 && status.Status != 403
	}
	if carriage, ok := errors.AsType[*transport.Error](err); ok && carriage.Delivery == transport.Answered {
		return true // an answer that nobody can make sense of
	}
	_, broken := errors.AsType[*rpc.DecodeError](err)
	_, missing := errors.AsType[*transport.NoResponseError](err)
	return broken || missing
}

// byProbe is the way over one channel, where silence may be a sign of age as well as of a slow start (2026-07-28,
// stdio, backward compatibility).
func (n *negotiation) byProbe(ctx context.Context) (era, error) {
	probing, stop := context.WithCancel(ctx)
	defer stop()
	answers := make(chan discovery, 1)
	go func() { answers <- n.discover(probing, n.preferred()) }()
	timer := time.NewTimer(n.client.options.ProbeTimeout)
	defer timer.Stop()
	select {
	case d := <-answers:
		return n.probed(ctx, d)
	case <-timer.C:
	case <-ctx.Done():
		stop()
		<-answers
		return nil, context.Cause(ctx)
	}
	return n.race(ctx, answers)
}

// probed decides by an answer to the probe.
func (n *negotiation) probed(ctx context.Context, d discovery) (era, error) {
	o := n.again(ctx, n.read(d))
	switch {
	case o.era != nil && o.err == nil:
		return n.stateless(o)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(o.err, transport.ErrClosed): // a question that it didn't know was too much for it
		if err := n.redial(ctx); err != nil {
			return nil, err
		}
		return n.session(ctx, false)
	case o.err != nil && (o.newer || !looksOld(o.err)):
		return nil, o.err
	}
	return n.session(ctx, true)
}

// race sends initialize beside a probe that is not answered: the first usable answer decides. A server that refuses,
// exits or is silent until half of the connect deadline gets a process of its own for the older way.
func (n *negotiation) race(ctx context.Context, answers chan discovery) (era, error) {
	half, cancel := context.WithTimeoutCause(ctx, n.halfOfTheRest(ctx), errSilent)
	defer cancel()
	type opened struct {
		server Server
		err    error
	}
	s := &session{client: n.client}
	sessions := make(chan opened, 1)
	opening, giveUp := context.WithCancel(half)
	defer giveUp()
	go func() {
		server, err := s.open(opening, n.line.peer)
		sessions <- opened{server, err}
	}()
	for answers != nil {
		select {
		case d := <-answers:
			answers = nil
			if o := n.read(d); o.era != nil && o.err == nil {
				giveUp()
				<-sessions
				return n.stateless(o)
			}
		case r := <-sessions:
			if r.err == nil {
				n.line.server = r.server
				return s, nil
			}
			return n.afresh(ctx, r.err)
		}
	}
	r := <-sessions
	if r.err == nil {
		n.line.server = r.server
		return s, nil
	}
	return n.afresh(ctx, r.err)
}

// errSilent is the cause of giving up on a process that answers nothing.
var errSilent = errors.New("the server answers neither server/discover nor initialize")

// halfOfTheRest returns half of the time that is left for connecting.
func (n *negotiation) halfOfTheRest(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return DefaultConnectTimeout / 2
	}
	return time.Until(deadline) / 2
}

// afresh starts the server anew and speaks to it the older way. reason is why the first attempt failed.
func (n *negotiation) afresh(ctx context.Context, reason error) (era, error) {
	_, mismatch := errors.AsType[*VersionError](reason)
	if ctx.Err() != nil || mismatch {
		return nil, reason
	}
	if err := n.redial(ctx); err != nil {
		return nil, err
	}
	return n.session(ctx, false)
}

// redial puts a new connection in place of the one in use, if there is one.
func (n *negotiation) redial(ctx context.Context) error {
	if old := n.line; old != nil {
		hurry, cancel := context.WithCancel(ctx)
		cancel() // it has nothing to save
		_ = old.peer.Close(hurry)
		n.line = nil
	}
	fresh, err := n.dial(ctx)
	if err != nil {
		return err
	}
	n.line = fresh
	return nil
}

// session ends the negotiation with a session. probed says that this process has been asked server/discover: one that
// takes that amiss and refuses initialize gets another chance in a new process.
func (n *negotiation) session(ctx context.Context, probed bool) (era, error) {
	s := &session{client: n.client}
	server, err := s.open(ctx, n.line.peer)
	if _, refused := errors.AsType[*jsonrpc.Error](err); refused && probed {
		return n.afresh(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	n.line.server = server
	return s, nil
}
