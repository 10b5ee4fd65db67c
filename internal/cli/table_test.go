package cli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/cli"
	"mcpwire/manager"
	"mcpwire/mcp"
)

var began = time.Unix(1_000_000, 0)

// standing is one server in every state that a table shows.
func standing() *manager.Snapshot {
	entry := func(name string) config.Server {
		return config.Server{Name: name, Command: "x", Origin: "f.json", Scope: config.ScopeUser}
	}
	lost := errors.New("lost: transport closed:\n  exit status 1\x1b[2J")
	return &manager.Snapshot{Servers: []manager.Status{
		{
			Config: entry("good"), State: manager.Ready, Tools: 12, TimeToReady: 1234 * time.Millisecond,
			Server: client.Server{Info: mcp.Implementation{Name: "s", Version: "1"}, Revision: mcp.Rev20251125},
		},
		{Config: entry("slow"), State: manager.Connecting, Since: began, Tools: 7, Cached: true},
		{Config: entry("lost"), State: manager.Waiting, Err: lost, Failures: 1},
		{Config: entry("again"), State: manager.Connecting, Since: began, Err: lost, Failures: 2},
		{Config: entry("off"), State: manager.Disabled},
		{Config: config.Server{Name: "web", URL: "https://example.com"}, State: manager.NeedsLogin},
	}}
}

func TestTheTableFillsInAsServersCome(t *testing.T) {
	want := strings.Split(`NAME   STATE         TOOLS  READY    TRANSPORT  PROTOCOL              SOURCE       ERROR
good   ready         12     1.2 s    stdio      2025-11-25 (session)  user f.json
slow   ⠙ connecting         500 ms…  stdio                            user f.json
lost   waiting                       stdio                            user f.json  transport closed: exit status 1
again  ⠙ connecting         500 ms…  stdio                            user f.json  lost: transport closed: exit status 1
off    disabled                      stdio                            user f.json
web    needs login                   http                                          needs login`, "\n")
	got := cli.LiveTable(standing(), 1, 200, 50, began.Add(500*time.Millisecond))
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestAtTheEndNoServerIsStillWaiting(t *testing.T) {
	got := strings.Join(cli.FinalTable(standing()), "\n")
	for _, text := range []string{"connecting  ", "waiting", "…"} {
		if strings.Contains(got, text) {
			t.Errorf("%q in\n%s", text, got)
		}
	}
	if n := strings.Count(got, "failed"); n != 3 {
		t.Errorf("%d have failed, want 3:\n%s", n, got)
	}
}

func TestTheTableFitsTheTerminal(t *testing.T) {
	s := &manager.Snapshot{}
	for i := range 50 {
		s.Servers = append(s.Servers, manager.Status{
			Config: config.Server{Name: fmt.Sprintf("server%02d", i), Command: "x", Origin: strings.Repeat("/folder", 20)},
			State:  manager.Connecting, Since: began,
		})
	}
	for _, size := range [][2]int{{80, 24}, {20, 5}, {300, 200}, {1, 1}, {80, 51}, {80, 52}} {
		width, height := size[0], size[1]
		lines := cli.LiveTable(s, 3, width, height, began)
		if len(lines) > max(height-1, 2) {
			t.Errorf("%v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) > max(width-1, 1) {
				t.Errorf("%v: %d characters: %s", size, utf8.RuneCountInString(line), line)
			}
		}
		last, shown := lines[len(lines)-1], len(lines)-2
		if len(lines) < 51 && width >= 20 && !strings.HasPrefix(last, fmt.Sprintf("… and %d more", 50-shown)) {
			t.Errorf("%v: the last line is %q", size, last)
		}
	}
}

func TestADrawingTakesTheOnesPlaceBefore(t *testing.T) {
	if got, want := cli.Redrawn(0, []string{"a", "b"}, false), "\x1b[?7l\r\x1b[Ja\nb\n\x1b[?7h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := cli.Redrawn(2, []string{"c"}, true), "\x1b[2A\r\x1b[Jc\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
