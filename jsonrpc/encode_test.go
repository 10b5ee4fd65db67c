package jsonrpc_test

import (
	"testing"

	"mcpwire/jsonrpc"
)

func TestMessagesAreWrittenWithoutWhatIsAbsent(t *testing.T) {
	refusal := &jsonrpc.Error{Code: -32601, Message: "Method \"x\"\nnot found"}
	withData := &jsonrpc.Error{Code: 1, Message: "m", Data: []byte(`[1.50]`)}
	for _, row := range []struct{ name, got, want string }{
		{
			"request",
			string(jsonrpc.AppendRequest(nil, jsonrpc.IntID(7), "tools/list", nil)),
			`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
		},
		{
			"request with params",
			string(jsonrpc.AppendRequest(nil, jsonrpc.StringID("7"), "x", []byte(`{"a":1}`))),
			`{"jsonrpc":"2.0","id":"7","method":"x","params":{"a":1}}`,
		},
		{
			"notification",
			string(jsonrpc.AppendNotification([]byte("> "), "x", nil)),
			`> {"jsonrpc":"2.0","method":"x"}`,
		},
		{
			"result",
			string(jsonrpc.AppendResult(nil, jsonrpc.NullID, []byte(`[1]`))),
			`{"jsonrpc":"2.0","id":null,"result":[1]}`,
		},
		{
			"empty result",
			string(jsonrpc.AppendResult(nil, jsonrpc.IntID(1), nil)),
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
		},
		{
			"error",
			string(jsonrpc.AppendError(nil, jsonrpc.IntID(1), refusal)),
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method \"x\"\nnot found"}}`,
		},
		{
			"error with data",
			string(jsonrpc.AppendError(nil, jsonrpc.IntID(1), withData)),
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":[1.50]}}`,
		},
	} {
		if row.got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, row.got, row.want)
		}
	}
}

func TestAnErrorOfAnyShapeIsShown(t *testing.T) {
	for _, row := range []struct{ text, want, data string }{
		{`{"code":-32602,"message":"bad \"x\"","data":{"n":1.0}}`, `MCP error -32602: bad "x"`, `{"n":1.0}`},
		{`{"code":-32000.0,"message":"m"}`, `MCP error -32000: m`, ``},
		{`{"code":"E1","message":{"text":"m"}}`, `MCP error 0: {"text":"m"}`, ``},
		{`"boom"`, `MCP error 0: boom`, ``},
		{`[1]`, `MCP error 0: [1]`, ``},
		{`"`, `MCP error 0: "`, ``},
		{`{}`, `MCP error 0: `, ``},
	} {
		e := jsonrpc.ParseError([]byte(row.text))
		if e.Error() != row.want || string(e.Data) != row.data {
			t.Errorf("%s: got %q with data %s, want %q with data %s", row.text, e, e.Data, row.want, row.data)
		}
	}
}
