package survival

import (
	"time"

	"mcpwire/jsonrpc"
)

func pipeRows() []Row {
	return join(
		plainRows(), noiseRows(), splitRows(), append(lineRows(), sizesRow()),
		memberRows(), errorRows(), idRows(), messageRows(),
		initializeRows(), listRows(), resultRows(),
		stopRows(), deafRows(), onceRows(),
		stderrRows(), pipeSecretRows(), floodRows(), largeRows(), deepRows(), pagesRows(), manyToolsRows(), slowPipeRows(),
		shutdownRows(), hurriedRows(), forkRows(), startRows(), probeRows(), statelessRows(),
	)
}

// plainRows are two of the simplest.
func plainRows() []Row {
	return []Row{
		{
			Name: "pipe/noise/text",
			Does: "prints a banner, an empty line and a number between its messages",
			Must: "drop them, and go on",
			Pipe: func(p *Pipe) {
				p.Write("Demo server v1.2 ready\n\n[info] {not json\n42\n")
				p.Serve(map[string]func(jsonrpc.Message) bool{"tools/call": func(m jsonrpc.Message) bool {
					p.Write("Calling tool...\n")
					p.Answer(m, Echo(m))
					return true
				}})
			},
		},
		{
			Name: "pipe/silence/call",
			Does: "never answers a call",
			Must: "end the call by its clock, and keep the line",
			Pipe: func(p *Pipe) {
				silent := true
				p.Serve(map[string]func(jsonrpc.Message) bool{"tools/call": func(m jsonrpc.Message) bool {
					if !silent {
						p.Answer(m, Echo(m))
					}
					silent = false
					return true
				}})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				start := time.Now()
				t.Fails(c, "request timeout after 1000ms")
				if took := time.Since(start); took > 2*time.Second {
					t.Fail("it took %v", took)
				}
				t.Works(c)
			},
		},
	}
}
