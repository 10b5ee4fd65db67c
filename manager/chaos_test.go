package manager_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

const (
	chaosServers = 20
	chaosCallers = 30
	chaosTime    = time.Minute
	chaosConnect = 2 * time.Second // the connect timeout of every server
	chaosTimeout = 3 * time.Second // of a call that says nothing else
	chaosLongest = 40 * time.Second
	chaosStarts  = 5           // of one server within a minute
	chaosSlowest = time.Second // which closing a connection takes, and by which a start may be late
)

// A chaotic is a fake whose calls go wrong. Its fields are guarded by the fake's lock.
type chaotic struct {
	*fake
	slow    time.Duration // before an answer
	swallow bool          // calls are run and not answered
	drop    bool          // the next call is run, and the connection ended in place of an answer
}

func newChaotic(name string) *chaotic {
	yes := true
	c := &chaotic{fake: newFake(name, "write", "read", "idempotent", "bad")}
	c.tools[1].Annotations = &mcp.ToolAnnotations{ReadOnlyHint: &yes}
	c.tools[2].Annotations = &mcp.ToolAnnotations{IdempotentHint: &yes}
	c.onCall = c.call
	return c
}

func (c *chaotic) call(s *transporttest.Server, m jsonrpc.Message) string {
	var p mcp.CallToolParams
	if err := mcp.Decode(m.Params, &p); err != nil || p.Name == "bad" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad"}}`, m.ID)
	}
	c.ran(m)
	c.mu.Lock()
	slow, swallow, drop := c.slow, c.swallow, c.drop
	c.drop = false
	c.mu.Unlock()
	time.Sleep(slow) // even if the connection is closed, which then takes as long
	switch {
	case drop:
		s.End(&transport.ExitError{Code: 1, Stderr: "dropped"})
		return ""
	case swallow:
		return ""
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
}

// for a while makes a change, and takes it back.
func (c *chaotic) forAWhile(d time.Duration, change, back func()) {
	c.set(func(*fake) { change() })
	time.AfterFunc(d, func() { c.set(func(*fake) { back() }) })
}

// recover takes all changes back.
func (c *chaotic) recover() {
	c.set(func(f *fake) {
		f.delay, f.refuse, f.mute, f.dies, f.listErr = 0, nil, false, false, false
		c.slow, c.swallow, c.drop = 0, false, false
	})
}

// byHand reports whether a server is ever reconnected by hand in the midst of the chaos, which resets its breaker.
func byHand(i int) bool { return i%3 != 0 }

// A chaos is one run.
type chaos struct {
	t      *testing.T
	random *rand.Rand
	fakes  []*chaotic
	m      *manager.Manager

	config []config.Server // without those that are gone
	hands  map[string][]time.Time
}

func (c *chaos) fake() (int, *chaotic) {
	i := c.random.IntN(len(c.fakes))
	return i, c.fakes[i]
}

// upTo returns a random duration.
func upTo(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// entry is the configuration of a server; half of them are processes.
func (c *chaos) entry(i int) config.Server {
	s := process(c.fakes[i].name)
	if i%2 == 1 {
		s = remote(c.fakes[i].name)
	}
	limit := chaosConnect
	s.ConnectTimeout = &limit
	return s
}

// disturb does one thing.
func (c *chaos) disturb() {
	i, f := c.fake()
	d := upTo(c.random, 5*time.Second)
	switch c.random.IntN(16) {
	case 0, 1, 2:
		f.kill()
	case 3:
		f.forAWhile(d, func() { f.mute = true }, func() { f.mute = false })
	case 4:
		f.forAWhile(d, func() { f.swallow = true }, func() { f.swallow = false })
	case 5:
		slow := upTo(c.random, chaosSlowest)
		f.forAWhile(d, func() { f.slow = slow }, func() { f.slow = 0 })
	case 6:
		delay := upTo(c.random, 2*chaosConnect)
		f.forAWhile(d, func() { f.delay = delay }, func() { f.delay = 0 })
	case 7:
		reason := &transport.Error{Op: "open", Delivery: transport.NotDelivered, Err: errors.New("connection refused")}
		f.forAWhile(d, func() { f.refuse = reason }, func() { f.refuse = nil })
	case 8:
		f.forAWhile(d/5, func() { f.dies = true }, func() { f.dies = false })
	case 9, 10:
		f.set(func(*fake) { f.drop = true })
	case 11:
		c.storm(f)
	case 12, 13:
		if byHand(i) {
			c.reconnect(f.name)
		}
	default:
		c.reconfigure(i)
	}
}

// storm has a server say again and again that its tools have changed.
func (c *chaos) storm(f *chaotic) {
	for range 30 {
		if c.random.IntN(10) == 0 {
			f.set(func(f *fake) {
				f.tools = append(f.tools[:4:4], mcp.Tool{Name: fmt.Sprint("extra", c.random.IntN(3))})
			})
		}
		f.tell("notifications/tools/list_changed", "{}")
	}
}

func (c *chaos) reconnect(name string) {
	err := c.m.Reconnect(name)
	if err != nil && !errors.Is(err, manager.ErrUnknownServer) && !errors.Is(err, manager.ErrClosed) {
		c.t.Errorf("Reconnect: %v", err)
	}
	c.hands[name] = append(c.hands[name], time.Now())
}

// reconfigure removes a server, adds it again, or changes it.
func (c *chaos) reconfigure(i int) {
	name := c.fakes[i].name
	at := slices.IndexFunc(c.config, func(s config.Server) bool { return s.Name == name })
	next := slices.Clone(c.config) // the manager has the old one
	switch {
	case at < 0:
		next = append(next, c.entry(i))
	case c.random.IntN(3) == 0:
		next = slices.Delete(next, at, at+1)
	default:
		switch s := &next[at]; c.random.IntN(3) {
		case 0:
			s.Args = []string{fmt.Sprint(c.random.Int())}
		case 1:
			s.Disabled = !s.Disabled
		case 2:
			s.Tools.Deny = []string{"extra*", []string{"none", "read"}[c.random.IntN(2)]}
		}
	}
	c.config = next
	c.m.Apply(c.config)
}

// An outcome is how one call ended.
type outcome struct {
	id, server, tool string
	twice            bool // it may run twice
	err              error
	limit, took      time.Duration // limit: of its context; 0: none
}

// errGone is the cause of the callers' contexts.
var errGone = errors.New("the caller has gone")

// caller calls until ctx is done, and returns what has become of it.
func (c *chaos) caller(ctx context.Context, number int, r *rand.Rand) (all []outcome) {
	for n := 0; ctx.Err() == nil; n++ {
		f := c.fakes[r.IntN(len(c.fakes))]
		o := outcome{id: fmt.Sprintf("%d/%d", number, n), server: f.name}
		o.tool = []string{"write", "write", "write", "read", "idempotent", "bad"}[r.IntN(6)]
		options := &manager.CallOptions{Repeat: r.IntN(10) == 0}
		o.twice = options.Repeat || o.tool == "read" || o.tool == "idempotent"
		mine, cancel := context.Background(), func() {}
		switch r.IntN(5) {
		case 0:
			options.Timeout = time.Millisecond + upTo(r, time.Second)
		case 1:
			o.limit = time.Millisecond + upTo(r, 2*time.Second)
			mine, cancel = context.WithTimeoutCause(mine, o.limit, errGone)
		}
		args := json.RawMessage(fmt.Sprintf(`{"call":%q}`, o.id))
		begin := time.Now()
		_, o.err = c.m.CallTool(mine, f.name, o.tool, args, options)
		o.took = time.Since(begin)
		cancel()
		all = append(all, o)
		time.Sleep(upTo(r, 200*time.Millisecond))
	}
	return all
}

// judge checks a call against how often it ran.
func (o outcome) judge(runs int) (wrong string) {
	most := 1
	if o.twice {
		most = 2
	}
	carriage, carried := errors.AsType[*transport.Error](o.err)
	_, unknown := errors.AsType[*manager.OutcomeUnknown](o.err)
	_, unusable := errors.AsType[*manager.ServerError](o.err)
	_, refused := errors.AsType[*jsonrpc.Error](o.err)
	unsent := unusable || errors.Is(o.err, manager.ErrUnknownServer) || errors.Is(o.err, manager.ErrDenied) ||
		carried && carriage.Delivery == transport.NotDelivered
	switch {
	case runs > most:
		return "it ran too often"
	case o.took > chaosLongest, o.limit > 0 && o.took > o.limit:
		return "it took too long"
	case o.err == nil && runs == 0:
		return "it has a result and did not run"
	case o.err == nil, unknown, refused, o.limit > 0 && o.err == errGone: //nolint:errorlint // it is the cause itself
		return ""
	case unsent && runs > 0:
		return "its error says that it did not run"
	case !unsent:
		return "its error has no type that tells what happened"
	}
	return ""
}

// breaker checks that a server was not started too often, but for what was asked for by hand.
func (c *chaos) breaker(f *chaotic) {
	for i := chaosStarts; i < len(f.opened); i++ {
		first, last := f.opened[i-chaosStarts], f.opened[i]
		asked := slices.ContainsFunc(c.hands[f.name], func(t time.Time) bool { return !t.Before(first) && !t.After(last) })
		if last.Sub(first) < time.Minute-chaosSlowest && !asked {
			c.t.Errorf("%s was started %d times within %v", f.name, chaosStarts+1, last.Sub(first))
		}
	}
}

func TestChaosRunsNoCallTwiceAndLeavesNothingBehind(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runChaos(t, seed) })
		})
	}
}

func runChaos(t *testing.T, seed uint64) {
	t.Helper()
	c := &chaos{t: t, random: rand.New(rand.NewPCG(seed, 0)), hands: map[string][]time.Time{}}
	all := fleet{}
	for i := range chaosServers {
		f := newChaotic(fmt.Sprint("s", i))
		c.fakes = append(c.fakes, f)
		all[f.name] = f.fake
		c.config = append(c.config, c.entry(i))
	}
	c.m = run(t, all, c.config, manager.Options{
		Client: client.Options{Timeout: chaosTimeout}, PingInterval: 2 * time.Second, PingTimeout: time.Second,
		CacheDir: t.TempDir(),
	})
	ctx, stop := context.WithTimeout(t.Context(), chaosTime)
	defer stop()
	var calling sync.WaitGroup
	outcomes := make([][]outcome, chaosCallers)
	for i := range chaosCallers {
		calling.Go(func() { outcomes[i] = c.caller(ctx, i, rand.New(rand.NewPCG(seed, uint64(i)+1))) })
	}
	for ctx.Err() == nil {
		c.disturb()
		time.Sleep(upTo(c.random, 200*time.Millisecond))
	}
	calling.Wait()
	c.calmDown()
	if err := c.m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	c.report(slices.Concat(outcomes...))
}

// calmDown checks that all comes back when nothing disturbs it any more.
func (c *chaos) calmDown() {
	c.config = nil
	for i, f := range c.fakes {
		f.recover()
		c.config = append(c.config, c.entry(i))
	}
	time.Sleep(5 * time.Second) // until what was to be taken back has been
	c.m.Apply(c.config)
	for _, f := range c.fakes {
		if s, _ := c.m.Snapshot().Server(f.name); s.State != manager.Ready {
			c.reconnect(f.name)
		}
	}
	for _, f := range c.fakes {
		if err := c.m.Settle(c.t.Context(), f.name); err != nil {
			c.t.Errorf("in the end: %v", err)
		}
		if _, err := c.m.CallTool(c.t.Context(), f.name, "write", json.RawMessage(`{"call":"last"}`), nil); err != nil {
			c.t.Errorf("in the end: %v", err)
		}
	}
}

// report checks all that has been.
func (c *chaos) report(outcomes []outcome) {
	runs := map[string]map[string]int{}
	for _, f := range c.fakes {
		runs[f.name] = f.runs
		if f.most > 1 {
			c.t.Errorf("%s had %d connections at once", f.name, f.most)
		}
		c.breaker(f)
	}
	results, unknown, starts := 0, 0, 0
	for _, o := range outcomes {
		n := runs[o.server][o.id]
		if wrong := o.judge(n); wrong != "" {
			c.t.Errorf("call %s of %s at %s ran %d times: %s: %v after %v", o.id, o.tool, o.server, n, wrong, o.err, o.took)
		}
		if o.err == nil {
			results++
		}
		if _, ok := errors.AsType[*manager.OutcomeUnknown](o.err); ok {
			unknown++
		}
	}
	for _, f := range c.fakes {
		starts += len(f.opened)
	}
	c.t.Logf("%d calls, %d results, %d unknown outcomes, %d starts", len(outcomes), results, unknown, starts)
	if results < len(outcomes)/10 || unknown == 0 || starts < 3*chaosServers {
		c.t.Error("that was no chaos worth the name")
	}
}
