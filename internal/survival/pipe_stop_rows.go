package survival

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/transport"
)

// A way is one in which a server stops.
type way struct {
	fault, does string
	stop        func(p *Pipe)
	says        []string // what the error must say of it
}

func ways() []way {
	killed := "killed by SIGKILL"
	if runtime.GOOS == "windows" {
		killed = "exit status 1"
	}
	return []way{
		{"exit", "exits with status 0", func(*Pipe) { os.Exit(0) }, []string{"exit status 0"}},
		{"fail", "says why on its standard error and exits with status 3", func(p *Pipe) {
			fmt.Fprintln(p.Err, "\x1b[31mError:\x1b[0m out of luck")
			os.Exit(3)
		}, []string{"exit status 3", "stderr: Error: out of luck"}},
		{"killed", "is killed", func(*Pipe) { kill() }, []string{killed}},
		{"mute", "closes its output and lives on", func(p *Pipe) {
			closeFile(p.Out)
			p.Drain()
		}, []string{"the server closed its output"}},
	}
}

// A place is one in a conversation at which a server stops.
type place struct {
	fault, does string
	method      string // the request at which it stops; empty: before any
	before      string // what it writes before that; see fill
	try         func(says []string) func(t *Trial)
}

func places() []place {
	return []place{
		{"start", "before it reads anything", "", "", lostAtConnect},
		{"start-banner", "in the middle of a banner", "", "Demo serv", lostAtConnect},
		{"probe", "when it is asked what it speaks", "server/discover", "", startedAgain},
		{"initialize", "when it is asked to initialize", "initialize", "", lostAtConnect},
		{
			"initialize-half", "in the middle of its answer to initialize",
			"initialize", `{"jsonrpc":"2.0","id":$id,"re`, lostAtConnect,
		},
		{"initialized", "as soon as the handshake is done", "notifications/initialized", "", lostSoon},
		{"list", "when it is asked for its tools", "tools/list", "", lostInList},
		{
			"list-half", "in the middle of its list of tools",
			"tools/list", `{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name`, lostInList,
		},
		{"call", "in a call", "tools/call", "", lostInCall},
		{
			"call-half", "in the middle of its answer to a call",
			"tools/call", `{"jsonrpc":"2.0","id":$id,"result":{"content":`, lostInCall,
		},
		{
			"call-last-byte", "before the last byte of its answer to a call",
			"tools/call", `{"jsonrpc":"2.0","id":$id,"result":$result`, lostInCall,
		},
		{"call-done", "right behind its answer to a call", "tools/call", "$answer\n", lostAfterCall},
	}
}

// stopRows are about every place and way in which a server may stop.
func stopRows() []Row {
	var all []Row
	for _, at := range places() {
		for _, by := range ways() {
			must := "end what is open at once and say why, and run nothing twice"
			switch at.method {
			case "server/discover":
				must = "start it again, and not ask it that again"
			case "", "initialize":
				must = "refuse to connect at once, and say why"
			}
			all = append(all, Row{
				Name: "pipe/stop/" + at.fault + "/" + by.fault, Does: by.does + " " + at.does, Must: must,
				Pipe:   func(p *Pipe) { stopAt(p, at, by) },
				Try:    at.try(by.says),
				Within: 20 * time.Second,
			})
		}
	}
	return all
}

// stopAt is honest until the place, and stops there.
func stopAt(p *Pipe, at place, by way) {
	if at.method == "" {
		p.Write("%s", at.before)
		by.stop(p)
		return
	}
	p.Serve(map[string]on{at.method: func(m jsonrpc.Message) bool {
		p.Note(at.method)
		p.Write("%s", fill(at.before, m))
		by.stop(p)
		return false
	}})
}

func lostAtConnect(says []string) func(t *Trial) {
	return cannotConnect(append([]string{"it: ", "transport closed"}, says...)...)
}

// startedAgain is about a server that can't bear a question that it doesn't know.
func startedAgain([]string) func(t *Trial) {
	return func(t *Trial) {
		t.Works(t.Connect())
		t.Notes("server/discover", 1, 1)
	}
}

// lostSoon is about a server that may stop before or after connecting has ended.
func lostSoon(says []string) func(t *Trial) {
	return func(t *Trial) {
		c, err := t.Dial()
		if err == nil {
			t.Gone(c, says...)
			return
		}
		t.WantError(err, says...)
	}
}

func lostInList(says []string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		_, err := c.ListTools(t.Context)
		t.WantError(err, append([]string{"tools/list: transport closed"}, says...)...)
		t.Gone(c, says...)
	}
}

func lostInCall(says []string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		_, err := t.callWithin(c, unhurried)
		t.WantError(err, append([]string{"tools/call echo: transport closed"}, says...)...)
		t.Lacks(err, "\x1b")
		t.Delivered(err, transport.MaybeDelivered)
		t.Gone(c, says...)
		t.Notes("tools/call", 1, 1)
	}
}

func lostAfterCall(says []string) func(t *Trial) {
	return func(t *Trial) {
		c := t.Connect()
		t.Works(c)
		t.Gone(c, says...)
	}
}

// deafRows are about a server that closes its input.
func deafRows() []Row {
	deaf := func() {
		closeFile(os.Stdin)
		stay()
	}
	const why = "the server closed its input"
	return []Row{
		{
			Name: "pipe/stop/start/deaf",
			Does: "closes its input at once, and lives on",
			Must: "refuse to connect, by its clock at the latest",
			Pipe: func(*Pipe) { deaf() }, Within: 15 * time.Second,
			With: patiently(3 * time.Second),
			Try:  cannotConnect("it: "),
		},
		{
			Name: "pipe/stop/call/deaf",
			Does: "closes its input in a call, and lives on",
			Must: "say so at the next call, which has not been delivered whole",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					closeFile(os.Stdin)
					p.Answer(m, Echo(m))
					deaf()
					return false
				}})
			},
			Within: 15 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				t.Works(c)
				t.Refused(c, "transport closed", why)
				t.Gone(c, why)
			},
		},
	}
}

// onceRows are about what a manager does when it can't know whether a tool has run.
func onceRows() []Row {
	run := func(stop func(p *Pipe)) func(p *Pipe, m jsonrpc.Message) bool {
		return func(p *Pipe, m jsonrpc.Message) bool {
			if p.Count("run") == 1 {
				stop(p)
				return false
			}
			p.Answer(m, Echo(m))
			return true
		}
	}
	var all []Row
	for _, by := range ways() {
		call := run(by.stop)
		all = append(
			all,
			Row{
				Name: "pipe/once/session/" + by.fault,
				Does: "runs a tool and then " + by.does,
				Must: "say that the tool may have run, start the server again, and run the tool no second time",
				Pipe: func(p *Pipe) {
					p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool { return call(p, m) }})
				},
				Within: 20 * time.Second,
				Try:    managed(ranOnce(by.says)),
			},
			Row{
				Name: "pipe/once/stateless/" + by.fault,
				Does: "runs a tool without a session and then " + by.does,
				Must: "say that the tool may have run, start the server again, and run the tool no second time",
				Pipe: func(p *Pipe) {
					p.ServeStateless(map[string]on{"tools/call": func(m jsonrpc.Message) bool { return call(p, m) }})
				},
				Within: 20 * time.Second,
				Try:    managed(ranOnce(by.says)),
			},
		)
	}
	return append(all, answeredOnceRows()...)
}

// ranOnce makes a call whose outcome can't be known, and one that works: that makes two.
func ranOnce(says []string) func(t *Trial, m *manager.Manager) {
	return func(t *Trial, m *manager.Manager) {
		t.unknown(m, append([]string{"transport closed"}, says...)...)
		t.Notes("run", 1, 1)
		t.works(m)
		t.Notes("run", 2, 2)
	}
}

// answeredOnceRows are about answers after which nobody may try again.
func answeredOnceRows() []Row {
	rows := []struct{ fault, does, text string }{
		{"silence", "never answers", ``},
		{"garbled", "answers with what can't be read", `"result":5`},
		{"failed", "answers that it failed", `"error":{"code":-32603,"message":"no"}`},
		{"overloaded", "answers that it is overloaded", `"error":{"code":-32000,"message":"try again"}`},
		{"session", "answers that it has lost the session", `"error":{"code":-32001,"message":"Session not found"}`},
		{"headers", "answers that its headers are wrong", `"error":{"code":-32020,"message":"Header mismatch"}`},
		{
			"revision", "answers that it speaks something else",
			`"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}`,
		},
		{"unknown", "answers with a result of a later kind", `"result":{"resultType":"later","content":[]}`},
	}
	var all []Row
	for _, row := range rows {
		run := func(p *Pipe) on {
			return func(m jsonrpc.Message) bool {
				p.Note("run")
				if row.text != "" {
					p.Write(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, row.text)
				}
				return true
			}
		}
		for _, era := range []string{"session", "stateless"} {
			serve := (*Pipe).Serve
			if era == "stateless" {
				serve = (*Pipe).ServeStateless
			}
			all = append(all, Row{
				Name: "pipe/once/" + era + "/" + row.fault,
				Does: "runs a tool and " + row.does + " (" + era + " era)",
				Must: "end that call, and run the tool no second time",
				Pipe: func(p *Pipe) { serve(p, map[string]on{"tools/call": run(p)}) },
				With: func(s *config.Server, _ *mcpwire.Options) {
					if row.text == "" {
						s.Timeout = new(1500 * time.Millisecond)
					}
				},
				Within: 20 * time.Second,
				Try: managed(func(t *Trial, m *manager.Manager) {
					_, err := m.CallTool(t.Context, "it", "echo", nil, nil)
					if row.fault != "unknown" || era == "stateless" {
						t.WantError(err)
					}
					t.Notes("run", 1, 1)
				}),
			})
		}
	}
	return all
}
