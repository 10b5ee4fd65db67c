package survival

import "mcpwire/jsonrpc"

// unreadable is what is said of an answer that belongs to a call and can't be read.
const unreadable = "cannot decode the answer"

// memberRows are about the members of an answer to a call.
func memberRows() []Row {
	rows := []struct{ fault, does, text, want string }{
		{"jsonrpc-missing", `leaves "jsonrpc" out`, `{"id":$id,"result":$result}`, unreadable},
		{"jsonrpc-null", `writes "jsonrpc":null`, `{"jsonrpc":null,"id":$id,"result":$result}`, unreadable},
		{"jsonrpc-number", `writes "jsonrpc":2.0`, `{"jsonrpc":2.0,"id":$id,"result":$result}`, unreadable},
		{"jsonrpc-older", `writes "jsonrpc":"1.0"`, `{"jsonrpc":"1.0","id":$id,"result":$result}`, unreadable},
		{"jsonrpc-case", `writes "JSONRPC"`, `{"JSONRPC":"2.0","id":$id,"result":$result}`, unreadable},
		{"jsonrpc-twice", `writes "jsonrpc" twice`, `{"jsonrpc":"1.0","jsonrpc":"2.0","id":$id,"result":$result}`, ""},
		{"id-missing", `leaves "id" out`, `{"jsonrpc":"2.0","result":$result}`, "answered id none; this request was id"},
		{"id-case", `writes "ID"`, `{"jsonrpc":"2.0","ID":$id,"result":$result}`, "answered id none; this request was id"},
		{"id-twice", `writes "id" twice, the right one last`, `{"jsonrpc":"2.0","id":7001,"id":$id,"result":$result}`, ""},
		{
			"id-twice-wrong", `writes "id" twice, the wrong one last`,
			`{"jsonrpc":"2.0","id":$id,"id":7001,"result":$result}`, "answered id 7001; this request was id",
		},
		{"result-missing", "writes neither a result nor an error", `{"jsonrpc":"2.0","id":$id}`, unreadable},
		{"result-case", `writes "Result"`, `{"jsonrpc":"2.0","id":$id,"Result":$result}`, unreadable},
		{
			"result-twice", "writes two results, the right one last",
			`{"jsonrpc":"2.0","id":$id,"result":{"content":[]},"result":$result}`, "",
		},
		{"result-string", "returns a string", `{"jsonrpc":"2.0","id":$id,"result":"ok"}`, unreadable},
		{"result-number", "returns a number", `{"jsonrpc":"2.0","id":$id,"result":42}`, unreadable},
		{"result-bool", "returns true", `{"jsonrpc":"2.0","id":$id,"result":true}`, unreadable},
		{"result-array", "returns an array", `{"jsonrpc":"2.0","id":$id,"result":[$result]}`, unreadable},
		{
			"result-and-error", "writes a result and an error",
			`{"jsonrpc":"2.0","id":$id,"result":$result,"error":{"code":1,"message":"no"}}`, unreadable,
		},
		{
			"result-and-null-error", `writes a result and "error":null`,
			`{"jsonrpc":"2.0","id":$id,"result":$result,"error":null}`, "",
		},
		{
			"result-and-method", "writes a result and a method",
			`{"jsonrpc":"2.0","id":$id,"method":"tools/call","result":$result}`, unmatched,
		},
		{
			"result-and-null-method", `writes a result and "method":null`,
			`{"jsonrpc":"2.0","id":$id,"method":null,"result":$result}`, unmatched,
		},
		{
			"unknown-members", "adds members that nobody knows",
			`{"a":[{"id":1}],"jsonrpc":"2.0","id":$id,"result":$result,"":null,"trace":{"result":{}}}`, "",
		},
		{"unfinished", "writes half of an answer", `{"jsonrpc":"2.0","id":$id,"result":{"content":[`, unmatched},
		{"trailing", "writes something behind an answer", `{"jsonrpc":"2.0","id":$id,"result":$result}}`, unmatched},
		{"batch", "puts its answer into an array", `[$answer]`, ""},
		{"batch-mixed", "puts its answer into an array with what is no message", `[1,null,{},[],$answer,"x"]`, ""},
		{"batch-empty", "writes an empty array before its answer", "[]\n$answer", ""},
		{"batch-nested", "puts its answer into an array in an array", `[[$answer]]`, unmatched},
		{"single-quotes", "writes its answer with single quotes", `{'jsonrpc':'2.0','id':$id,'result':{}}`, unmatched},
	}
	return table("pipe/member/", "in its answer to a call", rows)
}

// errorRows are about the members of an error.
func errorRows() []Row {
	rows := []struct{ fault, does, text, want string }{
		{"null", `writes "error":null and no result`, `{"jsonrpc":"2.0","id":$id,"error":null}`, unreadable},
		{"case", `writes "Error"`, `{"jsonrpc":"2.0","id":$id,"Error":{"code":1,"message":"no"}}`, unreadable},
		{"string", "refuses with a string", `{"jsonrpc":"2.0","id":$id,"error":"no luck"}`, "MCP error 0: no luck"},
		{"number", "refuses with a number", `{"jsonrpc":"2.0","id":$id,"error":-1}`, "MCP error 0: -1"},
		{"array", "refuses with an array", `{"jsonrpc":"2.0","id":$id,"error":["no luck"]}`, "no luck"},
		{"empty", "refuses with an empty object", `{"jsonrpc":"2.0","id":$id,"error":{}}`, "MCP error 0: "},
		{
			"twice", "writes two errors",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1,"message":"no"},"error":{"code":2,"message":"never"}}`,
			"MCP error 2: never",
		},
		{"code-missing", "refuses without a code", `{"jsonrpc":"2.0","id":$id,"error":{"message":"no"}}`, "MCP error 0: no"},
		{
			"code-null", "refuses with the code null",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":null,"message":"no"}}`, "MCP error 0: no",
		},
		{
			"code-string", "refuses with a code that is a string",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":"-32000","message":"no"}}`, "MCP error 0: no",
		},
		{
			"code-decimal", "refuses with the code -32000.0",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32000.0,"message":"no"}}`, "MCP error -32000: no",
		},
		{
			"code-huge", "refuses with a code of 400 digits",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":1e400,"message":"no"}}`, "MCP error 0: no",
		},
		{
			"code-case", `writes "Code" and "Message"`,
			`{"jsonrpc":"2.0","id":$id,"error":{"Code":-32000,"Message":"no"}}`, "MCP error 0: ",
		},
		{
			"message-missing", "refuses without a message",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32000}}`, "MCP error -32000: ",
		},
		{
			"message-null", "refuses with the message null",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":null}}`, "MCP error -32000: ",
		},
		{
			"message-object", "refuses with a message that is an object",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":{"text":"no"}}}`, `MCP error -32000: {"text":"no"}`,
		},
		{
			"data-odd", "refuses with data that nobody knows",
			`{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no","data":[{"a":null}]}}`, "MCP error -32602: no",
		},
		{
			"parse-error", "says that it could not read the call, under the id null",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, unmatched,
		},
	}
	return table("pipe/error/", "to a call", rows)
}

// idRows are about the form of the id in an answer.
func idRows() []Row {
	const stray = "this request was id"
	rows := []struct{ fault, id, want string }{
		{"string", `"$id"`, ""},
		{"decimal", `$id.0`, ""},
		{"exponent", `$ide0`, ""},
		{"exponent-negative", `$id0e-1`, ""},
		{"escaped", `"\u003$id"`, ""},
		{"string-zero", `"0$id"`, stray},
		{"string-blank", `" $id"`, stray},
		{"string-decimal", `"$id.0"`, stray},
		{"string-empty", `""`, stray},
		{"fraction", `$id.5`, stray},
		{"null", `null`, stray},
		{"negative", `-$id`, stray},
		{"next", `1$id`, stray},
		{"earlier", `1`, unmatched},
		{"zero", `0`, stray},
		{"huge", `$id00000000000000000000`, stray},
		{"beyond-floats", `1e400`, stray},
		{"leading-zero", `0$id`, unmatched},
		{"array", `[$id]`, unmatched},
		{"object", `{"id":$id}`, unmatched},
		{"bool", `true`, unmatched},
	}
	var all []Row
	for _, row := range rows {
		must := "end the call by its clock, and keep the line"
		switch row.want {
		case "":
			must = "take the answer, whose id denotes the same integer"
		case stray:
			must = "end the call by its clock and tell both ids, and keep the line"
		}
		all = append(all, Row{
			Name: "pipe/id/" + row.fault,
			Does: "answers the first call, whose id is $id, under the id " + row.id,
			Must: must,
			Pipe: once("tools/call", `{"jsonrpc":"2.0","id":`+row.id+`,"result":$result}`),
			Try:  tries(row.want),
		})
	}
	return all
}

// table makes rows of what a server writes in place of its first answer to a call, and of what the error has to say; no
// error where that is empty.
func table(kind, where string, rows []struct{ fault, does, text, want string }) []Row {
	var all []Row
	for _, row := range rows {
		must := "end that call with " + row.want + ", and keep the line"
		switch row.want {
		case "":
			must = "take it for what it is"
		case unmatched:
			must = "end the call by its clock, and keep the line"
		case unreadable:
			must = "end that call with an error of decoding, and keep the line"
		}
		all = append(all, Row{
			Name: kind + row.fault, Does: row.does + " " + where, Must: must,
			Pipe: once("tools/call", row.text),
			Try:  tries(row.want),
		})
	}
	return all
}

// messageRows are about messages that the client has not asked for.
func messageRows() []Row {
	rows := []struct{ fault, does, text string }{
		{"params-null", "sends a notification whose params are null", `{"jsonrpc":"2.0","method":"x","params":null}`},
		{"params-array", "sends a notification whose params are an array", `{"jsonrpc":"2.0","method":"x","params":[1]}`},
		{"params-string", "sends a notification whose params are a string", `{"jsonrpc":"2.0","method":"x","params":"y"}`},
		{
			"params-twice", "sends a notification with params twice",
			`{"jsonrpc":"2.0","method":"x","params":{},"params":{"a":1}}`,
		},
		{"method-null", "sends a notification whose method is null", `{"jsonrpc":"2.0","method":null}`},
		{"method-number", "sends a request whose method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`},
		{"method-empty", "sends a notification whose method is empty", `{"jsonrpc":"2.0","method":""}`},
		{"method-case", `sends a notification with "Method"`, `{"jsonrpc":"2.0","Method":"notifications/message"}`},
		{"method-long", "sends a notification with a method of 1 MiB", `{"jsonrpc":"2.0","method":"$mib"}`},
		{"id-null", "sends a notification with the id null", `{"jsonrpc":"2.0","id":null,"method":"notifications/message"}`},
		{
			"cancelled", "cancels the client's own call",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$id}}`,
		},
		{
			"cancelled-odd", "cancels what there is not",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[]}}}`,
		},
		{
			"progress-unknown", "tells progress of what nobody has asked for",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`,
		},
		{
			"progress-odd", "tells progress that is no number, under no token",
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"half"}}`,
		},
		{
			"answer-unknown", "answers what was never asked",
			`{"jsonrpc":"2.0","id":7001,"result":{"content":[]}}`,
		},
		{
			"answer-early", "answers the next request before it is sent",
			`{"jsonrpc":"2.0","id":1$id,"result":{"content":[]}}`,
		},
		{
			"error-unasked", "reports an error for no request",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`,
		},
	}
	var all []Row
	for _, row := range rows {
		all = append(all, Row{
			Name: "pipe/message/" + row.fault, Does: row.does + ", during a call", Must: "go on as if nothing had come",
			Pipe: once("tools/call", row.text+"\n$answer"),
			Try:  worksTwice,
		})
	}
	return append(all, lateRows()...)
}

// lateRows are about answers at the wrong time.
func lateRows() []Row {
	return []Row{
		{
			Name: "pipe/message/answer-late",
			Does: "answers a call when the client has given it up, and the next one at once",
			Must: "give each call its own answer or none",
			Pipe: func(p *Pipe) {
				var late *jsonrpc.Message
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					if late == nil {
						late = &m
						return true
					}
					p.Answer(*late, `{"content":[{"type":"text","text":"late"}]}`)
					p.Answer(m, Echo(m))
					return true
				}})
			},
			Try: expires(),
		},
		{
			Name: "pipe/message/answer-twice",
			Does: "answers each call twice, the second time otherwise",
			Must: "take the first answer",
			Pipe: func(p *Pipe) {
				p.Serve(map[string]on{"tools/call": func(m jsonrpc.Message) bool {
					p.Answer(m, Echo(m))
					p.Answer(m, `{"content":[{"type":"text","text":"second"}]}`)
					return true
				}})
			},
			Try: says("hello", "hello", "hello"),
		},
	}
}
