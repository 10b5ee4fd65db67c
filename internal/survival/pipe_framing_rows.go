package survival

import (
	"os"
	"strings"
	"time"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/jsonrpc"
)

// noiseRows are about what a server prints between its messages.
func noiseRows() []Row {
	every := make([]byte, 0, 256)
	for i := range 256 {
		every = append(every, byte(i))
	}
	rows := []struct {
		fault, does, text string
		times             int // that the text is printed; 0: once
	}{
		{"json", "prints JSON that is no object", "42\n\"ready\"\n[1]\nnull\ntrue\n-1e5\n[]\n", 0},
		{"json-log", "logs JSON objects", `{"level":"info"}` + "\n{}\n" + `{"method":"GET","path":"/"}` + "\n", 0},
		{"json-log-id", "logs JSON objects that have an id", `{"id":$id,"level":"info","msg":"started"}` + "\n", 0},
		{"version-alone", "prints messages that have nothing but a version", `{"jsonrpc":"2.0"}` + "\n", 0},
		{"binary", "prints every byte there is", string(every) + "\n", 0},
		{"nul", "prints NUL bytes", "\x00\x00\x00\x00\n", 1000},
		{"control", "prints control sequences", "\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\n\u009b1m\n", 0},
		{"blank", "prints 10,000 empty lines", "\n \r\n", 5000},
		{"long", "prints a line of 1 MiB", "$mib\n", 0},
		{"many", "prints 10,000 lines", "[debug] still working\n", 10_000},
		{"brackets", "prints 200,000 opening brackets", "[", 200_000},
		{"http", "answers as a web server would", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", 0},
		{"headers", "frames its messages with headers", "Content-Length: 90\r\n\r\n", 0},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/noise/" + row.fault, Does: row.does + ", before the handshake and in a call",
			Must: "drop it, and lose no message",
			Pipe: func(p *Pipe) {
				text := strings.Repeat(row.text, max(1, row.times))
				p.Write("%s\n", mebibyte(strings.ReplaceAll(text, "$id", "1")))
				first("tools/call", func(p *Pipe, m jsonrpc.Message) { p.Write("%s\n%s\n", fill(text, m), honest(m)) })(p)
			},
			Try: worksTwice,
		})
	}
	return append(all, namedNoiseRows()...)
}

// namedNoiseRows are about noise that must be told.
func namedNoiseRows() []Row {
	const key = "planted-8c1f"
	return []Row{
		{
			Name: "pipe/noise/quoted",
			Does: "prints where it waits, and never answers",
			Must: "give up by its clock, and quote what it printed",
			Pipe: func(p *Pipe) {
				p.Write("\x1b[1mwaiting for a browser\x1b[0m\n")
				p.Drain()
			},
			With: withSession(4 * time.Second),
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "connect timeout after 4000ms", "stdout: waiting for a browser")
				t.Lacks(err, "\x1b")
			},
		},
		{
			Name: "pipe/noise/secret",
			Does: "prints a secret of its configuration, and never answers",
			Must: "mask the secret where it quotes what it printed",
			Pipe: func(p *Pipe) {
				p.Write("connecting with %s\n", os.Getenv("DEMO_KEY"))
				p.Drain()
			},
			With: func(s *config.Server, o *mcpwire.Options) {
				withSession(4*time.Second)(s, o)
				s.Env["DEMO_KEY"] = key
			},
			Try: func(t *Trial) {
				_, err := t.Dial()
				t.WantError(err, "connect timeout", "connecting with ***")
				t.Lacks(err, key)
			},
		},
		{
			Name: "pipe/noise/prompt",
			Does: "prints a prompt without a line's end before its first answer",
			Must: "ask again after that line is lost",
			Pipe: func(p *Pipe) {
				p.Write("demo> ")
				p.Serve(nil)
			},
			With: patiently(0),
			Try:  worksTwice,
		},
	}
}

// splitRows are about how messages are cut into writes and lines.
func splitRows() []Row {
	const cut = `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"`
	const end = `"}]}}`
	rows := []struct{ fault, does, text, says string }{
		{"character", "writes its answer with a pause inside a character", cut + "\xe8\xaf|\xbb" + end + "\n", "读"},
		{"character-long", "writes its answer with pauses inside an emoji", cut + "\xf0|\x9f|\x98|\x80" + end + "\n", "😀"},
		{"escape", "writes its answer with a pause inside an escape", cut + `\u8b|fb\|n` + end + "\n", "读\n"},
		{"surrogates", "writes its answer with a pause between two surrogates", cut + `\ud83d|\ude00` + end + "\n", "😀"},
		{"cr-lf", "writes its answer with a pause between CR and LF", cut + "hello" + end + "\r|\n", "hello"},
		{"before-lf", "writes its answer with a pause before the LF", cut + "hello" + end + "|\n", "hello"},
		{"blanks", "puts white space around its answer", " \t " + cut + "hello" + end + " \t \r\n", "hello"},
		{"blank-lines", "puts empty lines around its answer", "\r\n\n \n" + cut + "hello" + end + "\n\n\r\n", "hello"},
		{"with-others", "writes its answer in one piece with other messages", `{"jsonrpc":"2.0","method":"a"}` + "\n" +
			cut + "hello" + end + "\n" + `{"jsonrpc":"2.0","method":"b"}` + "\n", "hello"},
		{"broken-utf8", "writes text that is no UTF-8", cut + "a\xff\xc3" + end + "\n", "a\uFFFD\uFFFD"},
		{"lone-surrogate", "writes half of a surrogate pair", cut + `\ud800x` + end + "\n", "\uFFFDx"},
		{"nul-escape", "writes text with an escaped NUL", cut + `\u0000` + end + "\n", "\x00"},
		{
			"separators", "writes the line separators of Unicode in its text", cut + "a\u2028\u2029\u0085b" + end + "\n",
			"a\u2028\u2029\u0085b",
		},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/split/" + row.fault, Does: row.does, Must: "read the text as it is, and go on",
			Pipe: first("tools/call", func(p *Pipe, m jsonrpc.Message) { p.Pieces(fill(row.text, m)) }),
			Try:  says(row.says, "hello"),
		})
	}
	return all
}

// lineRows are about whole conversations in an odd form of lines.
func lineRows() []Row {
	return []Row{
		{
			Name: "pipe/line/bytes",
			Does: "writes every byte by itself",
			Must: "read every message",
			Pipe: func(p *Pipe) { serveAs(p, func(line string) []string { return strings.Split(line, "") }) },
			Try:  worksTwice,
		},
		{
			Name: "pipe/line/cr-lf",
			Does: "ends its lines with CR LF",
			Must: "read every message",
			Pipe: func(p *Pipe) {
				serveAs(p, func(line string) []string { return []string{strings.TrimSpace(line), "\r\n"} })
			},
			Try: worksTwice,
		},
		{
			Name: "pipe/line/mark",
			Does: "begins its output with a byte order mark, in pieces",
			Must: "skip the mark",
			Pipe: func(p *Pipe) {
				p.Pieces("\xef|\xbb|\xbf")
				p.Serve(nil)
			},
			With: patiently(0),
			Try:  worksTwice,
		},
		{
			Name: "pipe/line/spread",
			Does: "spreads an answer over several lines",
			Must: "end that call by its clock, and keep the line",
			Pipe: once("tools/call", "{\n\"jsonrpc\":\"2.0\",\n\"id\":$id,\n\"result\":\n$result\n}"),
			Try:  expires(),
		},
		{
			Name: "pipe/line/wide",
			Does: "writes UTF-16",
			Must: "give up by its clock",
			Pipe: func(p *Pipe) {
				serveAs(p, func(line string) []string { return []string{strings.Join(strings.Split(line, ""), "\x00")} })
			},
			With: withSession(time.Second),
			Try:  cannotConnect("connect timeout after 1000ms"),
		},
		{
			Name: "pipe/line/last",
			Does: "writes its last answer without a line's end, and exits",
			Must: "take the answer, and tell the next call that the server is gone",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					p.Write("%s", honest(m))
					return false
				}})
			},
			Try: func(t *Trial) {
				c := t.Connect()
				t.Works(c)
				t.Gone(c, "transport closed", "exit status 0")
			},
		},
	}
}

// sizesRow is about lines of many sizes.
func sizesRow() Row {
	return Row{
		Name: "pipe/line/sizes",
		Does: "answers with 65,535, 65,536, 65,537 bytes, 1 MiB and 11 MiB",
		Must: "return them all",
		Pipe: func(p *Pipe) {
			sizes := []int{65_535, 65_536, 65_537, 1 << 20, 11 << 20}
			p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
				line := answer(m, `{"content":[{"type":"text","text":"`)
				line = strings.TrimSuffix(line, "}")
				p.Write("%s%s\"}]}}\n", line, strings.Repeat("x", sizes[0]-len(line)-len(`"}]}}`)))
				sizes = sizes[1:]
				return true
			}})
		},
		Within: time.Minute,
		Try: func(t *Trial) {
			c := t.Connect()
			for _, size := range []int{65_535, 65_536, 65_537, 1 << 20, 11 << 20} {
				result, err := t.callWithin(c, unhurried)
				if err != nil || len(result.Content) != 1 || size-len(result.Content[0].Text) > 200 {
					t.Fail("at %d bytes: error %v", size, err)
				}
			}
		},
	}
}

// serveAs is an honest server whose messages are written in the pieces that f makes of them.
func serveAs(p *Pipe, f func(line string) []string) {
	for {
		m, more := p.Read()
		if !more {
			return
		}
		if text := honest(m); text != "" {
			for _, piece := range f(text + "\n") {
				p.Write("%s", piece)
			}
		}
	}
}
