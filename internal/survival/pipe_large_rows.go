package survival

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// overCap is the heap that a row may take in which a message is as large as the cap, which is 64 MiB, or larger; huge is
// how large a message is that a client can't hold within it.
const (
	overCap = (64 + 64) << 20
	huge    = 160 << 20
)

// largeRows are about large and deep messages.
func largeRows() []Row {
	text := func(size int) func(p *Pipe) {
		return first("tools/call", func(p *Pipe, m jsonrpc.Message) {
			p.Write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			writeMany(p, size)
			p.Write(`"}]}}` + "\n")
		})
	}
	return []Row{
		{
			Name: "pipe/large/16-mib",
			Does: "returns a text of 16 MiB",
			Must: "return it",
			Pipe: text(16 << 20), Memory: overCap, Within: 20 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				result, err := t.callWithin(c, unhurried)
				if err != nil || len(result.Content) != 1 || len(result.Content[0].Text) != 16<<20 {
					t.Fail("error %v", err)
				}
				t.Works(c)
			},
		},
		{
			Name: "pipe/large/over-cap",
			Does: "returns a text of 160 MiB, which is above the cap",
			Must: "end that call with an error that says so, hold no more than the cap, and keep the line",
			Pipe: text(huge), Memory: overCap, Within: 30 * time.Second,
			Try: costsACall("message too large", "bytes"),
		},
		{
			Name: "pipe/large/over-cap-id-last",
			Does: "returns a text of 160 MiB in an answer that has its id at the end",
			Must: "end that call with an error that says so, and keep the line",
			Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
				p.Write(`{"result":{"content":[{"type":"text","text":"`)
				writeMany(p, huge)
				p.Write(`"}]},"id":%s,"jsonrpc":"2.0"}`+"\n", m.ID)
			}),
			Memory: overCap, Within: 30 * time.Second,
			Try: costsACall("message too large", "bytes"),
		},
		{
			Name: "pipe/large/never-ends",
			Does: "writes a line in its first call that never ends",
			Must: "end the call by its clock, hold no more than the cap, and close the line",
			Pipe: first("tools/call", func(p *Pipe, _ jsonrpc.Message) {
				for range 1000 {
					writeMany(p, 1<<20)
				}
				p.Drain()
			}),
			Memory: overCap, Within: 20 * time.Second,
			Try: func(t *Trial) { t.Fails(t.Connect(), unmatched) },
		},
		{
			Name: "pipe/large/before-handshake",
			Does: "writes 160 MiB without a line's end before the handshake",
			Must: "skip them, and connect",
			Pipe: func(p *Pipe) {
				writeMany(p, huge)
				p.Write("\n")
				p.Serve(nil)
			},
			Memory: overCap, Within: 30 * time.Second, Try: worksTwice,
		},
	}
}

// deepRows are about structured content that is deep or long.
func deepRows() []Row {
	deep := func(depth int) func(p *Pipe) {
		return func(p *Pipe) {
			once("tools/call", `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"hello"}],`+
				`"structuredContent":`+nested(depth)+`}}`)(p)
		}
	}
	return []Row{
		{
			Name: "pipe/large/deep",
			Does: "returns structured content that is nested 100,000 levels deep",
			Must: "end the call by its clock, and keep the line",
			Pipe: deep(100_000), Try: expires(),
		},
		{
			Name: "pipe/large/deep-enough",
			Does: "returns structured content that is nested 5,000 levels deep",
			Must: "return it",
			Pipe: deep(5_000), Try: structured(nested(5_000)),
		},
		{
			Name: "pipe/large/number",
			Does: "returns a number of 1 MiB",
			Must: "keep its digits",
			Pipe: func(p *Pipe) {
				once("tools/call", `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"hello"}],`+
					`"structuredContent":`+number()+`}}`)(p)
			},
			Try: func(t *Trial) { structured(number())(t) },
		},
	}
}

// nested is JSON of that depth.
func nested(depth int) string {
	return strings.Repeat(`{"a":[`, depth/2) + strings.Repeat(`]}`, depth/2)
}

// number is an object with a number of 1 MiB.
func number() string { return `{"n":1` + strings.Repeat("0", 1<<20) + `}` }

// structured is the Try of a server whose first call returns this structured content, byte for byte.
func structured(content string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		result, err := t.callWithin(c, unhurried)
		if err != nil || string(result.StructuredContent) != content {
			t.Fail("the structured content is another, and error %v", err)
		}
		t.Works(c)
	}
}

// writeMany writes so many letters, piece by piece.
func writeMany(p *Pipe, size int) {
	piece := strings.Repeat("x", 64<<10)
	for ; size > 0; size -= len(piece) {
		p.Write("%s", piece[:min(size, len(piece))])
	}
}

// pagesRows are about lists of several pages.
func pagesRows() []Row {
	const good = `{"name":"echo"}`
	pages := func(next func(page int) string) func(p *Pipe) {
		page := 0
		return func(p *Pipe) {
			p.Serve(map[string]on{"tools/list": func(m jsonrpc.Message) bool {
				page++
				p.Note("page")
				p.Answer(m, fmt.Sprintf(`{"tools":[%s,{"name":"t%d"}],"nextCursor":%s}`, good, page, next(page)))
				return true
			}})
		}
	}
	ends := func(reason error, tools, requests int) func(t *Trial) {
		return func(t *Trial) {
			c := t.Connect()
			got, err := c.ListTools(t.Context)
			if !errors.Is(err, reason) || len(got) != tools || t.Noted("page") != requests {
				t.Fail("there are %d tools after %d requests, and error %v", len(got), t.Noted("page"), err)
			}
			t.Works(c)
		}
	}
	return []Row{
		{
			Name: "pipe/pages/same-cursor",
			Does: "hands out the same cursor with each page of its tools",
			Must: "stop there, with the tools that came",
			Pipe: pages(func(int) string { return `"x"` }), Try: ends(client.ErrCursorRepeats, 3, 2),
		},
		{
			Name: "pipe/pages/circle",
			Does: "hands out three cursors in turn",
			Must: "stop there, with the tools that came",
			Pipe: pages(func(page int) string { return fmt.Sprintf(`"%d"`, page%3) }),
			Try:  ends(client.ErrCursorRepeats, 5, 4),
		},
		{
			Name: "pipe/pages/empty-cursor",
			Does: "hands out an empty cursor",
			Must: "take it for the end",
			Pipe: pages(func(int) string { return `""` }), Try: ends(nil, 2, 1),
		},
		{
			Name: "pipe/pages/endless",
			Does: "hands out a new cursor with each page, for ever",
			Must: "stop at the limit, of 100 here, with the tools that came",
			Pipe: pages(func(page int) string { return fmt.Sprintf(`"%d"`, page) }),
			With: func(_ *config.Server, o *mcpwire.Options) { o.ListPages = 100 },
			Try:  ends(client.ErrTooManyPages, 101, 100),
		},
		{
			Name: "pipe/pages/slow",
			Does: "takes its time for each of endless pages",
			Must: "stop when the time for the list is over, which is a second here",
			Pipe: pages(func(page int) string {
				time.Sleep(100 * time.Millisecond)
				return fmt.Sprintf(`"%d"`, page)
			}),
			With: func(_ *config.Server, o *mcpwire.Options) { o.ListTimeout = time.Second },
			Try:  cannotList("tools/list", "timeout after 1000ms"),
		},
		refusedPage(),
	}
}

// refusedPage is about a list that breaks off.
func refusedPage() Row {
	const good = `{"name":"echo"}`
	return Row{
		Name: "pipe/pages/refused",
		Does: "refuses the second page",
		Must: "keep the first, and say that the list is incomplete",
		Pipe: func(p *Pipe) {
			p.Serve(map[string]on{"tools/list": func(m jsonrpc.Message) bool {
				if strings.Contains(string(m.Params), "cursor") {
					p.Refuse(m, -32602, "Invalid cursor")
					return true
				}
				p.Answer(m, `{"tools":[`+good+`],"nextCursor":"2"}`)
				return true
			}})
		},
		Try: func(t *Trial) {
			tools, err := t.Connect().ListTools(t.Context)
			t.WantError(err, "incomplete after 1 page", "MCP error -32602")
			if len(tools) != 1 {
				t.Fail("there are %d tools", len(tools))
			}
		},
	}
}

// manyToolsRows are about long lists.
func manyToolsRows() []Row {
	const good = `{"name":"echo"}`
	return []Row{
		{
			Name: "pipe/tools/twice",
			Does: "lists the same tool 10,000 times",
			Must: "keep one",
			Pipe: func(p *Pipe) { always("tools/list", `{"tools":[`+strings.Repeat(good+",", 9999)+good+`]}`)(p) },
			Try:  lists(1), Within: 15 * time.Second,
		},
		{
			Name: "pipe/tools/many",
			Does: "has 100,000 tools",
			Must: "list them all",
			Pipe: func(p *Pipe) {
				var all strings.Builder
				for i := range 100_000 {
					fmt.Fprintf(&all, `{"name":"t%d"},`, i)
				}
				p.Serve(map[string]on{"tools/list": func(m jsonrpc.Message) bool {
					p.Answer(m, `{"tools":[`+strings.TrimSuffix(all.String(), ",")+`]}`)
					return true
				}})
			},
			Within: 40 * time.Second, Memory: overCap,
			Try: lists(100_000),
		},
		{
			Name: "pipe/tools/long-name",
			Does: "has a tool whose name has 10 MiB",
			Must: "keep the name",
			Pipe: func(p *Pipe) {
				always("tools/list", `{"tools":[{"name":"`+strings.Repeat("n", 10<<20)+`"}]}`)(p)
			},
			Within: 20 * time.Second, Memory: overCap,
			Try: func(t *Trial) {
				c := t.Connect()
				tools, err := c.ListTools(t.Context)
				if err != nil || len(tools) != 1 || len(tools[0].Name) != 10<<20 {
					t.Fail("error %v", err)
				}
				t.Works(c)
			},
		},
	}
}

// slowPipeRows are about a server that is slow to write or to read.
func slowPipeRows() []Row {
	call := func(t *Trial, c *client.Client, size int, timeout time.Duration) (*mcp.CallToolResult, error) {
		return c.CallTool(t.Context, "echo", map[string]string{"text": strings.Repeat("x", size)},
			&client.CallOptions{Timeout: timeout})
	}
	return []Row{
		{
			Name: "pipe/slow/trickle",
			Does: "writes its first answer one byte each tenth of a second, for a while",
			Must: "end the call by its clock, and keep the line",
			Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
				line := honest(m) + "\n"
				for i := range 14 {
					p.Write("%s", line[i:i+1])
					time.Sleep(100 * time.Millisecond)
				}
				p.Write("%s", line[14:])
			}),
			Try: expires(),
		},
		{
			Name: "pipe/slow/unread",
			Does: "reads nothing any more behind the handshake",
			Must: "end a call with a megabyte of arguments by its clock, and close the line",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"notifications/initialized": func(jsonrpc.Message) bool {
					stay()
					return false
				}})
			},
			Within: 15 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				_, err := call(t, c, 1<<20, time.Second)
				t.WantError(err, unmatched)
				_, err = call(t, c, 10, time.Second)
				t.WantError(err, unmatched)
			},
		},
		{
			Name: "pipe/slow/reader",
			Does: "reads slowly, while 50 calls with 100 KiB of arguments each are made at once",
			Must: "write whole lines, and answer each call",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					time.Sleep(10 * time.Millisecond)
					p.Answer(m, Echo(m))
					return true
				}})
			},
			Within: 20 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				errs := make(chan error)
				for i := range 50 {
					go func() {
						result, err := call(t, c, 100<<10+i, unhurried)
						if err == nil && (len(result.Content) != 1 || len(result.Content[0].Text) != 100<<10+i) {
							err = errors.New("another call's answer came")
						}
						errs <- err
					}()
				}
				for range 50 {
					if err := <-errs; err != nil {
						t.Fail("%v", err)
					}
				}
			},
		},
	}
}
