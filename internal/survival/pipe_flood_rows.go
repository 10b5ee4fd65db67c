package survival

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// flood makes a server that writes a line so many times in each call, before it answers.
func flood(n int, line string) func(p *Pipe) {
	return func(p *Pipe) {
		p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
			many := strings.Repeat(fill(line, m)+"\n", 20)
			for range n / 20 {
				p.Write("%s", many)
			}
			p.Answer(m, Echo(m))
			return true
		}})
	}
}

// floodRows are about too much of something.
func floodRows() []Row {
	rows := []struct{ fault, does, line string }{
		{"log", "log messages", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`},
		{"unknown", "notifications that nobody knows", `{"jsonrpc":"2.0","method":"notifications/later"}`},
		{"changed", "notes that its tools have changed", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{"answers", "answers that nobody has asked for", `{"jsonrpc":"2.0","id":7001,"result":{"content":[]}}`},
		{"errors", "errors for no request", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`},
		{"cancelled", "cancellations", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$id}}`},
		{
			"progress", "notes of progress that nobody wants",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$id,"progress":1}}`,
		},
		{"pings", "pings", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"requests", "requests under the same id", `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`},
		{"batches", "batches of notifications", `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/flood/" + row.fault, Does: "sends 10,000 " + row.does + " in each call",
			Must: "answer the call, and go on",
			Pipe: flood(10_000, row.line), Try: worksTwice, Within: 15 * time.Second,
		})
	}
	return join(all, slowRows(), askedRows(), progressRows())
}

// slowRows are about a host that is slower than the server.
func slowRows() []Row {
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"$mib"}}`
	return []Row{
		slow(2*10_000, Row{
			Name: "pipe/flood/slow-host",
			Does: "sends 10,000 notifications in each call to a host that takes none",
			Must: "lose no answer, drop the oldest notifications, and tell how many",
			Pipe: flood(10_000, strings.ReplaceAll(note, "$mib", "x")),
		}),
		slow(2*80, Row{
			Name: "pipe/flood/slow-host-memory",
			Does: "sends 80 notifications of 1 MiB in each call to a host that takes none",
			Must: "lose no answer, and hold 16 MiB of notifications at most",
			Pipe: flood(80, note), Memory: (16 + 64) << 20,
		}),
	}
}

// slow completes a row with a host that takes no notification while two calls are made, and all of them behind: all that
// were sent are either taken or told as dropped.
func slow(sent int64, row Row) Row {
	var taken, dropped atomic.Int64
	var release chan struct{}
	row.With = func(_ *config.Server, o *mcpwire.Options) {
		wait := make(chan struct{})
		release = wait
		taken.Store(0)
		dropped.Store(0)
		o.OnNotification = func(context.Context, string, json.RawMessage) {
			<-wait
			taken.Add(1)
		}
		o.OnError = func(err error) {
			var n int64
			if _, scanErr := fmt.Sscanf(err.Error(), "%d notifications were dropped", &n); scanErr == nil {
				dropped.Add(n)
			}
		}
	}
	row.Within = 30 * time.Second
	row.Try = func(t *Trial) {
		c := t.Connect()
		worked := sync.OnceFunc(func() { close(release) })
		defer worked()
		t.Works(c)
		t.Works(c)
		worked()
		for taken.Load()+dropped.Load() < sent && t.Context.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		took, lost := taken.Load(), dropped.Load()
		if took+lost != sent || lost == 0 || took > 1100 {
			t.Fail("of %d notifications %d were taken, %d dropped", sent, took, lost)
		}
	}
	return row
}

// askedRows are about requests of the server.
func askedRows() []Row {
	ids := []string{`"p-1"`, `9007199254740993`, `1.0`, `-7`, `""`, `"\u00e9"`, `1e400`, `"$mib"`}
	return []Row{
		{
			Name: "pipe/asked/ping",
			Does: "pings in a call, and answers when it has been answered",
			Must: "answer at once",
			Pipe: asking([]string{`"p-1"`}, "ping", `"result":{}`), Try: worksTwice,
		},
		{
			Name: "pipe/asked/unknown",
			Does: "sends requests that nobody knows, under ids of every form",
			Must: "refuse each under its id, digit for digit",
			Pipe: asking(ids, "nope/x", `"error":{"code":-32601,`), Try: worksTwice,
		},
		{
			Name: "pipe/asked/not-offered",
			Does: "asks for what the client has not offered",
			Must: "refuse it",
			Pipe: asking([]string{"1"}, "sampling/createMessage", `"error":{"code":-32601,`), Try: worksTwice,
		},
		askedMany(),
		{
			Name: "pipe/asked/unread",
			Does: "sends 10,000 pings in a call, and reads no answer before it has ended the call",
			Must: "never wait for it to read",
			Pipe: flood(10_000, `{"jsonrpc":"2.0","id":"`+strings.Repeat("p", 100)+`","method":"ping"}`),
			Try:  worksTwice, Within: 15 * time.Second,
		},
	}
}

// askedMany is about more requests of the server than are served at once.
func askedMany() Row {
	var open, most atomic.Int64
	return Row{
		Name: "pipe/asked/many",
		Does: "sends 1,000 requests at once, and answers when all have been answered",
		Must: "answer each or refuse it, with no more than 64 of them in the host's hands",
		Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
			for i := range 1000 {
				p.Write(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`+"\n", i)
			}
			answered := map[string]bool{}
			for len(answered) < 1000 {
				a, more := p.Read()
				if !more {
					return
				}
				answered[a.ID.String()] = true
			}
			p.Answer(m, Echo(m))
		}),
		With: func(_ *config.Server, o *mcpwire.Options) {
			most.Store(0)
			o.Input = &client.InputHandler{Roots: func(ctx context.Context) ([]mcp.Root, error) {
				defer open.Add(-1)
				if now := open.Add(1); now > most.Load() {
					most.Store(now)
				}
				time.Sleep(50 * time.Millisecond)
				return nil, ctx.Err()
			}}
		},
		Within: 15 * time.Second,
		Try: func(t *Trial) {
			worksTwice(t)
			if n := most.Load(); n == 0 || n > 64 {
				t.Fail("%d requests were served at once", n)
			}
		},
	}
}

// asking makes a server that asks in its first call, and answers it when each question has been answered like this.
func asking(ids []string, method, want string) func(p *Pipe) {
	return first("tools/call", func(p *Pipe, m jsonrpc.Message) {
		waiting := map[string]bool{}
		for _, id := range ids {
			id = mebibyte(id)
			waiting[`{"jsonrpc":"2.0","id":`+id+`,`+want] = true
			p.Write(`{"jsonrpc":"2.0","id":%s,"method":%q}`+"\n", id, method)
		}
		for len(waiting) > 0 {
			line, err := p.in.ReadString('\n')
			if err != nil {
				return
			}
			for start := range waiting {
				if strings.HasPrefix(line, start) {
					delete(waiting, start)
				}
			}
		}
		p.Answer(m, Echo(m))
	})
}

// progressRows are about progress that is wanted.
func progressRows() []Row {
	const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s}}` + "\n"
	pulse := func(times int) func(p *Pipe) {
		return first("tools/call", func(p *Pipe, m jsonrpc.Message) {
			for range times {
				time.Sleep(200 * time.Millisecond)
				p.Write(note, m.ID, "1")
			}
			p.Answer(m, Echo(m))
		})
	}
	call := func(t *Trial, o client.CallOptions) error {
		_, err := t.Connect().CallTool(t.Context, "echo", map[string]string{"text": "hello"}, &o)
		return err
	}
	return []Row{
		{
			Name: "pipe/progress/keeps-alive",
			Does: "takes two seconds for a call, and tells its progress",
			Must: "wait longer than its timeout of 1.5 s",
			Pipe: pulse(10),
			Try: func(t *Trial) {
				if err := call(t, client.CallOptions{Timeout: 1500 * time.Millisecond, ExtendOnProgress: true}); err != nil {
					t.Fail("%v", err)
				}
			},
		},
		{
			Name: "pipe/progress/for-ever",
			Does: "tells progress for ever",
			Must: "end the call by its limit",
			Pipe: pulse(30),
			Try: func(t *Trial) {
				o := client.CallOptions{Timeout: 5 * time.Second, Limit: time.Second, ExtendOnProgress: true}
				t.WantError(call(t, o), "request timeout after 1000ms")
			},
		},
		{
			Name: "pipe/progress/odd",
			Does: "tells progress that falls, is no number, is null, is huge, or is none",
			Must: "hand over what can be read, and answer",
			Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
				for _, value := range []string{"3", "2", `"half"`, "null", "1e400", "{}", "-1"} {
					p.Write(note, m.ID, value)
				}
				p.Write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s}}`+"\n", m.ID)
				p.Answer(m, Echo(m))
				p.Write(note, m.ID, "9")
			}),
			Try: func(t *Trial) {
				var told []float64
				o := client.CallOptions{OnProgress: func(p mcp.ProgressParams) { told = append(told, p.Progress) }}
				if err := call(t, o); err != nil || len(told) < 3 || told[0] != 3 || told[1] != 2 {
					t.Fail("it was told of %v, and error %v", told, err)
				}
			},
		},
		{
			Name: "pipe/progress/flood",
			Does: "tells progress 10,000 times in a call",
			Must: "hand over the latest, and answer",
			Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
				for i := range 10_000 {
					p.Write(note, m.ID, strconv.Itoa(i+1))
				}
				p.Answer(m, Echo(m))
			}),
			Try: func(t *Trial) {
				var last float64 // all that came has been handled when the call returns
				o := client.CallOptions{OnProgress: func(p mcp.ProgressParams) { last = p.Progress }}
				if err := call(t, o); err != nil || last != 10_000 {
					t.Fail("the last that it was told of is %v, and error %v", last, err)
				}
			},
		},
	}
}
