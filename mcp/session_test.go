package mcp_test

import (
	"reflect"
	"testing"

	"mcpwire/mcp"
)

func TestMessagesOfTheSessionEraSurviveDecodingAndEncoding(t *testing.T) {
	for _, row := range []struct {
		v    any
		text string
	}{
		{mcp.InitializeParams{}, `{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},` +
			`"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{},"cancel":{},` +
			`"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}},` +
			`"clientInfo":{"name":"c","title":"C","version":"1","websiteUrl":"https://c.example",` +
			`"icons":[{"src":"https://c.example/i.svg","mimeType":"image/svg+xml","sizes":["any"],"theme":"dark"}]}}`},
		{mcp.InitializeResult{}, `{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":true},` +
			`"resources":{"subscribe":true},"prompts":{},"logging":{},"experimental":{"x":{"y":1}},` +
			`"tasks":{"requests":{"tools":{"call":{}}}},"com.example/later":{"a":[1]}},` +
			`"serverInfo":{"name":"s","version":"0"},"instructions":"Be brief.","_meta":{"k":null}}`},
		{mcp.ClientCapabilities{}, `{"roots":{},"later":1}`},
		{mcp.Tool{}, `{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},` +
			`"annotations":{"title":"T","readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,` +
			`"openWorldHint":false}}`},
		{mcp.CallToolParams{}, `{"name":"t","task":{"ttl":60000},"_meta":{"progressToken":1}}`},
		{mcp.CreateTaskResult{}, `{"task":{"taskId":"1","status":"working","createdAt":"2025-11-25T10:30:00Z",` +
			`"lastUpdatedAt":"2025-11-25T10:40:00Z","ttl":null,"pollInterval":5000}}`},
		{mcp.ListTasksResult{}, `{"tasks":[{"taskId":"1","status":"failed","statusMessage":"no","createdAt":"a",` +
			`"lastUpdatedAt":"b","ttl":1}],"nextCursor":"c"}`},
		{mcp.TaskParams{}, `{"taskId":"1"}`},
		{mcp.URLElicitationData{}, `{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://x.example",` +
			`"message":"Sign in"}]}`},
		{mcp.ElicitationCompleteParams{}, `{"elicitationId":"e"}`},
		{mcp.ResourceNotFoundData{}, `{"uri":"file:///gone"}`},
		{mcp.SetLevelParams{}, `{"level":"warning"}`},
		{mcp.SubscribeParams{}, `{"uri":"file:///a"}`},
		{mcp.CancelledParams{}, `{"requestId":12345678901234567890,"reason":"late"}`},
		{mcp.ResourceTemplate{}, `{"uriTemplate":"file:///{path}","name":"f","title":"F","description":"d",` +
			`"mimeType":"text/plain","annotations":{"audience":["user","assistant"],"priority":0}}`},
		{mcp.Prompt{}, `{"name":"p","arguments":[{"name":"a","title":"A","description":"d","required":true}]}`},
		{mcp.CompleteParams{}, `{"ref":{"type":"ref/resource","uri":"file:///{path}"},` +
			`"argument":{"name":"path","value":""},"context":{"arguments":{"a":"b"}}}`},
	} {
		v := reflect.New(reflect.TypeOf(row.v))
		if err := mcp.Decode([]byte(row.text), v.Interface()); err != nil {
			t.Errorf("%T: %v", row.v, err)
			continue
		}
		sameJSON(t, encode(t, v.Interface()), row.text)
	}
}
