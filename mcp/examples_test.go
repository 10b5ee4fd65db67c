package mcp_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpwire/mcp"
)

// exampleTypes are the types of the schema's examples. A request or notification stands for its params.
var exampleTypes = map[string]any{
	"AudioContent":                          mcp.Content{},
	"BlobResourceContents":                  mcp.ResourceContents{},
	"CallToolRequest":                       mcp.CallToolParams{},
	"CallToolRequestParams":                 mcp.CallToolParams{},
	"CallToolResult":                        mcp.CallToolResult{},
	"CancelledNotification":                 mcp.CancelledParams{},
	"CancelledNotificationParams":           mcp.CancelledParams{},
	"ClientCapabilities":                    mcp.ClientCapabilities{},
	"CompleteRequest":                       mcp.CompleteParams{},
	"CompleteRequestParams":                 mcp.CompleteParams{},
	"CompleteResult":                        mcp.CompleteResult{},
	"CreateMessageRequest":                  mcp.InputRequest{},
	"CreateMessageRequestParams":            mcp.CreateMessageParams{},
	"CreateMessageResult":                   mcp.CreateMessageResult{},
	"DiscoverRequest":                       mcp.Params{},
	"DiscoverResult":                        mcp.DiscoverResult{},
	"ElicitRequest":                         mcp.InputRequest{},
	"ElicitRequestFormParams":               mcp.ElicitParams{},
	"ElicitRequestURLParams":                mcp.ElicitParams{},
	"ElicitResult":                          mcp.ElicitResult{},
	"EmbeddedResource":                      mcp.Content{},
	"GetPromptRequest":                      mcp.GetPromptParams{},
	"GetPromptRequestParams":                mcp.GetPromptParams{},
	"GetPromptResult":                       mcp.GetPromptResult{},
	"ImageContent":                          mcp.Content{},
	"InputRequests":                         mcp.InputRequests{},
	"InputRequiredResult":                   mcp.InputRequired{},
	"InputResponses":                        mcp.InputResponses{},
	"ListPromptsRequest":                    mcp.ListParams{},
	"ListPromptsResult":                     mcp.ListPromptsResult{},
	"ListResourceTemplatesRequest":          mcp.ListParams{},
	"ListResourceTemplatesResult":           mcp.ListResourceTemplatesResult{},
	"ListResourcesRequest":                  mcp.ListParams{},
	"ListResourcesResult":                   mcp.ListResourcesResult{},
	"ListRootsRequest":                      mcp.Params{},
	"ListRootsResult":                       mcp.ListRootsResult{},
	"ListToolsRequest":                      mcp.ListParams{},
	"ListToolsResult":                       mcp.ListToolsResult{},
	"LoggingMessageNotification":            mcp.LogMessage{},
	"LoggingMessageNotificationParams":      mcp.LogMessage{},
	"MissingRequiredClientCapabilityError":  mcp.MissingCapabilityData{},
	"ModelPreferences":                      mcp.ModelPreferences{},
	"PaginatedRequestParams":                mcp.ListParams{},
	"ProgressNotification":                  mcp.ProgressParams{},
	"ProgressNotificationParams":            mcp.ProgressParams{},
	"PromptListChangedNotification":         mcp.Params{},
	"ReadResourceRequest":                   mcp.ReadResourceParams{},
	"ReadResourceResult":                    mcp.ReadResourceResult{},
	"Resource":                              mcp.Resource{},
	"ResourceLink":                          mcp.Content{},
	"ResourceListChangedNotification":       mcp.Params{},
	"ResourceUpdatedNotification":           mcp.ResourceUpdatedParams{},
	"ResourceUpdatedNotificationParams":     mcp.ResourceUpdatedParams{},
	"Root":                                  mcp.Root{},
	"SamplingMessage":                       mcp.SamplingMessage{},
	"ServerCapabilities":                    mcp.ServerCapabilities{},
	"SubscriptionsAcknowledgedNotification": mcp.SubscriptionsAcknowledgedParams{},
	"SubscriptionsListenRequest":            mcp.ListenParams{},
	"SubscriptionsListenResult":             mcp.Result{},
	"TextContent":                           mcp.Content{},
	"TextResourceContents":                  mcp.ResourceContents{},
	"Tool":                                  mcp.Tool{},
	"ToolListChangedNotification":           mcp.Params{},
	"ToolResultContent":                     mcp.Content{},
	"ToolUseContent":                        mcp.Content{},
	"UnsupportedProtocolVersionError":       mcp.UnsupportedVersionData{},
}

func TestEveryExampleOfTheSchemaSurvivesDecodingAndEncoding(t *testing.T) {
	var examples map[string]json.RawMessage
	readTestdata(t, "examples-2026-07-28.json", &examples)
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		t.Run(name, func(t *testing.T) {
			kind, _, _ := strings.Cut(name, "/")
			typ := exampleTypes[kind]
			text := payload(t, typ, examples[name])
			v := reflect.New(reflect.TypeOf(typ))
			if err := mcp.Decode(text, v.Interface()); err != nil {
				t.Fatal(err)
			}
			sameJSON(t, encode(t, v.Interface()), string(text))
		})
	}
}

// payload returns the params of a message or the data of an error, and any other value itself.
func payload(t *testing.T, typ any, text []byte) []byte {
	t.Helper()
	var message struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Error  struct {
			Data json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if err := mcp.Decode(text, &message); err != nil {
		t.Fatal(err)
	}
	_, whole := typ.(mcp.InputRequest)
	switch {
	case message.Error.Data != nil:
		return message.Error.Data
	case message.Method == "" || whole:
		return text
	case message.Params == nil:
		return []byte(`{}`)
	}
	return message.Params
}

func TestTheMetaOfTheStatelessEraSurvivesDecodingAndEncoding(t *testing.T) {
	const request = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"info",` +
		`"progressToken":9007199254740993,"com.example/trace":"x"}`
	m := decode[mcp.RequestMeta](t, request)
	if m.ProtocolVersion != mcp.Rev20260728 || m.ClientInfo.Name != "c" || m.ClientCapabilities == nil ||
		m.LogLevel != mcp.LogInfo || string(m.ProgressToken) != "9007199254740993" {
		t.Errorf("decoded %+v", m)
	}
	sameJSON(t, encode(t, m), request)
	for _, name := range []string{
		mcp.MetaProtocolVersion, mcp.MetaClientInfo, mcp.MetaClientCapabilities, mcp.MetaLogLevel, mcp.MetaProgressToken,
	} {
		if !strings.Contains(encode(t, m), `"`+name+`":`) {
			t.Errorf("no member %s", name)
		}
	}
	const result = `{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"},` +
		`"io.modelcontextprotocol/subscriptionId":"listen-1"}`
	r := decode[mcp.ResultMeta](t, result)
	if r.ServerInfo.Name != "s" || string(r.SubscriptionID) != `"listen-1"` {
		t.Errorf("decoded %+v", r)
	}
	sameJSON(t, encode(t, r), result)
	n := decode[mcp.NotificationMeta](t, result)
	if string(n.SubscriptionID) != `"listen-1"` {
		t.Errorf("decoded %+v", n)
	}
	sameJSON(t, encode(t, n), result)
	if got := encode(t, mcp.RequestMeta{ProgressToken: raw(`7`)}); got != `{"progressToken":7}` {
		t.Errorf("in a session the token alone must be sent, not %s", got)
	}
}
