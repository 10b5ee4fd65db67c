package mcp_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"mcpwire/mcp"
)

// smallest has, for each type of the schemas, the smallest value: what is required and may be empty is left empty.
var smallest = map[string]any{
	"AudioContent":                                mcp.Content{Type: mcp.ContentAudio},
	"BlobResourceContents":                        mcp.ResourceContents{Blob: new("")},
	"CallToolRequestParams":                       mcp.CallToolParams{},
	"CallToolResult":                              mcp.CallToolResult{},
	"CancelledNotificationParams":                 mcp.CancelledParams{RequestID: raw(`0`)},
	"CompleteRequestParams":                       mcp.CompleteParams{},
	"CompleteResult":                              mcp.CompleteResult{},
	"CreateMessageRequestParams":                  mcp.CreateMessageParams{},
	"CreateMessageResult":                         mcp.CreateMessageResult{},
	"CreateTaskResult":                            mcp.CreateTaskResult{},
	"DiscoverResult":                              mcp.DiscoverResult{},
	"ElicitRequestFormParams":                     mcp.ElicitParams{RequestedSchema: raw(`{}`)},
	"ElicitRequestParams":                         mcp.ElicitParams{RequestedSchema: raw(`{}`)},
	"ElicitRequestURLParams":                      mcp.ElicitParams{Mode: mcp.ElicitURL, URL: "u", ElicitationID: "e"},
	"ElicitResult":                                mcp.ElicitResult{},
	"ElicitationCompleteNotificationParams":       mcp.ElicitationCompleteParams{},
	"EmbeddedResource":                            mcp.Content{Type: mcp.ContentResource},
	"GetPromptRequestParams":                      mcp.GetPromptParams{},
	"GetPromptResult":                             mcp.GetPromptResult{},
	"GetTaskRequestParams":                        mcp.TaskParams{},
	"Icon":                                        mcp.Icon{},
	"ImageContent":                                mcp.Content{Type: mcp.ContentImage},
	"Implementation":                              mcp.Implementation{},
	"InitializeRequestParams":                     mcp.InitializeParams{},
	"InitializeResult":                            mcp.InitializeResult{},
	"InputRequiredResult":                         mcp.InputRequired{},
	"ListPromptsResult":                           mcp.ListPromptsResult{},
	"ListResourceTemplatesResult":                 mcp.ListResourceTemplatesResult{},
	"ListResourcesResult":                         mcp.ListResourcesResult{},
	"ListRootsResult":                             mcp.ListRootsResult{},
	"ListTasksResult":                             mcp.ListTasksResult{},
	"ListToolsResult":                             mcp.ListToolsResult{},
	"LoggingMessageNotificationParams":            mcp.LogMessage{},
	"PaginatedRequestParams":                      mcp.ListParams{},
	"ProgressNotificationParams":                  mcp.ProgressParams{},
	"Prompt":                                      mcp.Prompt{},
	"PromptArgument":                              mcp.PromptArgument{},
	"PromptMessage":                               mcp.PromptMessage{},
	"PromptReference":                             mcp.CompletionReference{Type: mcp.RefPrompt, Name: "n"},
	"ReadResourceRequestParams":                   mcp.ReadResourceParams{},
	"ReadResourceResult":                          mcp.ReadResourceResult{},
	"RelatedTaskMetadata":                         mcp.TaskParams{},
	"Resource":                                    mcp.Resource{},
	"ResourceLink":                                mcp.Content{Type: mcp.ContentResourceLink},
	"ResourceReference":                           mcp.CompletionReference{Type: mcp.RefResource, URI: "u"},
	"ResourceTemplate":                            mcp.ResourceTemplate{},
	"ResourceTemplateReference":                   mcp.CompletionReference{Type: mcp.RefResource, URI: "u"},
	"ResourceUpdatedNotificationParams":           mcp.ResourceUpdatedParams{},
	"Root":                                        mcp.Root{},
	"SamplingMessage":                             mcp.SamplingMessage{},
	"SetLevelRequestParams":                       mcp.SetLevelParams{},
	"SubscribeRequestParams":                      mcp.SubscribeParams{},
	"SubscriptionsAcknowledgedNotificationParams": mcp.SubscriptionsAcknowledgedParams{},
	"SubscriptionsListenRequestParams":            mcp.ListenParams{},
	"SubscriptionsListenResult":                   mcp.Result{},
	"Task":                                        mcp.Task{},
	"TextContent":                                 mcp.Text(""),
	"TextResourceContents":                        mcp.ResourceContents{Text: new("")},
	"Tool":                                        mcp.Tool{},
	"ToolResultContent":                           mcp.Content{Type: mcp.ContentToolResult},
	"ToolUseContent":                              mcp.Content{Type: mcp.ContentToolUse},
	"UnsubscribeRequestParams":                    mcp.SubscribeParams{},
	"RequestMetaObject": mcp.RequestMeta{
		ProtocolVersion: mcp.Rev20260728, ClientCapabilities: &mcp.ClientCapabilities{},
	},
}

// stateless are the members that every message of the stateless era has, and that a session does without.
var stateless = map[string]any{
	"ResultType": mcp.ResultComplete,
	"TTLMs":      new(0.0),
	"CacheScope": mcp.CachePrivate,
	"Meta":       raw(`{}`),
}

func TestRequiredMembersArePresentWhenEncoded(t *testing.T) {
	var required map[string]map[string][]string
	readTestdata(t, "required.json", &required)
	for _, rev := range mcp.Revisions() {
		for _, name := range slices.Sorted(maps.Keys(required[rev])) {
			t.Run(rev+"/"+name, func(t *testing.T) {
				v := reflect.New(reflect.TypeOf(smallest[name])).Elem()
				v.Set(reflect.ValueOf(smallest[name]))
				if mcp.IsStateless(rev) {
					for field, value := range stateless {
						if f := v.FieldByName(field); f.IsValid() {
							f.Set(reflect.ValueOf(value))
						}
					}
				}
				text := encode(t, v.Interface())
				members := decode[map[string]json.RawMessage](t, text)
				for _, member := range required[rev][name] {
					if _, ok := members[member]; !ok {
						t.Errorf("no member %s in %s", member, text)
					}
				}
			})
		}
	}
}

func TestOptionalMembersThatAreAbsentAreNotWritten(t *testing.T) {
	for _, row := range []struct {
		v    any
		want string
	}{
		{mcp.Text(""), `{"type":"text","text":""}`},
		{mcp.CallToolResult{}, `{"content":[]}`},
		{mcp.CallToolParams{Name: "t"}, `{"name":"t"}`},
		{mcp.ListToolsResult{}, `{"tools":[]}`},
		{mcp.ListToolsResult{NextCursor: new("")}, `{"tools":[],"nextCursor":""}`},
		{mcp.Tool{Name: "t"}, `{"name":"t","inputSchema":{"type":"object"}}`},
		{mcp.ToolAnnotations{ReadOnlyHint: new(false)}, `{"readOnlyHint":false}`},
		{mcp.ListParams{}, `{}`},
		{mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}}, `{"tools":{}}`},
		{
			mcp.ClientCapabilities{Roots: &mcp.RootsCapability{ListChanged: true}, Sampling: &mcp.SamplingCapability{}},
			`{"roots":{"listChanged":true},"sampling":{}}`,
		},
		{mcp.Task{}, `{"taskId":"","status":"","createdAt":"","lastUpdatedAt":"","ttl":null}`},
		{mcp.SamplingMessage{Role: mcp.RoleUser}, `{"role":"user","content":[]}`},
		{
			mcp.SamplingMessage{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text("a")}},
			`{"role":"user","content":{"type":"text","text":"a"}}`,
		},
		{
			mcp.GetPromptParams{Name: "p", Arguments: map[string]string{"b": "2", "a": "1"}},
			`{"name":"p","arguments":{"a":"1","b":"2"}}`,
		},
	} {
		sameJSON(t, encode(t, row.v), row.want)
	}
}
