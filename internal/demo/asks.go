package demo

import (
	"context"
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAsks adds tools that ask the client for what they need. The SDK asks in the way of the revision that is spoken.
func addAsks(s *mcp.Server) {
	none := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{
		Name: "book", Description: "Books a table; asks for the details with a form.", InputSchema: none,
	}, book)
	s.AddTool(&mcp.Tool{
		Name: "visit", Description: "Asks for a visit to an address on the web.", InputSchema: none,
	}, visit)
	s.AddTool(&mcp.Tool{
		Name: "ask_model", Description: "Asks the client's model a question, and tells the answer.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{` +
			`"question":{"type":"string","description":"what the model is asked"}},"required":["question"]}`),
	}, askModel)
}

// asked is a result that asks. key is what the answer is found by when the call comes again with it.
func asked(key string, question mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: question}}
}

// bookingForm has a field of each kind that a form can have.
const bookingForm = `{"type":"object","properties":{` +
	`"name":{"type":"string","title":"Name","description":"for whom the table is","minLength":2,"maxLength":40},` +
	`"guests":{"type":"integer","title":"Guests","minimum":1,"maximum":12,"default":2},` +
	`"day":{"type":"string","title":"Day","format":"date"},` +
	`"seat":{"type":"string","title":"Seat","oneOf":[{"const":"in","title":"Inside"},{"const":"out","title":"Terrace"}],` +
	`"default":"in"},` +
	`"extras":{"type":"array","title":"Extras","maxItems":2,` +
	`"items":{"type":"string","enum":["candles","flowers","high chair"]}},` +
	`"reminder":{"type":"boolean","title":"Reminder","description":"whether to call an hour before","default":false}},` +
	`"required":["name","guests","day"]}`

func book(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const key = "booking"
	answer, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	switch {
	case !ok:
		return asked(key, &mcp.ElicitParams{
			Mode: "form", Message: "Which table shall it be?", RequestedSchema: json.RawMessage(bookingForm),
		}), nil
	case answer.Action != "accept":
		return text("No table is booked: the answer was " + answer.Action + "."), nil
	}
	booked, err := jsonv2.Marshal(answer.Content, jsonv2.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return text("Booked: " + string(booked)), nil
}

func visit(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const key = "visit"
	answer, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok {
		return asked(key, &mcp.ElicitParams{
			Mode: "url", Message: "Please look at this page.", URL: "https://example.com/visit?from=demo",
			ElicitationID: "demo-visit",
		}), nil
	}
	if answer.Action != "accept" {
		return text("Not visited: the answer was " + answer.Action + "."), nil
	}
	return text("Thank you for the visit."), nil
}

//nolint:staticcheck // deprecated means that it will go some day; clients are to be tried on it until then
func askModel(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	const key = "answer"
	if answer, ok := req.Params.InputResponses[key].(*mcp.CreateMessageWithToolsResult); ok {
		return text(answer.Model + " says: " + spoken(answer.Content)), nil
	}
	var in struct {
		Question string `json:"question"`
	}
	if err := jsonv2.Unmarshal(req.Params.Arguments, &in); err != nil || in.Question == "" {
		result := text("a question must be given")
		result.IsError = true
		return result, nil //nolint:nilerr // it is told as the tool's error
	}
	return asked(key, &mcp.CreateMessageParams{
		Messages:     []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Question}}},
		SystemPrompt: "Answer in one sentence.", MaxTokens: 100,
	}), nil
}

func spoken(content []mcp.Content) (all string) {
	for _, block := range content {
		if t, ok := block.(*mcp.TextContent); ok {
			all += t.Text
		}
	}
	return all
}
