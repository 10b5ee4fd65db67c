package survival

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// probeRows are about the answer to the question whether a server speaks a stateless revision.
func probeRows() []Row {
	session, newer := mcp.SessionRevisions()[0], mcp.StatelessRevisions()[0]
	rows := []struct{ fault, does, text, revision string }{
		{"refused-params", "with -32602", `"error":{"code":-32602,"message":"Invalid params"}`, session},
		{"refused-request", "with -32600", `"error":{"code":-32600,"message":"not initialized"}`, session},
		{"refused-other", "with -32000", `"error":{"code":-32000,"message":"no"}`, session},
		{"refused-odd", "with an error that is a string", `"error":"what?"`, session},
		{"null", "with null", `"result":null`, session},
		{"string", "with a string", `"result":"ok"`, session},
		{"empty", "with an empty object", `"result":{}`, session},
		{"no-versions", "with an empty list of revisions", `"result":{"supportedVersions":[]}`, session},
		{"versions-string", "with a string for the revisions", `"result":{"supportedVersions":"2026-07-28"}`, session},
		{"versions-old", "with older revisions alone", `"result":{"supportedVersions":["2025-11-25"]}`, session},
		{"unreadable", "with neither a result nor an error", `"x":1`, session},
		{"unsupported-bare", "with -32022 and no data", `"error":{"code":-32022,"message":"no"}`, session},
		{
			"unsupported-old", "with -32022 and older revisions",
			`"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18","2025-11-25"]}}`, session,
		},
		{"initialize-result", "with the result of initialize", `"result":` + handshake, session},
		{
			"versions-many", "with revisions that nobody knows among them",
			`"result":{"supportedVersions":["1999-01-01",null,"2026-07-28","x"],"capabilities":{"tools":{}}}`, newer,
		},
		{
			"capabilities-array", "with empty arrays for capabilities and names",
			`"result":{"supportedVersions":["2026-07-28"],"capabilities":[],"_meta":[]}`, newer,
		},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/probe/" + row.fault, Does: "answers the probe " + row.does, Must: "speak " + row.revision,
			Pipe: once("server/discover", `{"jsonrpc":"2.0","id":$id,`+row.text+`}`),
			Try: func(t *Trial) {
				c := t.Connect()
				if r := c.Server().Revision; r != row.revision {
					t.Fail("they speak %s", r)
				}
				t.Works(c)
			},
		})
	}
	return join(all, noVersionRows(), lateProbeRows(), replacedRows())
}

// noVersionRows are about servers with which there is nothing to speak.
func noVersionRows() []Row {
	return []Row{
		{
			Name: "pipe/probe/versions-unknown",
			Does: "answers the probe with revisions that nobody knows",
			Must: "say so",
			Pipe: always("server/discover", `{"supportedVersions":["2099-01-01"],"capabilities":{}}`),
			Try:  cannotConnect("no common protocol revision", `"2099-01-01"`),
		},
		{
			Name: "pipe/probe/contradicts",
			Does: "refuses the probe for its revision, and names that revision",
			Must: "ask once more, and report the refusal",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"server/discover": func(m jsonrpc.Message) bool {
					p.Note("probe")
					p.Write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`+
						"\n", m.ID)
					return true
				}})
			},
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "MCP error -32022")
				t.Notes("probe", 2, 2)
			},
		},
	}
}

// lateProbeRows are about servers that say nothing to the probe, or too late.
func lateProbeRows() []Row {
	quick := patiently(0)
	return []Row{
		{
			Name: "pipe/probe/silent",
			Does: "never answers the probe",
			Must: "open a session with the same process",
			Pipe: func(p *Pipe) {
				p.Note("start")
				p.Serve(map[string]on{"server/discover": func(jsonrpc.Message) bool { return true }})
			},
			With: quick, Within: 10 * time.Second,
			Try: func(t *Trial) {
				t.Works(t.Connect())
				t.Notes("start", 1, 1)
			},
		},
		{
			Name: "pipe/probe/late",
			Does: "answers the probe when it has been asked to initialize, which it does not know",
			Must: "speak 2026-07-28 with the same process",
			Pipe: func(p *Pipe) {
				var late jsonrpc.Message
				p.Note("start")
				p.ServeStateless(map[string]on{
					"server/discover": func(m jsonrpc.Message) bool { late = m; return true },
					"initialize":      func(jsonrpc.Message) bool { p.Answer(late, discovered); return true },
				})
			},
			With: quick, Within: 10 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				t.Works(c)
				if c.Server().Revision != mcp.StatelessRevisions()[0] || t.Noted("start") != 1 {
					t.Fail("they speak %s after %d starts", c.Server().Revision, t.Noted("start"))
				}
			},
		},
		{
			Name: "pipe/probe/late-refusal",
			Does: "refuses the probe when it has answered initialize",
			Must: "take the session",
			Pipe: func(p *Pipe) {
				var late jsonrpc.Message
				p.Serve(map[string]on{
					"server/discover": func(m jsonrpc.Message) bool { late = m; return true },
					"initialize": func(m jsonrpc.Message) bool {
						p.Answer(m, handshake)
						p.Refuse(late, -32602, "no")
						return true
					},
				})
			},
			With: quick, Within: 10 * time.Second, Try: worksTwice,
		},
	}
}

// replacedRows are about servers that the probe spoils.
func replacedRows() []Row {
	return []Row{
		{
			Name: "pipe/probe/spoilt",
			Does: "refuses every request when it has been asked something that it doesn't know",
			Must: "start it again, and open a session",
			Pipe: func(p *Pipe) {
				spoilt := false
				p.Serve(map[string]on{
					"server/discover": func(m jsonrpc.Message) bool {
						spoilt = true
						p.Refuse(m, -32600, "no")
						return true
					},
					"initialize": func(m jsonrpc.Message) bool {
						if spoilt {
							p.Refuse(m, -32600, "too late")
						} else {
							p.Answer(m, handshake)
						}
						return true
					},
				})
			},
			Within: 10 * time.Second, Try: worksTwice,
		},
		{
			Name: "pipe/probe/hangs",
			Does: "answers nothing any more when it has been asked something that it doesn't know",
			Must: "start it again at half of the time, and open a session",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"server/discover": func(jsonrpc.Message) bool { p.Drain(); return false }})
			},
			With: patiently(10 * time.Second), Within: 15 * time.Second, Try: worksTwice,
		},
		{
			Name: "pipe/probe/silent-for-ever",
			Does: "never answers anything",
			Must: "give up by its clock",
			Pipe: (*Pipe).Drain,
			With: patiently(time.Second),
			Try:  cannotConnect("it: connect", "connect timeout after 1000ms"),
		},
	}
}

// statelessRows are about a server of 2026-07-28.
func statelessRows() []Row {
	const good = `{"content":[{"type":"text","text":"hello"}]`
	rows := []struct{ fault, does, result, want string }{
		{"type-missing", "no resultType", good + `}`, ""},
		{"type-null", "the resultType null", good + `,"resultType":null}`, ""},
		{"type-unknown", "a resultType that nobody knows", good + `,"resultType":"later"}`, `unknown resultType "later"`},
		{"type-number", "a resultType that is a number", good + `,"resultType":5}`, unreadable},
		{"type-case", `the member "ResultType"`, good + `,"ResultType":"later"}`, ""},
		{"structured-array", "structured content that is an array", good + `,"structuredContent":[1]}`, ""},
		{"input-nothing", "a wish for input that names none", `{"resultType":"input_required"}`, "names none"},
		{
			"input-odd", "a wish for input that is a string",
			`{"resultType":"input_required","inputRequests":"all"}`, unreadable,
		},
		{
			"input-unknown", "a wish for input that nobody knows",
			`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/list"}}}`, `input "a"`,
		},
		{
			"input-control", "a wish for input under a control sequence",
			`{"resultType":"input_required","inputRequests":{"\u001b[2J":{"method":"x"}}}`, `input "\x1b[2J"`,
		},
	}
	var all []Row
	for _, row := range rows {
		must := "take it for what it is"
		if row.want != "" {
			must = "end that call with an error that says so, and keep the line"
		}
		all = append(all, Row{
			Name: "pipe/stateless/" + row.fault, Does: "returns " + row.does, Must: must,
			Pipe: func(p *Pipe) {
				done := false
				p.ServeStateless(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					if done {
						p.Answer(m, Echo(m))
					} else {
						p.Answer(m, row.result)
					}
					done = true
					return true
				}})
			},
			With: stateless, Try: tries(row.want),
		})
	}
	return join(all, inputRows(), watchRows())
}

// withRoots has the client speak a stateless revision, and answer what it is asked for.
func withRoots(s *config.Server, o *mcpwire.Options) {
	stateless(s, o)
	o.InputRounds = 5
	o.Input = &client.InputHandler{Roots: func(context.Context) ([]mcp.Root, error) { return nil, nil }}
}

// inputRows are about the input that a server of 2026-07-28 asks for.
func inputRows() []Row {
	return []Row{
		{
			Name: "pipe/stateless/input-endless",
			Does: "asks for input again and again",
			Must: "end that call after the limit, of five here, and keep the line",
			Pipe: func(p *Pipe) {
				p.ServeStateless(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					if p.Count("run") > 6 {
						p.Answer(m, Echo(m))
						return true
					}
					p.Answer(m, `{"resultType":"input_required","requestState":"x","inputRequests":{"r":{"method":"roots/list"}}}`)
					return true
				}})
			},
			With: withRoots, Try: costsACall("asked for input 5 times"),
		},
		{
			Name: "pipe/stateless/input-large-state",
			Does: "wants a state of 1 MiB back",
			Must: "send it back byte for byte",
			Pipe: func(p *Pipe) {
				state := mebibyte("$mib")
				p.ServeStateless(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					if strings.Contains(string(m.Params), `"requestState":"`+state+`"`) {
						p.Answer(m, Echo(m))
					} else {
						p.Answer(m, `{"resultType":"input_required","requestState":"`+state+`"}`)
					}
					return true
				}})
			},
			With: withRoots, Try: worksTwice,
		},
		{
			Name: "pipe/stateless/input-of-list",
			Does: "asks for input where none can be, in its list of tools",
			Must: "report an error, and keep the line",
			Pipe: func(p *Pipe) {
				p.ServeStateless(map[string]on{"tools/list": p.answers(`{"resultType":"input_required","requestState":"x"}`)})
			},
			With: withRoots, Try: cannotList("asks for input"),
		},
		{
			Name: "pipe/stateless/requests",
			Does: "sends requests, which its revision does not know",
			Must: "ignore them",
			Pipe: func(p *Pipe) {
				p.ServeStateless(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					p.Write(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`+"\n%s\n", honest(m))
					return true
				}})
			},
			With: withRoots, Try: worksTwice,
		},
		{
			Name: "pipe/stateless/cursor-empty",
			Does: "hands out an empty cursor, which is one in its revision, again and again",
			Must: "stop there, with the tools that came",
			Pipe: func(p *Pipe) {
				p.ServeStateless(map[string]on{"tools/list": p.answers(`{"tools":[{"name":"echo"}],"nextCursor":"","ttlMs":-1,"cacheScope":"all"}`)})
			},
			With: stateless, Try: cannotList("a cursor that was already used"),
		},
	}
}

// changed tells a subscription that the tools have changed; see fill.
const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{` +
	`"io.modelcontextprotocol/subscriptionId":$id}}}` + "\n"

// A watching is what becomes of a subscription.
type watching struct {
	fault, does, must, text string
	patience                time.Duration // of the host
	try                     func(t *Trial, w *client.Watch, err error)
}

func watchings() []watching {
	const impatient = 500 * time.Millisecond
	refused := func(says string) func(t *Trial, w *client.Watch, err error) {
		return func(t *Trial, _ *client.Watch, err error) { t.WantError(err, says) }
	}
	ended := func(t *Trial, w *client.Watch, err error) {
		if err == nil {
			for range w.Changes {
			}
			err = w.Err()
		}
		if !errors.Is(err, client.ErrWatchEnded) {
			t.Fail("it ended with %v", err)
		}
	}
	return []watching{
		{
			"refused", "refuses a subscription", "report the refusal",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"no"}}` + "\n", unhurried, refused("MCP error -32601: no"),
		},
		{
			"answered", "ends a subscription before it has agreed to it", "say that it has ended",
			`{"jsonrpc":"2.0","id":$id,"result":{}}` + "\n", unhurried, refused("ended the subscription"),
		},
		{
			"silent", "never agrees to a subscription", "give up with the host", ``, impatient,
			refused(context.DeadlineExceeded.Error()),
		},
		{
			"other", "agrees to a subscription that there is not", "give up with the host",
			strings.ReplaceAll(acknowledged, "$id", "7001"), impatient,
			refused(context.DeadlineExceeded.Error()),
		},
		{
			"cancelled", "agrees to a subscription, and cancels it", "say that it has ended",
			acknowledged + changed +
				`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$id}}` + "\n", unhurried, ended,
		},
		{
			"completed", "agrees to a subscription twice, and completes it", "say that it has ended",
			acknowledged + acknowledged + changed + `{"jsonrpc":"2.0","id":$id,"result":{}}` + "\n", unhurried, ended,
		},
	}
}

// watchRows are about subscriptions.
func watchRows() []Row {
	var all []Row
	for _, row := range watchings() {
		all = append(all, Row{
			Name: "pipe/watch/" + row.fault, Does: row.does, Must: row.must,
			Pipe: func(p *Pipe) {
				p.ServeStateless(map[string]on{"subscriptions/listen": func(m jsonrpc.Message) bool {
					p.Write("%s", fill(row.text, m))
					return true
				}})
			},
			With: stateless,
			Try: func(t *Trial) {
				c := t.Connect()
				ctx, cancel := context.WithTimeout(t.Context, row.patience)
				defer cancel()
				w, err := c.Watch(ctx, mcp.SubscriptionFilter{ToolsListChanged: true})
				row.try(t, w, err)
				t.Works(c)
			},
		})
	}
	return append(all, watchFloodRow(), Row{
		Name: "pipe/watch/dies",
		Does: "dies while it tells changes",
		Must: "end the subscription with the line, and say why",
		Pipe: func(p *Pipe) {
			p.ServeStateless(map[string]on{"subscriptions/listen": func(m jsonrpc.Message) bool {
				p.Acknowledge(m)
				os.Exit(3)
				return false
			}})
		},
		With: stateless,
		Try: func(t *Trial) {
			w, err := t.Connect().Watch(t.Context, mcp.SubscriptionFilter{ToolsListChanged: true})
			if err == nil {
				for range w.Changes {
				}
				err = w.Err()
			}
			t.WantError(err, "transport closed", "exit status 3")
		},
	})
}

// watchFloodRow is about more changes than a host reads.
func watchFloodRow() Row {
	const last = "x/last"
	return Row{
		Name: "pipe/watch/flood",
		Does: "tells 10,000 changes to a host that reads none",
		Must: "keep few, and go on",
		Pipe: func(p *Pipe) {
			p.ServeStateless(map[string]on{"subscriptions/listen": func(m jsonrpc.Message) bool {
				p.Write("%s", fill(acknowledged+strings.Repeat(changed, 10_000), m))
				p.Write(`{"jsonrpc":"2.0","method":%q}`+"\n", last)
				return true
			}})
		},
		With: stateless,
		Try: func(t *Trial) {
			all := make(chan struct{})
			t.Options.OnNotification = func(_ context.Context, method string, _ json.RawMessage) {
				if method == last {
					close(all)
				}
			}
			c := t.Connect()
			w, err := c.Watch(t.Context, mcp.SubscriptionFilter{ToolsListChanged: true})
			if err != nil {
				t.Fail("there is no subscription: %v", err)
				return
			}
			select {
			case <-all:
			case <-t.Context.Done():
			}
			kept := 0
			for waiting := true; waiting; {
				select {
				case <-w.Changes:
					kept++
				case <-time.After(300 * time.Millisecond):
					waiting = false
				}
			}
			if kept < 1 || kept > 5 {
				t.Fail("%d changes were kept", kept)
			}
			if err := w.Close(t.Context); err != nil {
				t.Fail("%v", err)
			}
			t.Works(c)
		},
	}
}
