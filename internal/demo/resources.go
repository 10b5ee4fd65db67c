package demo

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pixel returns a PNG image of one transparent pixel.
func pixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err) // a bytes.Buffer takes everything
	}
	return b.Bytes()
}

func addResources(s *mcp.Server) {
	s.AddResource(&mcp.Resource{
		URI: "demo://readme", Name: "readme", MIMEType: "text/plain", Description: "What this server is for.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: instructions + "\n"})
	})
	s.AddResource(&mcp.Resource{
		URI: "demo://pixel", Name: "pixel", MIMEType: "image/png", Description: "An image of one pixel.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "image/png", Blob: pixel()})
	})
}

func addTemplates(s *mcp.Server) {
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: greetings + "{name}", Name: "greeting", MIMEType: "text/plain", Description: "A greeting for somebody.",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		name, err := url.PathUnescape(strings.TrimPrefix(req.Params.URI, greetings))
		if err != nil {
			return nil, mcp.ResourceNotFoundError(req.Params.URI)
		}
		return contents(&mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain", Text: "Hello, " + name + "!\n"})
	})
}

const greetings = "demo://greeting/"

var names = []string{"Ada", "Alan", "Barbara", "Edsger", "Grace", "Margaret"}

// completeName offers names: the variable of the template and the argument of the prompt both are one.
func completeName(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	begun := strings.ToLower(req.Params.Argument.Value)
	values := []string{}
	for _, name := range names {
		if strings.HasPrefix(strings.ToLower(name), begun) {
			values = append(values, name)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

func contents(c *mcp.ResourceContents) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
}

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Description: "Asks for a greeting.",
		Arguments: []*mcp.PromptArgument{{Name: "name", Description: "who is greeted", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		ask := fmt.Sprintf("Write one friendly line that greets %s.", req.Params.Arguments["name"])
		return &mcp.GetPromptResult{
			Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: ask}}},
		}, nil
	})
}
