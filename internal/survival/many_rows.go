package survival

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync/atomic"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// accepted is how models want the names of tools.
var accepted = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// manyRows are about what keeps the lines: restarts, repetitions, lists that change.
func manyRows() []Row {
	return []Row{
		{
			Name: "many/restart/dies-after-list",
			Does: "shakes hands, lists its tools and exits, again and again",
			Must: "start it five times at most, then give it up and say so, until somebody asks again",
			Pipe: func(p *Pipe) {
				p.Note("start")
				p.Serve(map[string]on{"tools/list": func(m jsonrpc.Message) bool {
					p.Answer(m, toolList)
					return false
				}})
			},
			Within: 30 * time.Second,
			Try: managed(func(t *Trial, m *manager.Manager) {
				s := t.await(m, func(s manager.Status) bool { return s.State == manager.Failed })
				if n := t.Noted("start"); n > 5 {
					t.Fail("it was started %d times", n)
				}
				_, err := m.CallTool(t.Context, "it", "echo", nil, nil)
				t.WantError(err, "failed", "given up")
				if s.Err == nil {
					t.Fail("its state names no reason")
				}
				if err := m.Reconnect("it"); err != nil {
					t.Fail("it can't be tried again: %v", err)
				}
				t.await(m, func(s manager.Status) bool { return s.Starts > 5 })
			}),
		},
		{
			Name: "many/restart/exits-once",
			Does: "exits with status 3 when it is called, the first time",
			Must: "start it again by itself, and tell that call's outcome as unknown",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					if p.Count("run") == 1 {
						fmt.Fprintln(p.Err, "out of luck")
						os.Exit(3)
					}
					p.Answer(m, Echo(m))
					return true
				}})
			},
			Within: 15 * time.Second,
			Try: managed(func(t *Trial, m *manager.Manager) {
				t.unknown(m, "exit status 3", "out of luck")
				t.works(m)
				t.Notes("run", 2, 2)
			}),
		},
		{
			Name: "many/repeat/idempotent",
			Does: "runs an idempotent tool and dies before it answers",
			Must: "call it once more, and only once",
			Pipe: func(p *Pipe) {
				list := `{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]}`
				p.Serve(map[string]on{
					"tools/list": p.answers(list),
					"tools/call": func(m jsonrpc.Message) bool {
						if p.Count("run") == 1 {
							return false
						}
						p.Answer(m, Echo(m))
						return true
					},
				})
			},
			Within: 15 * time.Second,
			Try: managed(func(t *Trial, m *manager.Manager) {
				t.works(m)
				t.Notes("run", 2, 2)
			}),
		},
		{
			Name: "many/list/storm",
			Does: "says 2,000 times that its tools have changed, which they have not",
			Must: "read them a few times, one at a time",
			Pipe: stormy,
			Try: managed(func(t *Trial, m *manager.Manager) {
				t.works(m)
				for t.Noted("list") < 2 && t.Context.Err() == nil {
					time.Sleep(10 * time.Millisecond)
				}
				t.works(m)
				time.Sleep(500 * time.Millisecond) // for those that are one too many
				t.Notes("list", 2, 10)
				t.Notes("list meanwhile", 0, 0)
			}),
		},
		{
			Name: "many/list/fails-later",
			Does: "refuses to list its tools from the second time on",
			Must: "keep those that it knows",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{
					"initialize": p.tellsOfTools,
					"tools/list": func(m jsonrpc.Message) bool {
						if p.Count("list") > 1 {
							p.Refuse(m, -32603, "not again")
							return true
						}
						p.Answer(m, toolList)
						p.Write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
						return true
					},
				})
			},
			Try: managed(func(t *Trial, m *manager.Manager) {
				t.await(m, func(s manager.Status) bool { return s.ListErr != nil })
				if tools := m.Snapshot().Tools; len(tools) != 1 || tools[0].Name != "echo" || tools[0].Now != manager.Live {
					t.Fail("the tools are %+v", tools)
				}
			}),
		},
		{
			Name: "many/silence/line",
			Does: "answers nothing any more after its first call, pings neither",
			Must: "notice, and make a new line",
			Pipe: func(p *Pipe) {
				p.Note("start")
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					p.Answer(m, Echo(m))
					for p.Noted("start") == 1 {
						if _, more := p.Read(); !more {
							return false
						}
					}
					return true
				}})
			},
			Within: 15 * time.Second,
			Try: func(t *Trial) {
				m := mcpwire.Manage([]config.Server{t.Server}, t.manage(manager.Options{
					PingInterval: 200 * time.Millisecond, PingTimeout: 300 * time.Millisecond,
				}))
				defer t.closeManager(m)
				t.await(m, func(s manager.Status) bool { return s.State == manager.Ready })
				t.works(m)
				t.await(m, func(s manager.Status) bool { return s.State == manager.Ready && s.Starts == 2 })
				t.works(m)
			},
		},
		{
			Name: "many/start/silent-neighbour",
			Does: "never answers, beside a server that works",
			Must: "have the other one's tools at once",
			Pipe: func(p *Pipe) {
				if os.Getenv("GOOD") != "" {
					p.Serve(nil)
					return
				}
				for {
					if _, more := p.Read(); !more {
						return
					}
				}
			},
			Within: 10 * time.Second,
			Try: func(t *Trial) {
				bad, good := t.Server, t.Server
				good.Name, good.Env = "good", map[string]string{"GOOD": "1", folderVariable: t.Folder}
				m := mcpwire.Manage([]config.Server{bad, good}, t.manage(manager.Options{}))
				defer t.closeManager(m)
				start := time.Now()
				if err := m.Settle(t.Context, "good"); err != nil {
					t.Fail("the good one is not ready: %v", err)
				}
				if took := time.Since(start); took > 5*time.Second {
					t.Fail("it took %v", took)
				}
				if tools := m.Snapshot().Tools; len(tools) != 1 || tools[0].Server != "good" || tools[0].Name != "echo" {
					t.Fail("the tools are %+v", tools)
				}
				if s, _ := m.Snapshot().Server("it"); s.State != manager.Connecting {
					t.Fail("the silent one is %v", s.State)
				}
			},
		},
		{
			Name: "many/name/refused-by-models",
			Does: "has tools called a.b, a/b, a_b, Ünïcode tool and one of 120 letters",
			Must: "give each a name of its own that models accept, and call it by its own",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{
					"tools/list": func(m jsonrpc.Message) bool {
						p.Answer(m, `{"tools":[{"name":"a.b"},{"name":"a/b"},{"name":"a_b"},{"name":"Ünïcode tool"},`+
							`{"name":"`+long(120)+`"}]}`)
						return true
					},
					"tools/call": func(m jsonrpc.Message) bool {
						var params struct {
							Name json.RawMessage `json:"name"`
						}
						_ = mcp.Decode(m.Params, &params) // the client encodes it
						p.Answer(m, `{"content":[{"type":"text","text":`+string(params.Name)+`}]}`)
						return true
					},
				})
			},
			Try: managed(func(t *Trial, m *manager.Manager) {
				if err := m.Settle(t.Context, "it"); err != nil {
					t.Fail("%v", err)
				}
				seen := map[string]bool{}
				for _, tool := range m.Snapshot().Tools {
					seen[tool.SafeName] = true
					result, err := m.Call(t.Context, tool.SafeName, nil, nil)
					if err != nil || result.Content[0].Text != tool.Name {
						t.Fail("%s called %+v, %v", tool.SafeName, result, err)
					}
					if !accepted.MatchString(tool.SafeName) {
						t.Fail("no model accepts %q", tool.SafeName)
					}
				}
				if len(seen) != 5 {
					t.Fail("there are %d names", len(seen))
				}
			}),
		},
	}
}

// stormy says in each call that its tools have changed, and takes its time to list them.
func stormy(p *Pipe) {
	var open atomic.Int64
	p.Serve(map[string]on{
		"initialize": p.tellsOfTools,
		"tools/list": func(m jsonrpc.Message) bool {
			p.Note("list")
			if open.Add(1) > 1 {
				p.Note("list meanwhile")
			}
			time.AfterFunc(50*time.Millisecond, func() {
				open.Add(-1)
				p.Answer(m, toolList)
			})
			return true
		},
		"tools/call": func(m jsonrpc.Message) bool {
			for range 2000 {
				p.Write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
			}
			p.Answer(m, Echo(m))
			return true
		},
	})
}

// tellsOfTools answers initialize and says that changes of the tools are told.
func (p *Pipe) tellsOfTools(m jsonrpc.Message) bool {
	p.Answer(m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},`+
		`"serverInfo":{"name":"hostile","version":"1"}}`)
	return true
}

// on serves a message of one method; false ends the server.
type on = func(m jsonrpc.Message) bool

// long returns so many letters.
func long(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = 'a' + byte(i%26)
	}
	return string(text)
}

// managed makes the Try of a row from what is to be done with a manager of its server.
func managed(try func(t *Trial, m *manager.Manager)) func(t *Trial) {
	return func(t *Trial) {
		m := mcpwire.Manage([]config.Server{t.Server}, t.manage(manager.Options{}))
		defer t.closeManager(m)
		_ = m.Settle(t.Context, "it") // whether it is ready is the row's business
		try(t, m)
	}
}

// manage are the options of a manager that keeps nothing on disk.
func (t *Trial) manage(o manager.Options) mcpwire.ManageOptions {
	o.CacheDir = "none"
	return mcpwire.ManageOptions{Options: o, StateDir: "none"}
}

func (t *Trial) closeManager(m *manager.Manager) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Fail("the manager can't be closed: %v", err)
	}
}

// await waits until the server stands so.
func (t *Trial) await(m *manager.Manager, so func(manager.Status) bool) manager.Status {
	for {
		snapshot := m.Snapshot()
		s, _ := snapshot.Server("it")
		if so(s) {
			return s
		}
		select {
		case <-snapshot.Changed():
		case <-t.Context.Done():
			t.Fail("it is %v after %d starts (%v), and nothing else comes", s.State, s.Starts, s.Err)
			panic(abandoned{})
		}
	}
}

// works makes a call through a manager, which must succeed.
func (t *Trial) works(m *manager.Manager) {
	result, err := m.CallTool(t.Context, "it", "echo", map[string]string{"text": "hello"}, nil)
	if err != nil {
		t.Fail("a call that must work fails: %v", err)
	} else if len(result.Content) == 0 || result.Content[0].Text != "hello" {
		t.Fail("a call that must work returns %+v", result)
	}
}

// unknown makes a call through a manager, whose outcome must be unknown.
func (t *Trial) unknown(m *manager.Manager, parts ...string) {
	_, err := m.CallTool(t.Context, "it", "echo", map[string]string{"text": "hello"}, nil)
	t.WantError(err, parts...)
	if _, ok := errors.AsType[*manager.OutcomeUnknown](err); !ok {
		t.Fail("the call ended with %v", err)
	}
}
