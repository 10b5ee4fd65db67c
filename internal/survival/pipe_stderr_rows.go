package survival

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
)

// stderrRows are about a server's standard error.
func stderrRows() []Row {
	rows := []struct {
		fault, does, text string
		times             int
	}{
		{"errors", "writes of errors", "Error: nothing is wrong\npanic: just joking\n", 1},
		{"lines", "writes 1 MiB of lines", "still working on it\n", 1 << 20 / 20},
		{"no-lines", "writes 1 MiB without a line's end", "progress ", 1 << 20 / 9},
		{"binary", "writes 256 KiB of bytes that are no text", "\x00\xff\x1b\x80", 64 << 10},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/stderr/" + row.fault,
			Does: row.does + " to its standard error, before the handshake and in a call",
			Must: "read it all, and go on",
			Pipe: func(p *Pipe) {
				text := strings.Repeat(row.text, row.times)
				_, _ = io.WriteString(p.Err, text)
				first("tools/call", func(p *Pipe, m jsonrpc.Message) {
					_, _ = io.WriteString(p.Err, text)
					p.Answer(m, Echo(m))
				})(p)
			},
			Try: worksTwice,
		})
	}
	return append(all, lastWordsRows()...)
}

// lastWordsRows are about what of standard error is told when the server has gone.
func lastWordsRows() []Row {
	last := func(words string) func(p *Pipe) {
		return func(p *Pipe) {
			_, _ = io.WriteString(p.Err, mebibyte(strings.ReplaceAll(words, "$key", os.Getenv(keyVariable))))
			os.Exit(3)
		}
	}
	return []Row{
		{
			Name: "pipe/stderr/control",
			Does: "exits with control sequences on its standard error",
			Must: "tell the words without them",
			Pipe: last("\x1b[31mred\x1b[0m \x1b]0;title\x07\xc2\x9b31mand\x08\r \x1bPq\x1b\\blue\n"),
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "exit status 3", "red and blue")
				t.Lacks(err, "\x1b", "\x07", "\xc2\x9b", "\x08", "\r", "title")
			},
		},
		{
			Name: "pipe/stderr/secret",
			Does: "exits with a secret of its configuration on its standard error",
			Must: "mask the secret",
			Pipe: last("Error: the key $key is not valid\n"), With: withKey,
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "exit status 3", "the key *** is not valid")
				t.Lacks(err, plantedKey)
			},
		},
		{
			Name: "pipe/stderr/secret-hidden",
			Does: "exits with a secret on its standard error that control sequences run through",
			Must: "mask the secret",
			Pipe: func(p *Pipe) { last("key \x1b[1mplanted\x1b[0m-5d\x002e is not valid\n")(p) }, With: withKey,
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "exit status 3", "key *** is not valid")
				t.Lacks(err, plantedKey)
			},
		},
		{
			Name: "pipe/stderr/tail",
			Does: "exits behind 1 MiB of standard error",
			Must: "tell the last lines, and no more than 32 KiB",
			Pipe: last("$mib\nError: out of luck\n"),
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "exit status 3", "Error: out of luck")
				if err != nil && len(err.Error()) > 33<<10 {
					t.Fail("the error has %d bytes", len(err.Error()))
				}
			},
		},
		{
			Name: "pipe/stderr/closed",
			Does: "closes its standard error",
			Must: "go on",
			Pipe: func(p *Pipe) {
				closeFile(p.Err)
				p.Serve(nil)
			},
			Try: worksTwice,
		},
		toldRow(),
	}
}

// toldRow is about who is told of the lines of standard error.
func toldRow() Row {
	var lines atomic.Int64
	return Row{
		Name: "pipe/stderr/told",
		Does: "writes 10,000 lines to its standard error in a call",
		Must: "hand each line to the host",
		Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) {
			fmt.Fprint(p.Err, strings.Repeat("still working on it\n", 10_000))
			p.Answer(m, Echo(m))
		}),
		With: func(_ *config.Server, o *mcpwire.Options) {
			lines.Store(0)
			o.OnStderr = func([]byte) { lines.Add(1) }
		},
		Try: func(t *Trial) {
			t.Works(t.Connect())
			for lines.Load() < 10_000 && t.Context.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			if n := lines.Load(); n != 10_000 {
				t.Fail("it was told of %d lines", n)
			}
		},
	}
}
