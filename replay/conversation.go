package replay

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// answerWait is how long the host's answer to a request of the server is waited for.
const answerWait = 30 * time.Second

// A conversation is what goes on over one connection, or in one session over HTTP.
type conversation struct {
	server *Server
	alone  func(message []byte) // sends what belongs to no request
	ctx    context.Context      //nolint:containedctx // it is the life of what is played beside the requests
	cancel context.CancelFunc
	plays  sync.WaitGroup

	mu      sync.Mutex
	lastID  int64
	asked   map[jsonrpc.ID]chan struct{} // requests of the server that the host has not answered
	fresh   map[jsonrpc.ID]jsonrpc.ID    // the recorded ids of requests of the server, and those that they have here
	running map[jsonrpc.ID]context.CancelFunc
	streams map[*request]*subscription
}

// A subscription is an open subscriptions/listen.
type subscription struct {
	id    jsonrpc.ID
	out   func([]byte)
	begun chan struct{} // closed by begin
	begin func()        // lets others write: the acknowledgement comes first (2026-07-28, subscriptions)
}

func (s *Server) converse(ctx context.Context, alone func([]byte)) *conversation {
	c := &conversation{
		server: s, alone: alone,
		asked: map[jsonrpc.ID]chan struct{}{}, fresh: map[jsonrpc.ID]jsonrpc.ID{},
		running: map[jsonrpc.ID]context.CancelFunc{}, streams: map[*request]*subscription{},
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// start has f go on beside what comes next. f must end when the conversation does.
func (c *conversation) start(f func()) {
	c.server.plays.Add(1)
	c.plays.Go(func() {
		defer c.server.plays.Done()
		f()
	})
}

// close ends what is being played, and waits for it.
func (c *conversation) close() {
	c.cancel()
	c.plays.Wait()
}

// A play is one request of the host that is being answered.
type play struct {
	c       *conversation
	request *request
	id      jsonrpc.ID
	token   json.RawMessage // of the host's request; nil: it wants no progress
	stream  *subscription   // nil: it is no subscription, or opens none
	began   time.Time
	ctx     context.Context //nolint:containedctx // of what goes on until the request is answered or cancelled
	cancel  context.CancelFunc
}

// begin finds what answers a request, which must be run. Nothing of m is used afterwards.
func (c *conversation) begin(ctx context.Context, m jsonrpc.Message) (*play, *jsonrpc.Error) {
	r, refusal := c.server.find(m)
	if refusal != nil {
		return nil, refusal
	}
	p := &play{c: c, request: r, id: m.ID, token: slices.Clone(metaOf(m.Params, mcp.MetaProgressToken)), began: time.Now()}
	p.ctx, p.cancel = context.WithCancel(ctx)
	c.mu.Lock()
	c.running[p.id] = p.cancel
	c.mu.Unlock()
	return p, nil
}

// waits reports whether what comes before the answer takes time: then it must not be done by whoever reads.
func (p *play) waits() bool { return p.c.server.options.Delays || anyWaits(p.request.steps) }

func anyWaits(steps []*step) bool {
	for _, s := range steps {
		if !s.id.IsAbsent() {
			return true
		}
	}
	return false
}

// opens has what comes on a subscription's stream go there.
func (p *play) opens(out func([]byte)) {
	if !p.request.listens {
		return
	}
	begun := make(chan struct{})
	p.stream = &subscription{p.id, out, begun, sync.OnceFunc(func() { close(begun) })}
	p.c.mu.Lock()
	p.c.streams[p.request] = p.stream
	p.c.mu.Unlock()
}

// run says what belongs to the request, and the answer. Without an answer it waits until it is cancelled, or its
// conversation or ctx ends.
func (p *play) run(out func([]byte)) {
	p.prelude(out)
	p.finish(out)
}

// prelude says what comes before the answer.
func (p *play) prelude(out func([]byte)) {
	defer context.AfterFunc(p.c.ctx, p.cancel)()
	if p.stream != nil {
		defer p.stream.begin() // if nothing has acknowledged it
	}
	p.c.say(p.ctx, p.request.steps, p, p.request.sent, out)
}

// finish is run behind prelude.
func (p *play) finish(out func([]byte)) {
	c, r := p.c, p.request
	defer p.cancel()
	defer context.AfterFunc(c.ctx, p.cancel)()
	defer c.ended(p)
	switch {
	case p.ctx.Err() != nil:
		return
	case !r.hasAnswer():
		<-p.ctx.Done()
		return
	case !c.server.pause(p.ctx, r.answered.Sub(r.sent)-time.Since(p.began)):
		return
	}
	out(p.answer())
	c.follow(r.after, p, r.answered)
}

func (c *conversation) ended(p *play) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, p.id)
	if s := c.streams[p.request]; s != nil && s.id == p.id {
		delete(c.streams, p.request)
	}
}

// answer is the recorded one, with the id of the request that is being played.
func (p *play) answer() []byte {
	r := p.request
	if r.fault != nil {
		b := append([]byte(`{"jsonrpc":"2.0","id":`), p.id.Append(nil)...)
		return append(append(append(b, `,"error":`...), r.fault...), '}')
	}
	result := r.result
	if r.listens {
		result = withMeta(result, mcp.MetaSubscriptionID, p.id.Append(nil))
	}
	return jsonrpc.AppendResult(nil, p.id, result)
}

// follow plays what came by itself, beside whatever comes next if that takes time. p may be nil.
func (c *conversation) follow(steps []*step, p *play, since time.Time) {
	if len(steps) == 0 {
		return
	}
	if !c.server.options.Delays && !anyWaits(steps) {
		c.say(c.ctx, steps, p, since, c.alone)
		return
	}
	c.start(func() { c.say(c.ctx, steps, p, since, c.alone) })
}

// say plays steps, as long as ctx lets it.
func (c *conversation) say(ctx context.Context, steps []*step, p *play, since time.Time, out func([]byte)) {
	began := time.Now()
	for _, s := range steps {
		if !c.server.pause(ctx, s.at.Sub(since)-time.Since(began)) || !c.step(ctx, s, p, out) {
			return
		}
	}
}

// pause waits, where recorded delays are kept, and reports whether ctx has let it.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if !s.options.Delays || d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *conversation) step(ctx context.Context, s *step, p *play, out func([]byte)) bool {
	if !s.id.IsAbsent() {
		return c.ask(ctx, s, out)
	}
	params := s.params
	switch {
	case s.progress != nil:
		if p == nil || p.token == nil {
			return true
		}
		params = withMember(params, "progressToken", p.token)
	case p != nil && p.stream != nil && s.stream == p.request:
		params = withMeta(params, mcp.MetaSubscriptionID, p.id.Append(nil))
		defer p.stream.begin()
	case s.stream != nil:
		c.mu.Lock()
		open := c.streams[s.stream]
		c.mu.Unlock()
		if open == nil {
			return true // nobody has subscribed
		}
		select {
		case <-open.begun:
		case <-ctx.Done():
			return false
		}
		out, params = open.out, withMeta(params, mcp.MetaSubscriptionID, open.id.Append(nil))
	case s.method == mcp.NotificationCancelled:
		id, err := jsonrpc.ParseID(memberOf(params, "requestId"))
		c.mu.Lock()
		now, ok := c.fresh[id]
		c.mu.Unlock()
		if err != nil || !ok {
			return true
		}
		params = withMember(params, "requestId", now.Append(nil))
	}
	out(jsonrpc.AppendNotification(nil, s.method, params))
	return true
}

// ask puts a question of the server to the host, and waits for the answer if the host once gave one.
func (c *conversation) ask(ctx context.Context, s *step, out func([]byte)) bool {
	answered := make(chan struct{})
	c.mu.Lock()
	c.lastID++
	id := jsonrpc.IntID(c.lastID)
	c.asked[id] = answered
	c.fresh[s.id] = id
	c.mu.Unlock()
	out(jsonrpc.AppendRequest(nil, id, s.method, s.params))
	if !s.answered {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// heard takes an answer or a notification of the host.
func (c *conversation) heard(m jsonrpc.Message) {
	if m.Kind == jsonrpc.Response {
		c.mu.Lock()
		answered := c.asked[m.ID]
		delete(c.asked, m.ID)
		c.mu.Unlock()
		if answered != nil {
			close(answered)
		}
		return
	}
	if id, ok := cancelled(m); ok {
		c.mu.Lock()
		cancel := c.running[id]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
	if cue := c.server.cued(m); cue != nil {
		c.follow(cue.after, nil, cue.at)
	}
}
