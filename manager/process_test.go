package manager_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/proc/proctest"
	"mcpwire/jsonrpc"
	"mcpwire/manager"
	"mcpwire/mcp"
)

// scriptVariable makes the test binary a server that does as the script says.
const scriptVariable = "MCPWIRE_TEST_SCRIPT"

// A script is what a server that is a process does.
type script struct {
	DelayMS  int    // before it reads anything, in milliseconds
	Silent   bool   // it answers nothing
	Exits    string // if not empty, it says this on its standard error and exits with status 1 at once
	Stubborn bool   // it goes on when its input is closed, and ignores SIGTERM
	DiesIf   string // it exits with status 0 once its tools were listed, if there is this file
	Ledger   string // the file in which it notes "start <pid>" and "run <call>"; empty: none
}

func init() {
	text := os.Getenv(scriptVariable)
	if text == "" {
		return
	}
	var s script
	if err := jsonv2.Unmarshal([]byte(text), &s); err != nil {
		panic(err)
	}
	s.serve()
	os.Exit(0)
}

func (s script) serve() {
	s.note("start %d", os.Getpid())
	if s.Exits != "" {
		fmt.Fprintln(os.Stderr, s.Exits)
		os.Exit(1)
	}
	if s.Stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	time.Sleep(time.Duration(s.DelayMS) * time.Millisecond)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if m, err := jsonrpc.Parse(in.Bytes()); err == nil && m.Kind == jsonrpc.Request && !s.Silent {
			s.answer(m)
		}
	}
	for s.Stubborn {
		time.Sleep(time.Hour)
	}
}

func (s script) answer(m jsonrpc.Message) {
	say := func(member string) {
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, member)
	}
	switch m.Method {
	case mcp.MethodInitialize:
		say(`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case mcp.MethodListTools:
		say(`"result":{"tools":[{"name":"write","inputSchema":{"type":"object"}},` +
			`{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)
		if _, err := os.Stat(s.DiesIf); err == nil {
			os.Exit(0)
		}
	case mcp.MethodCallTool:
		var p struct {
			Arguments struct {
				Call string `json:"call"`
			} `json:"arguments"`
		}
		_ = mcp.Decode(m.Params, &p)
		s.note("run %s", p.Arguments.Call)
		say(`"result":{"content":[]}`)
	default:
		say(`"error":{"code":-32601,"message":"unknown method"}`)
	}
}

// note writes a line into the ledger, whole.
func (s script) note(format string, args ...any) {
	if s.Ledger == "" {
		return
	}
	f, err := os.OpenFile(s.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

// entry is the configuration of a server that is a process.
func (s script) entry(t testing.TB, name string) config.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsonv2.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{scriptVariable: string(text), "GORACE": "atexit_sleep_ms=0"}
	return config.Server{Name: name, Command: self, Env: env}
}

// noted returns what stands in a ledger behind a word, line by line.
func noted(t testing.TB, ledger, word string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(ledger)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
			all = append(all, rest)
		}
	}
	return all
}

// pids returns the processes that a ledger tells of.
func pids(t testing.TB, ledger string) (all []int) {
	t.Helper()
	for _, text := range noted(t, ledger, "start") {
		var pid int
		if _, err := fmt.Sscan(text, &pid); err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// manage keeps servers that are processes until the test ends, when nothing of them must be left.
func manage(t testing.TB, servers []config.Server, o mcpwire.ManageOptions) *manager.Manager {
	t.Helper()
	proctest.NoLeaks(t)
	o.StateDir = "none"
	if o.CacheDir == "" {
		o.CacheDir = "none"
	}
	m := mcpwire.Manage(servers, o)
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// gone checks that nothing is left of what a ledger tells of. Each server leads a group of processes of its own.
func gone(t testing.TB, ledger string) {
	t.Helper()
	for _, pid := range pids(t, ledger) {
		if !proctest.Within(5*time.Second, func() bool { return proctest.GroupGone(pid) }) {
			t.Errorf("process %d is left", pid)
		}
	}
}

const (
	realServers = 6
	realCallers = 8
	realTime    = 10 * time.Second
)

func TestChaosWithProcessesRunsNoCallTwiceAndLeavesNothingBehind(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	folder := t.TempDir()
	c := &chaos{t: t, random: rand.New(rand.NewPCG(1, 2)), hands: map[string][]time.Time{}}
	var ledgers []string
	for i := range realServers {
		name := fmt.Sprint("s", i)
		ledgers = append(ledgers, filepath.Join(folder, name))
		c.fakes = append(c.fakes, &chaotic{fake: &fake{name: name}})
		c.config = append(c.config, script{Ledger: ledgers[i]}.entry(t, name))
	}
	c.m = manage(t, c.config, mcpwire.ManageOptions{Options: manager.Options{Client: client.Options{Timeout: chaosTimeout}}})
	ctx, stop := context.WithTimeout(t.Context(), realTime)
	defer stop()
	outcomes := make([][]outcome, realCallers)
	var calling sync.WaitGroup
	for i := range realCallers {
		calling.Go(func() { outcomes[i] = c.caller(ctx, i, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	kills := 0
	for ctx.Err() == nil {
		i := c.random.IntN(realServers)
		if started := pids(t, ledgers[i]); len(started) > 0 {
			if p, err := os.FindProcess(started[len(started)-1]); err == nil && p.Kill() == nil {
				kills++
			}
		}
		if i := c.random.IntN(realServers); byHand(i) {
			c.reconnect(c.fakes[i].name)
		}
		select {
		case <-time.After(upTo(c.random, 300*time.Millisecond)):
		case <-ctx.Done():
		}
	}
	calling.Wait()
	if err := c.m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	judgeProcesses(t, ledgers, outcomes, kills)
}

// judgeProcesses checks the calls against the ledgers, and that of the servers nothing is left.
func judgeProcesses(t *testing.T, ledgers []string, outcomes [][]outcome, kills int) {
	t.Helper()
	runs := map[string]int{}
	for i, ledger := range ledgers {
		gone(t, ledger)
		for _, id := range noted(t, ledger, "run") {
			runs[id]++
		}
		if n := len(pids(t, ledger)); !byHand(i) && n > chaosStarts {
			t.Errorf("server %d was started %d times", i, n)
		}
	}
	results, calls := 0, 0
	for _, all := range outcomes {
		for _, o := range all {
			calls++
			if o.tool != "read" { // what the servers know nothing of is a tool like any other
				o.twice = o.twice && o.tool != "idempotent"
			}
			if o.err == nil {
				results++
			}
			if wrong := o.judgeReal(runs[o.id]); wrong != "" {
				t.Errorf("call %s of %s at %s ran %d times: %s: %v after %v", o.id, o.tool, o.server, runs[o.id], wrong, o.err, o.took)
			}
		}
	}
	t.Logf("%d calls, %d results, %d kills", calls, results, kills)
	if results == 0 || kills == 0 {
		t.Error("nothing has happened")
	}
}

// judgeReal is judge where the clock is real, so that a little may come on top of a limit.
func (o outcome) judgeReal(runs int) (wrong string) {
	o.took = max(0, o.took-2*time.Second)
	return o.judge(runs)
}
