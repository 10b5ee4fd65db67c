package survival

import (
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// initializeRows are about the result of initialize.
func initializeRows() []Row {
	const version = "no common protocol revision"
	const rest = `,"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}`
	rows := []struct{ fault, does, result, want string }{
		{"null", "null", `null`, version},
		{"string", "a string", `"ok"`, unreadable},
		{"array", "an array", `[]`, unreadable},
		{"empty", "an empty object", `{}`, version},
		{"revision-null", "the revision null", `{"protocolVersion":null` + rest + `}`, version},
		{"revision-number", "a revision that is a number", `{"protocolVersion":20251125` + rest + `}`, unreadable},
		{"revision-unknown", "a revision that nobody knows", `{"protocolVersion":"1999-01-01"` + rest + `}`, version},
		{"revision-newer", "a revision without sessions", `{"protocolVersion":"2026-07-28"` + rest + `}`, version},
		{"revision-case", `the member "protocolversion"`, `{"protocolversion":"2025-11-25"` + rest + `}`, version},
		{"revision-control", "a revision of control sequences", `{"protocolVersion":"\u001b[31m"` + rest + `}`, version},
		{"revision-older", "the oldest revision", `{"protocolVersion":"2024-11-05"` + rest + `}`, ""},
		{
			"revision-twice", "two revisions, the right one last",
			`{"protocolVersion":"1999-01-01","protocolVersion":"2025-06-18"` + rest + `}`, "",
		},
		{"bare", "a revision and nothing else", `{"protocolVersion":"2025-11-25"}`, ""},
		{
			"nulls", "null capabilities and names",
			`{"protocolVersion":"2025-11-25","capabilities":null,"serverInfo":null}`, "",
		},
		{
			"capabilities-array", "empty arrays for capabilities",
			`{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{"name":"x","version":"1"}}`, "",
		},
		{
			"capabilities-true", "true for a capability",
			`{"protocolVersion":"2025-11-25","capabilities":{"tools":true,"later":{"a":[1]}}}`, "",
		},
		{
			"capabilities-string", "a string for capabilities",
			`{"protocolVersion":"2025-11-25","capabilities":"all"}`, unreadable,
		},
		{
			"name-number", "a number for its name",
			`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":5}}`, unreadable,
		},
		{
			"instructions-array", "an array for instructions",
			`{"protocolVersion":"2025-11-25","capabilities":{},"instructions":["a"]}`, unreadable,
		},
	}
	var all []Row
	for _, row := range rows {
		must, try := "refuse to connect, and say why", func(t *Trial) {
			_, err := t.Dial()
			t.WantError(err, row.want)
			t.Lacks(err, "\x1b")
		}
		if row.want == "" {
			must, try = "connect", worksTwice
		}
		all = append(all, Row{
			Name: "pipe/initialize/" + row.fault, Does: "answers initialize with " + row.does, Must: must,
			Pipe: always("initialize", row.result), Try: try,
		})
	}
	return append(all, refusedRows()...)
}

// always makes a server that answers a method with the same result each time, and is honest otherwise.
func always(method, result string) func(p *Pipe) {
	return func(p *Pipe) {
		p.Serve(map[string]on{method: p.answers(result)})
	}
}

// refusedRows are about a refusal of initialize.
func refusedRows() []Row {
	return []Row{
		{
			Name: "pipe/initialize/refused",
			Does: "refuses initialize",
			Must: "report the refusal",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"initialize": func(m jsonrpc.Message) bool { p.Refuse(m, -32603, "not today"); return true }})
			},
			Try: cannotConnect("MCP error -32603: not today"),
		},
		{
			Name: "pipe/initialize/refused-revision",
			Does: "refuses the revision, and names others",
			Must: "report which revisions both sides speak",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"initialize": func(m jsonrpc.Message) bool {
					p.Write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":{"supported":["1999-01-01"]}}}`+
						"\n", m.ID)
					return true
				}})
			},
			Try: cannotConnect("no common protocol revision", `"1999-01-01"`, mcp.SessionRevisions()[0]),
		},
	}
}

// listRows are about the result of tools/list.
func listRows() []Row {
	const good = `{"name":"echo","inputSchema":{"type":"object"}}`
	rows := []struct {
		fault, does, result string
		tools               int // -1: the list can't be read
	}{
		{"null", "null", `null`, 0},
		{"string", "a string", `"echo"`, -1},
		{"array", "an array of tools", `[` + good + `]`, -1},
		{"empty", "an empty object", `{}`, 0},
		{"tools-null", "tools that are null", `{"tools":null}`, 0},
		{"tools-object", "tools that are an object", `{"tools":{"echo":` + good + `}}`, -1},
		{"tools-string", "tools that are a string", `{"tools":"echo"}`, -1},
		{"tools-case", `the member "Tools"`, `{"Tools":[` + good + `]}`, 0},
		{"tools-twice", "two lists of tools", `{"tools":[{"name":"a"},{"name":"b"}],"tools":[` + good + `]}`, 1},
		{"tool-null", "a tool that is null", `{"tools":[null,` + good + `]}`, 1},
		{"tool-string", "a tool that is a string", `{"tools":["x",` + good + `]}`, 1},
		{"tool-array", "a tool that is an array", `{"tools":[["x"],` + good + `]}`, 1},
		{"name-missing", "a tool without a name", `{"tools":[{"description":"x"},` + good + `]}`, 1},
		{"name-null", "a tool whose name is null", `{"tools":[{"name":null},` + good + `]}`, 1},
		{"name-number", "a tool whose name is a number", `{"tools":[{"name":5},` + good + `]}`, 1},
		{"name-empty", "a tool whose name is empty", `{"tools":[{"name":""},` + good + `]}`, 1},
		{"name-case", `a tool with the member "Name"`, `{"tools":[{"Name":"x"},` + good + `]}`, 1},
		{"name-control", "a tool whose name is a control sequence", `{"tools":[{"name":"\u001b[2J"},` + good + `]}`, 2},
		{"schema-missing", "a tool without a schema", `{"tools":[{"name":"x"},` + good + `]}`, 2},
		{"schema-null", "a tool whose schema is null", `{"tools":[{"name":"x","inputSchema":null},` + good + `]}`, 2},
		{"schema-string", "a tool whose schema is a string", `{"tools":[{"name":"x","inputSchema":"any"},` + good + `]}`, 2},
		{
			"schema-dangling", "a tool whose output schema refers to nothing",
			`{"tools":[{"name":"echo","outputSchema":{"$ref":"#/$defs/none"}}]}`, 1,
		},
		{
			"schema-recursive", "a tool whose schemas refer to themselves",
			`{"tools":[{"name":"echo","inputSchema":{"$ref":"#"},"outputSchema":{"$ref":"#"}}]}`, 1,
		},
		{
			"schema-remote", "a tool whose schema is to be fetched from elsewhere",
			`{"tools":[{"name":"echo","outputSchema":{"$ref":"http://127.0.0.1:1/schema"}}]}`, 1,
		},
		{
			"annotations-odd", "tools whose annotations are an array, true and a number",
			`{"tools":[{"name":"x","annotations":[]},{"name":"y","annotations":true},{"name":"z","annotations":7},` +
				good + `]}`, 3,
		},
		{"cursor-number", "a cursor that is a number", `{"tools":[` + good + `],"nextCursor":7}`, -1},
		{"cursor-null", "a cursor that is null", `{"tools":[` + good + `],"nextCursor":null}`, 1},
		{"cursor-empty", "an empty cursor", `{"tools":[` + good + `],"nextCursor":""}`, 1},
		{"cursor-case", `the member "nextcursor"`, `{"tools":[` + good + `],"nextcursor":"more"}`, 1},
	}
	var all []Row
	for _, row := range rows {
		must, try := "keep the tools that can be used", lists(row.tools)
		switch row.tools {
		case -1:
			must, try = "report an error of decoding, and keep the line", cannotList(unreadable)
		case 0:
			must = "take it for no tools"
		}
		all = append(all, Row{
			Name: "pipe/list/" + row.fault, Does: "lists its tools with " + row.does, Must: must,
			Pipe: always("tools/list", row.result), Try: try,
		})
	}
	return all
}

// resultRows are about the result of a call.
func resultRows() []Row {
	const good = `{"type":"text","text":"hello"}`
	rows := []struct{ fault, does, result, want string }{
		{"content-string", "content that is a string", `{"content":"hello"}`, unreadable},
		{"content-object", "content that is an object", `{"content":` + good + `}`, unreadable},
		{"content-twice", "content twice", `{"content":[],"content":[` + good + `]}`, ""},
		{"content-null-block", "a block that is null", `{"content":[null,` + good + `]}`, ""},
		{"content-empty-block", "a block that is empty", `{"content":[{},` + good + `]}`, ""},
		{"content-text-number", "a block whose text is a number", `{"content":[{"type":"text","text":5},` + good + `]}`, ""},
		{"content-type-number", "a block whose type is a number", `{"content":[{"type":5},` + good + `]}`, ""},
		{"content-nested", "a block that is an array", `{"content":[[` + good + `],` + good + `]}`, ""},
		{"content-unknown", "a block of a later kind", `{"content":[` + good + `,{"type":"hologram","x":[1]}]}`, ""},
		{"error-string", "isError as a string", `{"content":[` + good + `],"isError":"true"}`, unreadable},
		{"error-null", "isError as null", `{"content":[` + good + `],"isError":null}`, ""},
		{"error-case", `the member "IsError"`, `{"content":[` + good + `],"IsError":"x"}`, ""},
		{"structured-odd", "structured content that is a string", `{"content":[` + good + `],"structuredContent":"x"}`, ""},
		{"structured-null", "structured content that is null", `{"content":[` + good + `],"structuredContent":null}`, ""},
		{"meta-odd", "_meta that is an array", `{"content":[` + good + `],"_meta":[1]}`, ""},
	}
	var all []Row
	for _, row := range rows {
		must := "return what can be read"
		if row.want != "" {
			must = "end that call with an error of decoding, and keep the line"
		}
		all = append(all, Row{
			Name: "pipe/result/" + row.fault, Does: "returns " + row.does, Must: must,
			Pipe: once("tools/call", `{"jsonrpc":"2.0","id":$id,"result":`+row.result+`}`),
			Try:  tries(row.want),
		})
	}
	return append(all, emptyRows()...)
}

// emptyRows are about results without content.
func emptyRows() []Row {
	rows := []struct{ fault, does, result string }{
		{"null", "null", `null`},
		{"empty", "an empty object", `{}`},
		{"content-null", "content that is null", `{"content":null}`},
		{"content-case", `the member "Content"`, `{"Content":[{"type":"text","text":"x"}]}`},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/result/" + row.fault, Does: "returns " + row.does, Must: "return a result without content",
			Pipe: once("tools/call", `{"jsonrpc":"2.0","id":$id,"result":`+row.result+`}`),
			Try: func(t *Trial) {
				c := t.Connect()
				if result, err := t.callWithin(c, unhurried); err != nil || len(result.Content) > 0 {
					t.Fail("the call returns %+v, %v", result, err)
				}
				t.Works(c)
			},
		})
	}
	return all
}
