package survival

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/internal/leaks"
	"mcpwire/jsonrpc"
)

// closes ends a connection, which must take between these times, with two seconds more for a busy machine.
func (t *Trial) closes(c *client.Client, least, most time.Duration) {
	start := time.Now()
	if err := c.Close(t.Context); err != nil {
		t.Fail("it can't be closed: %v", err)
	}
	if took := time.Since(start); took < least || took > most+2*time.Second {
		t.Fail("closing took %v", took)
	}
}

// stay has the server live on until it is ended.
func stay() { time.Sleep(time.Minute) }

// stubborn is a server that ends for nothing.
func stubborn(p *Pipe) {
	signal.Ignore(syscall.SIGTERM)
	p.Serve(nil)
	stay()
}

// shutdownRows are about servers that do not want to go.
func shutdownRows() []Row {
	return []Row{
		{
			Name: "pipe/shutdown/slow",
			Does: "takes half a second to end after its input has ended",
			Must: "let it",
			Pipe: func(p *Pipe) {
				p.Serve(nil)
				time.Sleep(500 * time.Millisecond)
				p.Note("in order")
			},
			Try: func(t *Trial) {
				t.closes(t.Connect(), 500*time.Millisecond, time.Second)
				t.Notes("in order", 1, 1)
			},
		},
		{
			Name: "pipe/shutdown/ignores-end",
			Does: "does not end when its input does, but when it is asked to",
			Must: "ask it after two seconds",
			Pipe: func(p *Pipe) {
				asked := make(chan os.Signal, 1)
				signal.Notify(asked, syscall.SIGTERM)
				p.Serve(nil)
				<-asked
				p.Note("asked")
			},
			Within: 12 * time.Second,
			Try: func(t *Trial) {
				t.closes(t.Connect(), 1900*time.Millisecond, 4*time.Second)
				if runtime.GOOS != "windows" && t.Noted("asked") != 1 {
					t.Fail("it was not asked")
				}
			},
		},
		{
			Name: "pipe/shutdown/ignores-all",
			Does: "ends neither with its input nor when it is asked to",
			Must: "kill it after four seconds",
			Pipe: stubborn, Within: 12 * time.Second,
			Try: func(t *Trial) {
				least := 3900 * time.Millisecond
				if runtime.GOOS == "windows" { // where nobody can be asked
					least = 1900 * time.Millisecond
				}
				t.closes(t.Connect(), least, 5*time.Second)
			},
		},
	}
}

// hurriedRows are about the end of a line in the middle of something.
func hurriedRows() []Row {
	return []Row{
		{
			Name: "pipe/shutdown/hurry",
			Does: "ends neither with its input nor when it is asked to, while there is no time",
			Must: "kill it at once",
			Pipe: stubborn, Within: 12 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				hurry, cancel := context.WithCancel(t.Context)
				cancel()
				start := time.Now()
				if err := c.Close(hurry); err != nil || time.Since(start) > 1900*time.Millisecond {
					t.Fail("closing took %v, and error %v", time.Since(start), err)
				}
			},
		},
		{
			Name: "pipe/shutdown/talks-on",
			Does: "writes without end while it is to end",
			Must: "end it in time",
			Pipe: func(p *Pipe) {
				go func() {
					for {
						p.Write(`{"jsonrpc":"2.0","method":"x"}` + "\n")
					}
				}()
				p.Drain()
				stay()
			},
			With:   patiently(time.Second),
			Within: 12 * time.Second, Try: cannotConnect("connect timeout after 1000ms"),
		},
		{
			Name: "pipe/shutdown/in-call",
			Does: "does not answer a call while the line is closed",
			Must: "end the call, and close the line",
			Pipe: first("tools/call", func(p *Pipe, _ jsonrpc.Message) {
				p.Note("run")
				p.Drain()
			}),
			Try: func(t *Trial) {
				c := t.Connect()
				failed := make(chan error)
				go func() {
					_, err := t.callWithin(c, unhurried)
					failed <- err
				}()
				for t.Noted("run") == 0 && t.Context.Err() == nil {
					time.Sleep(10 * time.Millisecond)
				}
				t.closes(c, 0, time.Second)
				t.WantError(<-failed, "transport closed")
			},
		},
		{
			Name: "pipe/shutdown/cancelled",
			Does: "never answers, and the host gives up",
			Must: "report the host's own reason",
			Pipe: (*Pipe).Drain,
			Try: func(t *Trial) {
				ctx, cancel := context.WithTimeout(t.Context, 300*time.Millisecond)
				defer cancel()
				_, err := mcpwire.Connect(ctx, t.Server, t.Options)
				t.WantError(err, context.DeadlineExceeded.Error())
			},
		},
	}
}

// forks makes a server that starts a process which lives on, and then does the rest.
func forks(child, rest func(p *Pipe)) func(p *Pipe) {
	return func(p *Pipe) {
		if os.Getenv(lingering) != "" {
			child(p)
			stay()
			return
		}
		fork(p)
		rest(p)
	}
}

// childEnds waits until the process that the server has started is gone.
func (t *Trial) childEnds() {
	_, after, ok := strings.Cut(readNotes(t.Folder), "child ")
	line, _, _ := strings.Cut(after, "\n")
	pid, err := strconv.Atoi(line)
	if !ok || err != nil {
		t.Fail("the server has started nothing")
		return
	}
	for {
		command, running := leaks.Running(pid)
		if !running {
			return
		}
		if t.Context.Err() != nil {
			t.Fail("process %d (%s) lives on", pid, command)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// forkRows are about servers that start processes.
func forkRows() []Row {
	nothing := func(*Pipe) {}
	return []Row{
		{
			Name: "pipe/fork/holds-output",
			Does: "starts a process that holds its output open, and ends in order",
			Must: "end that process too",
			Pipe: forks(nothing, func(p *Pipe) { p.Serve(nil) }), Within: 15 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				t.Works(c)
				t.closes(c, 0, 5*time.Second)
				t.childEnds()
			},
		},
		{
			Name: "pipe/fork/exits",
			Does: "starts a process that holds its output open, and exits in a call",
			Must: "end the call without waiting for that process, and end it",
			Pipe: forks(nothing, func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(jsonrpc.Message) bool { os.Exit(3); return false }})
			}),
			Within: 15 * time.Second,
			Try: func(t *Trial) {
				c := t.Connect()
				t.Refused(c, "transport closed", "exit status 3")
				t.closes(c, 0, 5*time.Second)
				t.childEnds()
			},
		},
		{
			Name: "pipe/fork/away",
			Does: "leaves its work to a process that it has started, and exits",
			Must: "take the line for ended, and leave nothing of it",
			Pipe: forks(func(p *Pipe) { p.Serve(nil) }, nothing), Within: 15 * time.Second,
			Try: func(t *Trial) {
				c, err := t.Dial()
				if err == nil {
					t.Gone(c, "exit status 0")
					t.closes(c, 0, 5*time.Second)
				} else {
					t.WantError(err, "exit status 0")
				}
				t.childEnds()
			},
		},
	}
}

// startRows are about servers that can't be started.
func startRows() []Row {
	rows := []struct {
		fault, does string
		set         func(t *Trial)
		says        []string // not on Windows
	}{
		{"no-command", "does not exist", func(t *Trial) { t.Server.Command = "no-such-command-7c1" }, []string{
			`command "no-such-command-7c1" not found in PATH`,
		}},
		{"no-file", "is a file that does not exist", func(t *Trial) {
			t.Server.Command = filepath.Join(t.Folder, "x")
		}, []string{"not found: there is no file"}},
		{"folder", "is a folder", func(t *Trial) { t.Server.Command = t.Folder }, []string{"is not an executable file"}},
		{"not-executable", "is a file that may not be executed", func(t *Trial) { t.file("x", 0o600) }, []string{
			"is not an executable file",
		}},
		{"no-format", "is a text", func(t *Trial) { t.file("x", 0o700) }, []string{"nor a script", "#!"}},
		{"no-folder", "is to run in a folder that does not exist", func(t *Trial) {
			t.Server.Cwd = filepath.Join(t.Folder, "none")
		}, []string{"working directory", "does not exist"}},
		{"no-name", "has an empty name", func(t *Trial) { t.Server.Command = "" }, nil},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/start/" + row.fault, Does: row.does, Must: "say so at once, and start nothing",
			Pipe: func(p *Pipe) {
				p.Note("start")
				p.Serve(nil)
			},
			Try: func(t *Trial) {
				row.set(t)
				start := time.Now()
				_, err := t.Dial()
				if took := time.Since(start); took > 3*time.Second {
					t.Fail("it took %v", took)
				}
				t.Notes("start", 0, 0)
				if runtime.GOOS == "windows" {
					row.says = nil
				}
				t.WantError(err, row.says...)
			},
		})
	}
	return all
}

// file makes a file that is no program, and the command of the server.
func (t *Trial) file(name string, mode os.FileMode) {
	t.Server.Command = filepath.Join(t.Folder, name)
	if err := os.WriteFile(t.Server.Command, []byte("Dear diary,\n"), mode); err != nil {
		t.Fail("%v", err)
	}
}
